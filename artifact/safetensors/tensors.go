package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"rivulet/graph"
)

// Conversions between typed arrays and tensors.

// Float32s returns a tensor of float32.
func Float32s(name, about string, values []float32, shape ...int) Tensor {
	t := Tensor{Name: name, DType: F32, Shape: shape, About: about, Data: make([]byte, 0, 4*len(values))}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

// Int32s returns a tensor of int32 of one dimension.
func Int32s(name, about string, values []int32) Tensor {
	t := Tensor{Name: name, DType: I32, Shape: []int{len(values)}, About: about, Data: make([]byte, 0, 4*len(values))}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, uint32(v))
	}
	return t
}

// Int64s returns a tensor of int64 of one dimension.
func Int64s(name, about string, values []int) Tensor {
	t := Tensor{Name: name, DType: I64, Shape: []int{len(values)}, About: about, Data: make([]byte, 0, 8*len(values))}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(v))
	}
	return t
}

// Dense returns the tensor of a matrix.
func Dense(name, about string, m *graph.Dense) Tensor {
	return Float32s(name, about, m.Data, m.Rows, m.Cols)
}

// CSR returns indptr, indices and data of m under a prefix; a pattern gets ones.
func CSR(prefix, what string, m *graph.CSR) []Tensor {
	values := m.Values()
	return []Tensor{
		Int64s(prefix+"indptr", "row pointers of "+what, m.RowPtr),
		Int32s(prefix+"indices", "columns of "+what, m.ColIdx),
		Float32s(prefix+"data", "values of "+what, values, len(values)),
	}
}

// Set holds the tensors of one file while a bundle is read.
type Set map[string]Tensor

// AnyLength stands for a length that is not checked.
const AnyLength = -1

// get returns a tensor after checking its shape.
func (s Set) get(name string, shape ...int) (Tensor, error) {
	t, ok := s[name]
	if !ok {
		return Tensor{}, fmt.Errorf("tensor %q is missing", name)
	}
	fits := len(t.Shape) == len(shape)
	for k := 0; fits && k < len(shape); k++ {
		fits = shape[k] == AnyLength || shape[k] == t.Shape[k]
	}
	if !fits {
		return Tensor{}, fmt.Errorf("tensor %q has shape %v, want %s", name, t.Shape, shapeText(shape))
	}
	return t, nil
}

func shapeText(shape []int) string {
	text := make([]string, len(shape))
	for k, n := range shape {
		text[k] = fmt.Sprint(n)
		if n == AnyLength {
			text[k] = "any"
		}
	}
	return fmt.Sprint(text)
}

func (t Tensor) wrongType(want string) error {
	return fmt.Errorf("tensor %q has dtype %s, want %s", t.Name, t.DType, want)
}

// Float32s reads F32, and F64 by rounding.
func (s Set) Float32s(name string, shape ...int) ([]float32, error) {
	t, err := s.get(name, shape...)
	if err != nil {
		return nil, err
	}
	values := make([]float32, len(t.Data)/t.DType.Size())
	switch t.DType {
	case F32:
		for k := range values {
			values[k] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*k:]))
		}
	case F64:
		for k := range values {
			values[k] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*k:])))
		}
	default:
		return nil, t.wrongType("F32")
	}
	return values, nil
}

// Ints reads I64 and I32 of one dimension.
func (s Set) Ints(name string, length int) ([]int, error) {
	t, err := s.get(name, length)
	if err != nil {
		return nil, err
	}
	values := make([]int, len(t.Data)/t.DType.Size())
	switch t.DType {
	case I64:
		for k := range values {
			values[k] = int(binary.LittleEndian.Uint64(t.Data[8*k:]))
		}
	case I32:
		for k := range values {
			values[k] = int(int32(binary.LittleEndian.Uint32(t.Data[4*k:])))
		}
	default:
		return nil, t.wrongType("I64")
	}
	return values, nil
}

// Int32s reads I32, and I64 whose values fit, of one dimension.
func (s Set) Int32s(name string, length int) ([]int32, error) {
	wide, err := s.Ints(name, length)
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

// Bytes reads U8 of one dimension, as a part of the file.
func (s Set) Bytes(name string) ([]byte, error) {
	t, err := s.get(name, AnyLength)
	if err != nil {
		return nil, err
	}
	if t.DType != U8 {
		return nil, t.wrongType("U8")
	}
	return t.Data, nil
}

// Dense reads a matrix of finite values; a tensor of one dimension is a matrix of one row.
func (s Set) Dense(name string, rows, cols int) (*graph.Dense, error) {
	shape := []int{rows, cols}
	if t, ok := s[name]; ok && len(t.Shape) == 1 && (rows == 1 || rows == AnyLength) {
		shape = []int{cols}
	}
	values, err := s.Float32s(name, shape...)
	if err != nil {
		return nil, err
	}
	m := &graph.Dense{Rows: 1, Cols: s[name].Shape[len(shape)-1], Data: values}
	if len(shape) == 2 {
		m.Rows = s[name].Shape[0]
	}
	return m, nil
}

// CSR reads a rows×cols matrix from indptr, indices and data under a prefix, and checks its structure.
func (s Set) CSR(prefix string, rows, cols int) (*graph.CSR, error) {
	m := &graph.CSR{Rows: rows, Cols: cols}
	var err error
	if m.RowPtr, err = s.Ints(prefix+"indptr", rows+1); err != nil {
		return nil, err
	}
	if m.ColIdx, err = s.Int32s(prefix+"indices", AnyLength); err != nil {
		return nil, err
	}
	if m.Val, err = s.Float32s(prefix+"data", len(m.ColIdx)); err != nil {
		return nil, err
	}
	return m, nil
}

// Lists reads where each of n lists begins, and where the last one ends, among total entries.
func (s Set) Lists(name string, n, total int) ([]int, error) {
	at, err := s.Ints(name, n+1)
	if err != nil {
		return nil, err
	}
	if at[0] != 0 || at[n] != total {
		return nil, fmt.Errorf("%s runs from %d to %d, want 0 to %d", name, at[0], at[n], total)
	}
	for i := range n {
		if at[i] > at[i+1] || at[i+1] > total {
			return nil, fmt.Errorf("%s[%d] is %d after %d, of %d entries", name, i+1, at[i+1], at[i], total)
		}
	}
	return at, nil
}
