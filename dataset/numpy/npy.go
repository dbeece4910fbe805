package numpy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"codeberg.org/sbinet/npyio/npy"
)

const (
	// maxHeaderBytes bounds the text of an npy header; NumPy itself refuses more than 10,000 by default.
	maxHeaderBytes = 10_000
	// chunkLen is the number of elements decoded at a time on the way to their final type.
	chunkLen = 1 << 14
)

var errTruncated = errors.New("the content ends before the declared number of values")

// Array is an npy stream whose header has been read and agrees with the size of the stream.
type Array struct {
	src     *bufio.Reader
	npy     *npy.Reader
	dtype   string // in NumPy's form, such as <i4
	kind    string // dtype without its byte order
	Item    int64  // bytes of one element
	Shape   []int
	Count   int // number of elements
	Fortran bool
}

// OpenArray reads the header of an npy stream of size bytes in all. shape × item size must be exactly the rest after
// the header, so that no more memory is taken than the file has bytes.
func OpenArray(r io.Reader, size int64) (*Array, error) {
	a := &Array{src: bufio.NewReaderSize(r, 1<<16)}
	headerSize, err := a.peekHeaderSize()
	if err != nil {
		return nil, err
	}
	if a.npy, err = readHeader(wholeReads{a.src}); err != nil {
		return nil, err
	}
	a.dtype, a.Shape, a.Fortran = strings.Trim(a.npy.Header.Descr.Type, "'"), a.npy.Header.Descr.Shape,
		a.npy.Header.Descr.Fortran
	if err := a.parseType(); err != nil {
		return nil, err
	}
	count := int64(1)
	for _, n := range a.Shape {
		// Comparing before multiplying keeps the product from overflowing.
		if n < 0 || (n > 0 && count > size/int64(n)) {
			return nil, fmt.Errorf("shape %v of %s does not fit the array's %d bytes", a.Shape, a.dtype, size)
		}
		count *= int64(n)
	}
	if count > size/a.Item || count*a.Item != size-headerSize {
		return nil, fmt.Errorf("shape %v of %s does not match the array's %d bytes behind the header", a.Shape,
			a.dtype, size-headerSize)
	}
	a.Count = int(count)
	return a, nil
}

// peekHeaderSize checks the fixed front of the header (magic, version, length) and returns the size of the whole
// header. npyio would allocate any declared length before reading it.
func (a *Array) peekHeaderSize() (int64, error) {
	front, err := a.src.Peek(10)
	if err != nil {
		return 0, fmt.Errorf("reading the npy header: %w", Truncated(err))
	}
	if string(front[:6]) != string(npy.Magic[:]) {
		return 0, fmt.Errorf("not an npy array: it starts with % x", front[:6])
	}
	fixed, length := int64(10), int64(binary.LittleEndian.Uint16(front[8:]))
	switch front[6] {
	case 1:
	case 2:
		if front, err = a.src.Peek(12); err != nil {
			return 0, fmt.Errorf("reading the npy header: %w", Truncated(err))
		}
		fixed, length = 12, int64(binary.LittleEndian.Uint32(front[8:]))
	default:
		return 0, fmt.Errorf("npy format version %d.%d, want 1.0 or 2.0", front[6], front[7])
	}
	if length > maxHeaderBytes {
		return 0, fmt.Errorf("npy header of %d bytes, more than the allowed %d", length, maxHeaderBytes)
	}
	return fixed + length, nil
}

// readHeader lets npyio parse the header. Its parser slices by the positions of the dictionary's keys and panics if
// they are not as NumPy writes them; that is a malformed file, not a fault of the program.
func readHeader(r io.Reader) (nr *npy.Reader, err error) {
	defer func() {
		if recover() != nil {
			nr, err = nil, errors.New("npy header is not the dictionary of descr, fortran_order and shape that NumPy writes")
		}
	}()
	if nr, err = npy.NewReader(r); err != nil {
		return nil, fmt.Errorf("reading the npy header: %w", err)
	}
	return nr, nil
}

// elementType matches the types of a data set: numbers, and the text of SciPy's array format.
var elementType = regexp.MustCompile(`^(?:[<>|]?(?:[iu][1248]|f[48])|[<|]?b1|\|?S[1-9][0-9]{0,4})$`)

func (a *Array) parseType() error {
	if !elementType.MatchString(a.dtype) {
		return fmt.Errorf("dtype %q is not supported, want bool, int8…64, uint8…64, float32 or float64", a.dtype)
	}
	a.kind = strings.TrimLeft(a.dtype, "<>|")
	for _, digit := range a.kind[1:] {
		a.Item = a.Item*10 + int64(digit-'0')
	}
	return nil
}

