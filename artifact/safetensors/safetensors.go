package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A safetensors file (https://github.com/huggingface/safetensors#format) is
//
//	8 bytes    n, the length of the header, little-endian
//	n bytes    the header: a JSON object, name → {dtype, shape, data_offsets}, padded with spaces
//	the rest   the tensors' data, row-major and little-endian, without gaps
//
// No maintained Go library reads the format; this file reads and writes it.

// DType is a tensor's element type by its name in the header.
type DType string

// Types of elements.
const (
	F32 DType = "F32"
	F64 DType = "F64" // read only: NumPy's default
	I32 DType = "I32"
	I64 DType = "I64"
	U8  DType = "U8"
	// Half precision is only for [DecodeArrays]; no tensor of an artifact has it.
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// Size returns the bytes of an element, 0 for a type that this package does not know.
func (d DType) Size() int {
	switch d {
	case F64, I64:
		return 8
	case F32, I32:
		return 4
	case F16, BF16:
		return 2
	case U8:
		return 1
	}
	return 0
}

// Tensor is one named array of a file.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	About string // description in the header's __metadata__
	Data  []byte
}

// entry is a tensor in the header.
type entry struct {
	DType   DType     `json:"dtype"`
	Shape   []uint64  `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

const metadataKey = "__metadata__"

// Encode returns a file of tensors, whose names must be distinct. The same tensors in any order give the
// same bytes. Wide elements come first, so that every tensor begins at a multiple of its element's size.
func Encode(tensors []Tensor) ([]byte, error) {
	tensors = slices.SortedFunc(slices.Values(tensors), func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	header := make(map[string]any, len(tensors)+1)
	about := make(map[string]string, len(tensors))
	end := uint64(0)
	for _, t := range tensors {
		if _, twice := header[t.Name]; twice || t.Name == metadataKey {
			return nil, fmt.Errorf("tensor %q: the name is taken", t.Name)
		}
		entry := entry{DType: t.DType, Shape: make([]uint64, len(t.Shape)),
			Offsets: [2]uint64{end, end + uint64(len(t.Data))}}
		for k, n := range t.Shape {
			entry.Shape[k] = uint64(n)
		}
		if err := entry.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		header[t.Name] = entry
		about[t.Name] = t.About
		end = entry.Offsets[1]
	}
	header[metadataKey] = about
	text, err := json.Marshal(header, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	file := make([]byte, 0, 8+uint64(len(text))+end)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(text)))
	file = append(file, text...)
	for _, t := range tensors {
		file = append(file, t.Data...)
	}
	return file, nil
}

// Decode reads a file into tensors by name, whose data are parts of file. It allocates memory in proportion
// to the header 's length, whatever the header declares.
func Decode(file []byte) (map[string]Tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("%d bytes, too short for the length of a header", len(file))
	}
	length, rest := binary.LittleEndian.Uint64(file), file[8:]
	if length > uint64(len(rest)) {
		return nil, fmt.Errorf("header of %d bytes with %d bytes left", length, len(rest))
	}
	header, data := rest[:length], rest[length:]
	entries, err := decodeHeader(header)
	if err != nil {
		return nil, err
	}
	if err := checkCover(entries, uint64(len(data))); err != nil {
		return nil, err
	}
	tensors := make(map[string]Tensor, len(entries))
	for name, e := range entries {
		t := Tensor{Name: name, DType: e.DType, Shape: make([]int, len(e.Shape)), Data: data[e.Offsets[0]:e.Offsets[1]]}
		for k, n := range e.Shape {
			t.Shape[k] = int(n)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func decodeHeader(header []byte) (map[string]entry, error) {
	var raw map[string]jsontext.Value // refuses a repeated name
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if raw == nil {
		return nil, errors.New("header: null, want an object")
	}
	if value, ok := raw[metadataKey]; ok {
		if err := json.Unmarshal(value, new(map[string]string)); err != nil {
			return nil, fmt.Errorf("header: %s: %w", metadataKey, err)
		}
		delete(raw, metadataKey)
	}
	entries := make(map[string]entry, len(raw))
	for name, value := range raw {
		entry, err := decodeEntry(value)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries[name] = entry
	}
	return entries, nil
}

func decodeEntry(value jsontext.Value) (entry, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return entry{}, err
	}
	for _, member := range []string{"dtype", "shape", "data_offsets"} {
		if v, ok := members[member]; !ok || v.Kind() == 'n' {
			return entry{}, fmt.Errorf("%s is missing", member)
		}
	}
	var e entry
	if err := json.Unmarshal(value, &e, json.RejectUnknownMembers(true)); err != nil {
		return entry{}, err
	}
	return e, e.check()
}

// check compares type, shape and offsets with one another.
func (e entry) check() error {
	if e.DType.Size() == 0 {
		return fmt.Errorf("dtype %q is not one of F32, F64, F16, BF16, I32, I64, U8", e.DType)
	}
	if e.Offsets[1] < e.Offsets[0] {
		return fmt.Errorf("data_offsets end at %d before they begin at %d", e.Offsets[1], e.Offsets[0])
	}
	size := uint64(e.DType.Size())
	for _, n := range e.Shape {
		over, product := bits.Mul64(size, n)
		if over != 0 || product > math.MaxInt64 || n > math.MaxInt64 {
			return fmt.Errorf("shape %v is too large", e.Shape)
		}
		size = product
	}
	if got := e.Offsets[1] - e.Offsets[0]; got != size {
		return fmt.Errorf("%d bytes for %s of shape %v, want %d", got, e.DType, e.Shape, size)
	}
	return nil
}

// checkCover refuses tensors that overlap, leave gaps, or do not end with the data.
func checkCover(entries map[string]entry, size uint64) error {
	type span struct {
		name       string
		begin, end uint64
	}
	spans := make([]span, 0, len(entries))
	for name, e := range entries {
		spans = append(spans, span{name, e.Offsets[0], e.Offsets[1]})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	end := uint64(0)
	for _, s := range spans {
		if s.begin != end {
			return fmt.Errorf("tensor %q: data begins at %d, want %d at which the one before ends", s.name, s.begin, end)
		}
		end = s.end
	}
	if end != size {
		return fmt.Errorf("the tensors are %d bytes, the file holds %d", end, size)
	}
	return nil
}
