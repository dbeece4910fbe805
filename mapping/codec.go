package mapping

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"rivulet/infer/attach"
)

// AppendRow appends the encoding of a row of M to dst: the number of entries, the gaps between columns, the
// values (see the package's documentation). A row without entries becomes one byte. Known is not written:
// every stored row is known.
//
// The row must have as many values as columns, and columns ≥ 0 that ascend; anything else is a programming error and
// panics.
func AppendRow(dst []byte, row attach.Row) []byte {
	if len(row.Cols) != len(row.Vals) {
		panic(fmt.Sprintf("mapping: row with %d columns and %d values", len(row.Cols), len(row.Vals)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(row.Cols)))
	last := int32(-1)
	for _, c := range row.Cols {
		if c <= last {
			panic(fmt.Sprintf("mapping: column %d after column %d", c, last))
		}
		dst = binary.AppendUvarint(dst, uint64(c-last-1))
		last = c
	}
	for _, v := range row.Vals {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// RowLength returns how many bytes [AppendRow] appends.
func RowLength(row attach.Row) int {
	n, last := uvarintLength(uint64(len(row.Cols)))+4*len(row.Vals), int32(-1)
	for _, c := range row.Cols {
		n += uvarintLength(uint64(c - last - 1))
		last = c
	}
	return n
}

// uvarintLength returns the length of a number as a uvarint, in bytes.
func uvarintLength(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// minEntryBytes is the smallest size of one entry: a gap of one byte and a value of four.
const minEntryBytes = 5

// DecodeRow decodes the encoding of [AppendRow], for an M with N' = synthetic columns. The result shares no memory
// with data. It is an error if data is not exactly one row in its shortest form, if a column is N' or above, or if a
// value is negative or not finite; allocations are bounded by len(data).
func DecodeRow(data []byte, synthetic int) (attach.Row, error) {
	count, rest, err := Uvarint(data)
	if err != nil {
		return attach.Row{}, fmt.Errorf("row of M: number of entries: %w", err)
	}
	limit := uint64(min(max(synthetic, 0), math.MaxInt32)) // columns are int32
	if count > limit || count > uint64(len(rest)/minEntryBytes) {
		return attach.Row{}, fmt.Errorf("row of M: %d entries in %d bytes for %d columns", count, len(data), synthetic)
	}
	row := attach.Row{Known: true}
	if count > 0 {
		row.Cols, row.Vals = make([]int32, count), make([]float32, count)
	}
	next := uint64(0) // the least column that may follow
	for p := range row.Cols {
		gap, after, err := Uvarint(rest)
		if err != nil {
			return attach.Row{}, fmt.Errorf("row of M: column of entry %d: %w", p, err)
		}
		if gap >= limit-next {
			return attach.Row{}, fmt.Errorf("row of M: column of entry %d is %d columns past %d, of %d", p, gap, next, synthetic)
		}
		row.Cols[p] = int32(next + gap)
		next += gap + 1
		rest = after
	}
	if len(rest) != 4*len(row.Vals) {
		return attach.Row{}, fmt.Errorf("row of M: %d bytes of values for %d entries, want %d", len(rest), count, 4*count)
	}
	for p := range row.Vals {
		v := math.Float32frombits(binary.LittleEndian.Uint32(rest[4*p:]))
		if !storable(v) {
			return attach.Row{}, fmt.Errorf("row of M: value of entry %d (column %d) is %v, want finite and 0 or more", p,
				row.Cols[p], v)
		}
		row.Vals[p] = v
	}
	return row, nil
}

// Readable reports whether [DecodeRow] can read the encoding of a row by [AppendRow], for an M of so many columns.
func Readable(row attach.Row, synthetic int) bool {
	for p, v := range row.Vals {
		if !storable(v) || int(row.Cols[p]) >= synthetic {
			return false
		}
	}
	return true
}

// storable reports whether a row may have a value.
func storable(v float32) bool { return v >= 0 && !math.IsInf(float64(v), 0) }

// Uvarint reads a varint in its shortest form.
func Uvarint(data []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(data)
	switch {
	case n == 0:
		return 0, nil, errors.New("data ends within a number")
	case n < 0:
		return 0, nil, errors.New("number of more than 64 bits")
	case n > 1 && data[n-1] == 0:
		return 0, nil, errors.New("number is not in its shortest form")
	}
	return v, data[n:], nil
}
