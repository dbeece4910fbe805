package artifact

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/artifact/safetensors"
	"rivulet/infer"
	"rivulet/test/expect"
)

// testdata/python.safetensors was written with safetensors 0.8.0 for Python:
//
//	save_file({"a": np.arange(6, dtype=np.float32).reshape(2, 3) / 8, "b": np.array([1, -2, 2**40], dtype=np.int64),
//	           "c": np.array([0.5, 1e-3], dtype=np.float64), "d": np.frombuffer(b"hello", dtype=np.uint8),
//	           "e": np.zeros((0, 4), dtype=np.float32), "f": np.array([7, -7], dtype=np.int32)},
//	          "python.safetensors", metadata={"made_by": "python"})
func TestDecodeTensorsOfPython(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "python.safetensors"))
	expect.OK(t, err)
	tensors, err := safetensors.Decode(file)
	expect.OK(t, err)
	s := safetensors.Set(tensors)
	if len(s) != 6 {
		t.Errorf("%d tensors, want 6", len(s))
	}
	a, err := s.Dense("a", 2, 3)
	check(t, "a", err, []float32{0, .125, .25, .375, .5, .625}, a.Data)
	b, err := s.Ints("b", 3)
	check(t, "b", err, []int{1, -2, 1 << 40}, b)
	c, err := s.Float32s("c", 2)
	check(t, "c", err, []float32{.5, 1e-3}, c)
	d, err := s.Bytes("d")
	check(t, "d", err, []byte("hello"), d)
	e, err := s.Float32s("e", safetensors.AnyLength, 4)
	check(t, "e", err, []float32{}, e)
	f, err := s.Int32s("f", safetensors.AnyLength)
	check(t, "f", err, []int32{7, -7}, f)
}

func check(t *testing.T, name string, err error, want, got any) {
	t.Helper()
	if err != nil {
		t.Fatalf("tensor %s: %v", name, err)
	}
	expect.Same(t, want, got, "tensor %s differs", name)
}

func TestEncodeTensorsGolden(t *testing.T) {
	got, err := safetensors.Encode([]safetensors.Tensor{
		{Name: "ids", DType: safetensors.U8, Shape: []int{3}, About: "names", Data: []byte("abc")},
		safetensors.Float32s("x", "features", []float32{1, 2}, 1, 2),
		safetensors.Int64s("ptr", "pointers", []int{5}),
	})
	expect.OK(t, err)
	header := `{"__metadata__":{"ids":"names","ptr":"pointers","x":"features"},` +
		`"ids":{"dtype":"U8","shape":[3],"data_offsets":[16,19]},` +
		`"ptr":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},` +
		`"x":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header +
		"\x05\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x80\x3f\x00\x00\x00\x40" + "abc"
	expect.Same(t, want, string(got), "file differs")
}

func TestEncodeTensorsRefuses(t *testing.T) {
	one := safetensors.Float32s("x", "", []float32{1}, 1)
	for name, tensors := range map[string][]safetensors.Tensor{
		"name twice":    {one, one},
		"reserved name": {safetensors.Float32s("__metadata__", "", nil, 0)},
		"short data":    {safetensors.Float32s("x", "", []float32{1}, 2)},
		"not UTF-8":     {safetensors.Float32s("\xff", "", nil, 0)},
	} {
		if _, err := safetensors.Encode(tensors); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// withHeader is a file of that header and that many bytes of data.
func withHeader(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

func TestDecodeTensorsRefuses(t *testing.T) {
	tests := map[string]struct {
		file []byte
		want string
	}{
		"empty":       {nil, "too short"},
		"seven bytes": {make([]byte, 7), "too short"},
		"huge header": {binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
			"header of 18446744073709551615 bytes with 0 bytes left"},
		"header by one": {append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...),
			"header of 3 bytes with 2 bytes left"},
		"no JSON":       {withHeader("", 0), "header:"},
		"null":          {withHeader("null", 0), "null"},
		"array":         {withHeader("[]", 0), "header:"},
		"more after it": {withHeader("{}{}", 0), "header:"},
		"not UTF-8":     {withHeader("{\"\xff\":{}}", 0), "header:"},
		"deep":          {withHeader(strings.Repeat(`{"a":`, 20_000), 0), "header:"},
		"name twice": {withHeader(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],`+
			`"data_offsets":[0,0]}}`, 0), `duplicate object member name "a"`},
		"member twice": {withHeader(`{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
			"duplicate"},
		"metadata":      {withHeader(`{"__metadata__":{"a":1}}`, 0), "__metadata__"},
		"dtype missing": {withHeader(`{"a":{"shape":[0],"data_offsets":[0,0]}}`, 0), `tensor "a": dtype is missing`},
		"shape null": {withHeader(`{"a":{"dtype":"U8","shape":null,"data_offsets":[0,0]}}`, 0),
			`tensor "a": shape is missing`},
		"offsets missing": {withHeader(`{"a":{"dtype":"U8","shape":[0]}}`, 0), `tensor "a": data_offsets is missing`},
		"unknown member":  {withHeader(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"b":1}}`, 0), `tensor "a"`},
		"unknown dtype":   {withHeader(`{"a":{"dtype":"F8_E5M2","shape":[0],"data_offsets":[0,0]}}`, 0), `dtype "F8_E5M2"`},
		"one offset":      {withHeader(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}}`, 0), `tensor "a"`},
		"negative shape":  {withHeader(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}`, 0), `tensor "a"`},
		"fraction":        {withHeader(`{"a":{"dtype":"U8","shape":[0.5],"data_offsets":[0,0]}}`, 0), `tensor "a"`},
		"offsets cross": {withHeader(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1),
			"end at 0 before they begin at 1"},
		"wrong size": {withHeader(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4),
			"4 bytes for F32 of shape [2], want 8"},
		"shape overflows": {withHeader(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
			"too large"},
		"overflow to zero": {withHeader(`{"a":{"dtype":"I64","shape":[2305843009213693952],"data_offsets":[0,0]}}`, 0),
			"too large"},
		"wide zero": {withHeader(`{"a":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]}}`, 0),
			"too large"},
		"past the end": {withHeader(`{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`, 8),
			"the tensors are 9 bytes, the file holds 8"},
		"rest": {withHeader(`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, 9),
			"the tensors are 8 bytes, the file holds 9"},
		"rest of none": {withHeader(`{}`, 1), "the tensors are 0 bytes"},
		"gap": {withHeader(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],`+
			`"data_offsets":[2,3]}}`, 3), `tensor "b": data begins at 2, want 1`},
		"overlap": {withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],`+
			`"data_offsets":[1,3]}}`, 3), `tensor "b": data begins at 1, want 2`},
		"the same": {withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],`+
			`"data_offsets":[0,2]}}`, 2), `tensor "b": data begins at 0, want 2`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := safetensors.Decode(tc.file)
			expect.Error(t, err, tc.want)
		})
	}
}