// wholeReads makes every Read a full one. npyio reads each element with one call, takes a short read for a whole
// one and io.EOF for success.
type wholeReads struct{ r io.Reader }

func (w wholeReads) Read(p []byte) (int, error) {
	n, err := io.ReadFull(w.r, p)
	return n, Truncated(err)
}

// Truncated replaces the two ends of a stream by an error that npyio passes on and a person understands.
func Truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}

// each decodes the array as []T, a chunk at a time, and calls f with each element. At the end the stream must end
// too, which also verifies a zip entry's checksum.
func each[T any](a *Array, f func(k int, v T) error) error {
	buf := make([]T, min(a.Count, chunkLen))
	for lo := 0; lo < a.Count; lo += len(buf) {
		buf = buf[:min(len(buf), a.Count-lo)]
		clear(buf) // npyio leaves a bool that is neither 0 nor 1 as it was
		if err := a.npy.Read(&buf); err != nil {
			return err
		}
		for p, v := range buf {
			if err := f(lo+p, v); err != nil {
				return err
			}
		}
	}
	if _, err := a.src.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more content than the declared number of values")
		}
		return err
	}
	return nil
}

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func eachAs[From, To number](a *Array, f func(k int, v To) error) error {
	return each(a, func(k int, v From) error { return f(k, To(v)) })
}

// Ints decodes an array of any integer type.
func (a *Array) Ints(f func(k int, v int64) error) error {
	switch a.kind {
	case "i1":
		return eachAs[int8](a, f)
	case "i2":
		return eachAs[int16](a, f)
	case "i4":
		return eachAs[int32](a, f)
	case "i8":
		return eachAs[int64](a, f)
	case "u1":
		return eachAs[uint8](a, f)
	case "u2":
		return eachAs[uint16](a, f)
	case "u4":
		return eachAs[uint32](a, f)
	case "u8":
		return each(a, func(k int, v uint64) error {
			if v > math.MaxInt64 {
				return fmt.Errorf("[%d] is %d, which is out of range", k, v)
			}
			return f(k, int64(v))
		})
	}
	return fmt.Errorf("dtype is %s, want an integer type", a.dtype)
}

// Floats decodes an array of bools, integers or floats at float64, then rounds once to float32. NaN, infinities and
// values beyond float32 are errors.
func (a *Array) Floats(f func(k int, v float32) error) error {
	return a.floats(func(k int, v float64) error { return f(k, float32(v)) })
}

// floats is Floats before the numbers are rounded.
func (a *Array) floats(f func(k int, v float64) error) error {
	narrow := func(k int, v float64) error {
		if _, err := Float32(v); err != nil {
			return fmt.Errorf("%s is %w", a.place(k), err)
		}
		return f(k, v)
	}
	switch a.kind {
	case "f4":
		return eachAs[float32](a, narrow)
	case "f8":
		return each(a, narrow)
	case "b1":
		return each(a, func(k int, v bool) error {
			if v {
				return f(k, 1)
			}
			return f(k, 0)
		})
	case "u8":
		return eachAs[uint64](a, narrow)
	}
	if a.kind[0] != 'i' && a.kind[0] != 'u' {
		return fmt.Errorf("dtype is %s, want numbers", a.dtype)
	}
	return a.Ints(func(k int, v int64) error { return narrow(k, float64(v)) })
}

// Float32 rounds a feature to float32. NaN, infinities and values beyond float32 are errors that begin with the
// value.
func Float32(v float64) (float32, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%v", v)
	}
	if math.IsInf(float64(float32(v)), 0) {
		return 0, fmt.Errorf("%v, beyond the range of float32", v)
	}
	return float32(v), nil
}

// place names element k: [row, column] in a matrix, [k] otherwise.
func (a *Array) place(k int) string {
	if len(a.Shape) != 2 {
		return fmt.Sprintf("[%d]", k)
	}
	i, j := a.Position(k)
	return fmt.Sprintf("[%d, %d]", i, j)
}

// Position returns row and column of the k-th element of a matrix in the order of the file.
func (a *Array) Position(k int) (row, col int) {
	if a.Fortran {
		return k % a.Shape[0], k / a.Shape[0]
	}
	return k / a.Shape[1], k % a.Shape[1]
}

// Text decodes one text of the type |S3.
func (a *Array) Text() (string, error) {
	if a.Count != 1 || a.kind[0] != 'S' {
		return "", fmt.Errorf("dtype %s of shape %v, want one text", a.dtype, a.Shape)
	}
	raw := make([]byte, a.Item)
	if _, err := (wholeReads{a.src}).Read(raw); err != nil {
		return "", err
	}
	return strings.TrimRight(string(raw), "\x00"), nil
}
