package artifact

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
)

// Conversions between typed arrays and tensors.

func float32Tensor(name, about string, values []float32, shape ...int) tensor {
	t := tensor{name: name, dtype: typeF32, shape: shape, about: about, data: make([]byte, 0, 4*len(values))}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(v))
	}
	return t
}

func int32Tensor(name, about string, values []int32) tensor {
	t := tensor{name: name, dtype: typeI32, shape: []int{len(values)}, about: about, data: make([]byte, 0, 4*len(values))}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint32(t.data, uint32(v))
	}
	return t
}

func int64Tensor(name, about string, values []int) tensor {
	t := tensor{name: name, dtype: typeI64, shape: []int{len(values)}, about: about, data: make([]byte, 0, 8*len(values))}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint64(t.data, uint64(v))
	}
	return t
}

func denseTensor(name, about string, m *graph.Dense) tensor {
	return float32Tensor(name, about, m.Data, m.Rows, m.Cols)
}

// csrTensors returns indptr, indices and data of m under a prefix; a pattern gets ones.
func csrTensors(prefix, what string, m *graph.CSR) []tensor {
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, m.NNZ())
	}
	return []tensor{
		int64Tensor(prefix+"indptr", "row pointers of "+what, m.RowPtr),
		int32Tensor(prefix+"indices", "columns of "+what, m.ColIdx),
		float32Tensor(prefix+"data", "values of "+what, values, len(values)),
	}
}

// tensorSet holds the tensors of one file while a bundle is read.
type tensorSet map[string]tensor

// anyLength stands for a length that is not checked.
const anyLength = -1

// get returns a tensor after checking its shape.
func (s tensorSet) get(name string, shape ...int) (tensor, error) {
	t, ok := s[name]
	if !ok {
		return tensor{}, fmt.Errorf("tensor %q is missing", name)
	}
	fits := len(t.shape) == len(shape)
	for k := 0; fits && k < len(shape); k++ {
		fits = shape[k] == anyLength || shape[k] == t.shape[k]
	}
	if !fits {
		return tensor{}, fmt.Errorf("tensor %q has shape %v, want %s", name, t.shape, shapeText(shape))
	}
	return t, nil
}

func shapeText(shape []int) string {
	text := make([]string, len(shape))
	for k, n := range shape {
		text[k] = fmt.Sprint(n)
		if n == anyLength {
			text[k] = "any"
		}
	}
	return fmt.Sprint(text)
}

func (t tensor) wrongType(want string) error {
	return fmt.Errorf("tensor %q has dtype %s, want %s", t.name, t.dtype, want)
}

// float32s reads F32, and F64 by rounding.
func (s tensorSet) float32s(name string, shape ...int) ([]float32, error) {
	t, err := s.get(name, shape...)
	if err != nil {
		return nil, err
	}
	values := make([]float32, len(t.data)/t.dtype.size())
	switch t.dtype {
	case typeF32:
		for k := range values {
			values[k] = math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*k:]))
		}
	case typeF64:
		for k := range values {
			values[k] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*k:])))
		}
	default:
		return nil, t.wrongType("F32")
	}
	return values, nil
}

// ints reads I64 and I32 of one dimension.
func (s tensorSet) ints(name string, length int) ([]int, error) {
	t, err := s.get(name, length)
	if err != nil {
		return nil, err
	}
	values := make([]int, len(t.data)/t.dtype.size())
	switch t.dtype {
	case typeI64:
		for k := range values {
			values[k] = int(binary.LittleEndian.Uint64(t.data[8*k:]))
		}
	case typeI32:
		for k := range values {
			values[k] = int(int32(binary.LittleEndian.Uint32(t.data[4*k:])))
		}
	default:
		return nil, t.wrongType("I64")
	}
	return values, nil
}

// int32s reads I32, and I64 whose values fit, of one dimension.
func (s tensorSet) int32s(name string, length int) ([]int32, error) {
	wide, err := s.ints(name, length)
	if err != nil {
		return nil, err
	}
	values := make([]int32, len(wide))
	for k, v := range wide {
		if v != int(int32(v)) {
			return nil, fmt.Errorf("%s[%d] is %d, outside 32 bits", name, k, v)
		}
		values[k] = int32(v)
	}
	return values, nil
}

// bytes reads U8 of one dimension, as a part of the file.
func (s tensorSet) bytes(name string) ([]byte, error) {
	t, err := s.get(name, anyLength)
	if err != nil {
		return nil, err
	}
	if t.dtype != typeU8 {
		return nil, t.wrongType("U8")
	}
	return t.data, nil
}

// dense reads a matrix of finite values; a tensor of one dimension is a matrix of one row.
func (s tensorSet) dense(name string, rows, cols int) (*graph.Dense, error) {
	shape := []int{rows, cols}
	if t, ok := s[name]; ok && len(t.shape) == 1 && (rows == 1 || rows == anyLength) {
		shape = []int{cols}
	}
	values, err := s.float32s(name, shape...)
	if err != nil {
		return nil, err
	}
	m := &graph.Dense{Rows: 1, Cols: s[name].shape[len(shape)-1], Data: values}
	if len(shape) == 2 {
		m.Rows = s[name].shape[0]
	}
	return m, nil
}

// csr reads a rows×cols matrix from indptr, indices and data under a prefix, and checks its structure.
func (s tensorSet) csr(prefix string, rows, cols int) (*graph.CSR, error) {
	m := &graph.CSR{Rows: rows, Cols: cols}
	var err error
	if m.RowPtr, err = s.ints(prefix+"indptr", rows+1); err != nil {
		return nil, err
	}
	if m.ColIdx, err = s.int32s(prefix+"indices", anyLength); err != nil {
		return nil, err
	}
	if m.Val, err = s.float32s(prefix+"data", len(m.ColIdx)); err != nil {
		return nil, err
	}
	return m, nil
}