func TestTensorSetRefuses(t *testing.T) {
	s := safetensors.Set{
		"f": safetensors.Float32s("f", "", []float32{1, 2}, 2),
		"m": safetensors.Float32s("m", "", []float32{1, 2}, 1, 2),
		"i": safetensors.Int64s("i", "", []int{1 << 31, 0}),
		"u": {Name: "u", DType: safetensors.U8, Shape: []int{2}, Data: []byte{1, 2}},
	}
	read := map[string]func() error{
		`tensor "x" is missing`:              func() error { _, err := s.Ints("x", 2); return err },
		`tensor "f" has shape [2], want [3]`: func() error { _, err := s.Float32s("f", 3); return err },
		`tensor "f" has shape [2], want [any 2]`: func() error {
			_, err := s.Float32s("f", safetensors.AnyLength, 2)
			return err
		},
		`tensor "f" has shape [2], want [2 1]`: func() error { _, err := s.Dense("f", 2, 1); return err },
		`tensor "m" has shape [1 2], want [2]`: func() error { _, err := s.Float32s("m", 2); return err },
		`tensor "u" has dtype U8, want F32`:    func() error { _, err := s.Float32s("u", 2); return err },
		`tensor "f" has dtype F32, want I64`:   func() error { _, err := s.Ints("f", 2); return err },
		`tensor "f" has dtype F32, want U8`:    func() error { _, err := s.Bytes("f"); return err },
		`i[0] is 2147483648, outside 32 bits`:  func() error { _, err := s.Int32s("i", 2); return err },
		`tensor "a.indptr" is missing`:         func() error { _, err := s.CSR("a.", 1, 1); return err },
		`tensor "tables.u0" is missing`:        func() error { return tablesError("tables.c") },
		`tensor "tables.u2" is unexpected`:     func() error { return tablesError("tables.u0", "tables.u2") },
		`tensor "tables.extra" is unexpected`: func() error {
			return tablesError("tables.u0", "tables.c", "tables.extra")
		},
		`tensor "tables.u01" is unexpected after tab`: func() error { return tablesError("tables.u0", "tables.u01") },
	}
	for want, do := range read {
		expect.Error(t, do(), want)
	}
}

// tablesError returns the error of reading a set of 1×1 tables of those names.
func tablesError(names ...string) error {
	s := safetensors.Set{}
	for _, name := range names {
		s[name] = safetensors.Float32s(name, "", []float32{1}, 1, 1)
	}
	var tables *infer.Tables
	f := fields{set: s}
	tableFields(&f, tablesPrefix, "", &tables, 1)
	return f.err
}

func TestTensorsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tensors []safetensors.Tensor
		names := rapid.SliceOfNDistinct(rapid.StringN(0, 6, -1).Filter(func(s string) bool { return s != "__metadata__" }), 0,
			8,
			rapid.ID)
		for _, name := range names.Draw(t, "names") {
			x := safetensors.Tensor{Name: name, DType: rapid.SampledFrom([]safetensors.DType{safetensors.F32, safetensors.F64,
				safetensors.I32, safetensors.I64, safetensors.U8}).Draw(t,
				"dtype")}
			x.Shape = rapid.SliceOfN(rapid.IntRange(0, 3), 0, 3).Draw(t, "shape")
			size := x.DType.Size()
			for _, n := range x.Shape {
				size *= n
			}
			x.Data = rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "data")
			tensors = append(tensors, x)
		}
		file, err := safetensors.Encode(tensors)
		expect.OK(t, err)
		got, err := safetensors.Decode(file)
		expect.OK(t, err)
		if len(got) != len(tensors) {
			t.Fatalf("%d tensors became %d", len(tensors), len(got))
		}
		for _, want := range tensors {
			if diff := cmp.Diff(want, got[want.Name], cmp.AllowUnexported(safetensors.Tensor{})); diff != "" {
				t.Fatalf("tensor %q differs (-written +read):\n%s", want.Name, diff)
			}
		}
		for cut := range file {
			if _, err := safetensors.Decode(file[:cut]); err == nil && len(tensors) > 0 {
				t.Fatalf("the first %d of %d bytes were taken for a file", cut, len(file))
			}
		}
	})
}
