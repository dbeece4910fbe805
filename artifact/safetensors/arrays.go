package safetensors

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Array is a tensor of a safetensors file that another program wrote.
type Array struct {
	Shape  []int     // none for a single number
	Type   string    // the file's name of it: "BF16"
	Values []float32 // row-major, all finite; nil where Type is not one of floating-point numbers
}

// DecodeArrays reads a safetensors file of any program into arrays by name. F64, F16 and BF16 become float32, F64
// by rounding; of whole numbers only type and shape are given. The error names the tensor, and the value where one
// is not finite.
func DecodeArrays(file []byte) (map[string]Array, error) {
	tensors, err := Decode(file)
	if err != nil {
		return nil, err
	}
	arrays := make(map[string]Array, len(tensors))
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		a := Array{Shape: t.Shape, Type: string(t.DType), Values: t.floats()}
		for k, v := range a.Values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("tensor %q: value %d is %v as a 32-bit number, want a finite one", name, k, v)
			}
		}
		arrays[name] = a
	}
	return arrays, nil
}

// floats are the values of a tensor of floating-point numbers, nil for others.
func (t Tensor) floats() []float32 {
	var read func(at []byte) float32
	switch t.DType {
	case F64:
		read = func(at []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(at))) }
	case F32:
		read = func(at []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(at)) }
	case BF16: // the upper half of a float32
		read = func(at []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(at)) << 16) }
	case F16:
		read = func(at []byte) float32 { return FromHalf(binary.LittleEndian.Uint16(at)) }
	default:
		return nil
	}
	size := t.DType.Size()
	values := make([]float32, len(t.Data)/size)
	for k := range values {
		values[k] = read(t.Data[k*size:])
	}
	return values
}

// FromHalf widens an IEEE 754 binary16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction. It is exact.
func FromHalf(bits uint16) float32 {
	sign := float32(1)
	if bits>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	switch exponent {
	case 0x1f:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return sign * float32(math.Inf(1))
	case 0:
		return sign * float32(math.Ldexp(fraction, -24))
	}
	return sign * float32(math.Ldexp(1024+fraction, exponent-25))
}
