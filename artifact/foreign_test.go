package artifact

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/test/expect"
)

// foreign makes a file of one tensor of n elements.
func foreign(t *testing.T, dtype string, n int, data []byte) []byte {
	t.Helper()
	header, err := json.Marshal(map[string]any{"w": map[string]any{"dtype": dtype, "shape": []int{n},
		"data_offsets": []int{0, len(data)}}})
	expect.OK(t, err)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func TestDecodeArraysOfEveryType(t *testing.T) {
	half := func(bits ...uint16) (data []byte) {
		for _, b := range bits {
			data = binary.LittleEndian.AppendUint16(data, b)
		}
		return data
	}
	wide := binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))
	for dtype, of := range map[string]struct {
		n    int
		data []byte
		want []float32
	}{
		"F64": {1, wide, []float32{0.1}},
		"F32": {1, binary.LittleEndian.AppendUint32(nil, math.Float32bits(-2.5)), []float32{-2.5}},
		"F16": {7, half(0x3c00, 0xc000, 0x7bff, 0x3555, 0x0001, 0x03ff, 0x8000),
			[]float32{1, -2, 65504, 0.33325195, 5.9604645e-08, 6.097555e-05, 0}},
		"BF16": {3, half(0x3f80, 0xc020, 0x3dcd), []float32{1, -2.5, 0.100097656}},
		"I64":  {1, make([]byte, 8), nil},
	} {
		got, err := safetensors.DecodeArrays(foreign(t, dtype, of.n, of.data))
		if err != nil {
			t.Fatalf("%s: %v", dtype, err)
		}
		expect.Same(t, safetensors.Array{Shape: []int{of.n}, Type: dtype, Values: of.want}, got["w"], "%s", dtype)
	}
}

// Every 16-bit pattern has the value that its bits say, computed from powers of two.
func TestHalfPrecision(t *testing.T) {
	for bits := range 1 << 16 {
		exponent, fraction := bits>>10&31, float64(bits&1023)/1024
		want := math.Pow(2, float64(exponent-15)) * (1 + fraction)
		if exponent == 0 {
			want = math.Pow(2, -14) * fraction
		}
		if exponent == 31 {
			want = math.Inf(1)
		}
		if bits>>15 == 1 {
			want = -want
		}
		got := safetensors.FromHalf(uint16(bits))
		if exponent == 31 && fraction > 0 {
			if !math.IsNaN(float64(got)) {
				t.Fatalf("%04x is %v, want NaN", bits, got)
			}
		} else if float64(got) != want {
			t.Fatalf("%04x is %v, want %v", bits, got, want)
		}
	}
}

func TestDecodeArraysRefuses(t *testing.T) {
	for want, file := range map[string][]byte{
		`tensor "w": value 1 is +Inf`:   foreign(t, "F16", 2, []byte{0, 0, 0, 0x7c}),
		`tensor "w": value 0 is NaN`:    foreign(t, "BF16", 1, []byte{0xc0, 0x7f}),
		`value 0 is +Inf as a 32-bit`:   foreign(t, "F64", 1, binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e300))),
		`dtype "F8_E4M3" is not one of`: foreign(t, "F8_E4M3", 1, []byte{1}),
		"too short":                     []byte("PK"),
	} {
		expect.Error(t, expect.ErrorOf(safetensors.DecodeArrays(file)), want)
	}
}
