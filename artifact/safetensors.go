package artifact

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
// No maintained Go library reads it; this file does all of it.

// dtype is a tensor's element type by its name in the header.
type dtype string

const (
	typeF32 dtype = "F32"
	typeF64 dtype = "F64" // read only: NumPy's default
	typeI32 dtype = "I32"
	typeI64 dtype = "I64"
	typeU8  dtype = "U8"
	// Half precision is only for [DecodeArrays]; no tensor of an artifact has it.
	typeF16  dtype = "F16"
	typeBF16 dtype = "BF16"
)

// size returns the bytes of an element, 0 for a type that this package does not know.
func (d dtype) size() int {
	switch d {
	case typeF64, typeI64:
		return 8
	case typeF32, typeI32:
		return 4
	case typeF16, typeBF16:
		return 2
	case typeU8:
		return 1
	}
	return 0
}

// tensor is one named array of a file.
type tensor struct {
	name  string
	dtype dtype
	shape []int
	about string // description in the header's __metadata__
	data  []byte
}

// tensorEntry is a tensor in the header.
type tensorEntry struct {
	DType   dtype     `json:"dtype"`
	Shape   []uint64  `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

const metadataKey = "__metadata__"

// encodeTensors returns a file of tensors, whose names must be distinct. The same tensors in any order give the
// same bytes. Wide elements come first, so that every tensor begins at a multiple of its element's size.
func encodeTensors(tensors []tensor) ([]byte, error) {
	tensors = slices.SortedFunc(slices.Values(tensors), func(a, b tensor) int {
		return cmp.Or(cmp.Compare(b.dtype.size(), a.dtype.size()), cmp.Compare(a.name, b.name))
	})
	header := make(map[string]any, len(tensors)+1)
	about := make(map[string]string, len(tensors))
	end := uint64(0)
	for _, t := range tensors {
		if _, twice := header[t.name]; twice || t.name == metadataKey {
			return nil, fmt.Errorf("tensor %q: the name is taken", t.name)
		}
		entry := tensorEntry{DType: t.dtype, Shape: make([]uint64, len(t.shape)),
			Offsets: [2]uint64{end, end + uint64(len(t.data))}}
		for k, n := range t.shape {
			entry.Shape[k] = uint64(n)
		}
		if err := entry.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.name, err)
		}
		header[t.name] = entry
		about[t.name] = t.about
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
		file = append(file, t.data...)
	}
	return file, nil
}

// decodeTensors reads a file into tensors by name, whose data are parts of file. It allocates memory in proportion
// to the header 's length, whatever the header declares.
func decodeTensors(file []byte) (map[string]tensor, error) {
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
	tensors := make(map[string]tensor, len(entries))
	for name, e := range entries {
		t := tensor{name: name, dtype: e.DType, shape: make([]int, len(e.Shape)), data: data[e.Offsets[0]:e.Offsets[1]]}
		for k, n := range e.Shape {
			t.shape[k] = int(n)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func decodeHeader(header []byte) (map[string]tensorEntry, error) {
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
	entries := make(map[string]tensorEntry, len(raw))
	for name, value := range raw {
		entry, err := decodeEntry(value)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries[name] = entry
	}
	return entries, nil
}

func decodeEntry(value jsontext.Value) (tensorEntry, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return tensorEntry{}, err
	}
	for _, member := range []string{"dtype", "shape", "data_offsets"} {
		if v, ok := members[member]; !ok || v.Kind() == 'n' {
			return tensorEntry{}, fmt.Errorf("%s is missing", member)
		}
	}
	var e tensorEntry
	if err := json.Unmarshal(value, &e, json.RejectUnknownMembers(true)); err != nil {
		return tensorEntry{}, err
	}
	return e, e.check()
}

// check compares type, shape and offsets with one another.
func (e tensorEntry) check() error {
	if e.DType.size() == 0 {
		return fmt.Errorf("dtype %q is not one of F32, F64, F16, BF16, I32, I64, U8", e.DType)
	}
	if e.Offsets[1] < e.Offsets[0] {
		return fmt.Errorf("data_offsets end at %d before they begin at %d", e.Offsets[1], e.Offsets[0])
	}
	size := uint64(e.DType.size())
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
func checkCover(entries map[string]tensorEntry, size uint64) error {
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
