package pickle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/test/expect"
)

const (
	ndarrayOfTwo = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
	float32Type  = "cnumpy\ndtype\n(U\x02f4K\x00K\x01tR"
)

// The values are those of Python's pickle.loads for the same bytes.
func TestLoad(t *testing.T) {
	for pickle, want := range map[string]any{
		"N.":                        nil,
		"I01\n.":                    true,
		"I00\n.":                    false,
		"\x80\x02\x88.":             true,
		"\x80\x02\x89.":             false,
		"I-12\n.":                   int64(-12),
		"L123456789012L\n.":         int64(123456789012),
		"K\xff.":                    int64(255),
		"M\x01\x02.":                int64(513),
		"J\xfe\xff\xff\xff.":        int64(-2),
		"\x80\x02\x8a\x00.":         int64(0),
		"\x80\x02\x8a\x01\xff.":     int64(-1),
		"\x80\x02\x8a\x02\xff\x00.": int64(255),
		"\x80\x02\x8b\x03\x00\x00\x00\x00\x00\x80.":         int64(-8388608),
		"\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.": int64(math.MaxInt64),
		"F1.5\n.":                               1.5,
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00.":    1.5,
		"S'a\\n\\x00\\\\\\''\n.":                "a\n\x00\\'",
		"S\"it's\"\n.":                          "it's",
		"U\x02a\xff.":                           "a\xff",
		"T\x02\x00\x00\x00ab.":                  "ab",
		"Vz\\u0142ot\xf3wka \\U0001f600 \\n\n.": "złotówka 😀 \\n",
		"X\x03\x00\x00\x00\xe2\x82\xac.":        "€",
		").":                                    Tuple{},
		"(K\x01K\x02t.":                         Tuple{int64(1), int64(2)},
		"K\x01\x85.":                            Tuple{int64(1)},
		"K\x01K\x02\x86.":                       Tuple{int64(1), int64(2)},
		"K\x01K\x02N\x87.":                      Tuple{int64(1), int64(2), nil},
		"(lp0\nI1\naI2\na.":                     &List{[]any{int64(1), int64(2)}},
		"](K\x01K\x02e.":                        &List{[]any{int64(1), int64(2)}},
		"(K\x01K\x02l.":                         &List{[]any{int64(1), int64(2)}},
		"(K\x01K\x02d.":                         &Dict{[]any{int64(1)}, []any{int64(2)}},
		"}U\x01aK\x02s.":                        &Dict{[]any{"a"}, []any{int64(2)}},
		"}(K\x01NK\x02]u.":                      &Dict{[]any{int64(1), int64(2)}, []any{nil, &List{}}},
		"ccollections\ndefaultdict\n(c__builtin__\nlist\ntRK\x01]s.": &Dict{[]any{int64(1)}, []any{&List{}}},
		"ccollections\ndefaultdict\n)R.":                             &Dict{},
		"K\x07q\x00h\x00\x86.":                                       Tuple{int64(7), int64(7)},
		"(K\x07q\x05h\x05r\x00\x00\x01\x00j\x00\x00\x01\x00t.":       Tuple{int64(7), int64(7), int64(7)},
		"(I7\np12\ng12\nt.":                                          Tuple{int64(7), int64(7)},
		"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02i8K\x00K\x01tRU\x08\xfe\xff\xff\xff\xff\xff\xff\xfftR.": int64(
			-2),
		"c_codecs\nencode\n(X\x03\x00\x00\x00a\xc3\xbfX\x06\x00\x00\x00latin1tR.": "a\xff",
		"cscipy.sparse.csr\ncsr_matrix\n)\x81}U\x01aK\x01sb.": &Object{"scipy.sparse.csr_matrix",
			&Dict{[]any{"a"}, []any{int64(1)}}},
		"ccopy_reg\n_reconstructor\n(cscipy.sparse.csr\ncsr_matrix\nc__builtin__\nobject\nNtR.": &Object{
			Class: "scipy.sparse.csr_matrix"},
	} {
		got, err := Load([]byte(pickle))
		if err != nil {
			t.Errorf("%q: %v", pickle, err)
			continue
		}
		expect.Same(t, want, got, "%q", pickle)
	}
}

func TestArrays(t *testing.T) {
	array := func(dtype, order string, fortran, data string) string {
		return ndarrayOfTwo + "(K\x01(K\x02K\x01tcnumpy\ndtype\n(U\x02" + dtype + "K\x00K\x01tR(K\x03U\x01" + order +
			"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" + fortran + fmt.Sprintf("U%c", len(data)) + data + "tb."
	}
	for _, c := range []struct{ dtype, order, fortran, data, want string }{
		{"b1", "|", "\x89", "\x00\x01", "|b1"},
		{"u1", "|", "\x88", "\xff\x01", "|u1"},
		{"i2", ">", "\x89", "\xff\xfe\x01\x00", ">i2"},
		{"u8", "<", "\x88", "\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x00\x00\x00\x00\x00\x00", "<u8"},
		{"f4", "=", "\x89", "\x00\x00\x00?\x00\x00\x80\xbf", "<f4"},
	} {
		v, err := Load([]byte(array(c.dtype, c.order, c.fortran, c.data)))
		want := &Array{Type: c.want, Shape: []int{2, 1}, Fortran: c.fortran == "\x88", Data: c.data}
		if diff := cmp.Diff(any(want), v); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.want, err, diff)
		}
	}
	if v, err := Load([]byte(ndarrayOfTwo + ".")); err != nil || !cmp.Equal(v, any(&Array{})) {
		t.Errorf("without a state: %v, %v", v, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	state := func(shape, order, data string) string {
		return ndarrayOfTwo + "(K\x01" + shape + float32Type + order + data + "tb."
	}
	for _, c := range []struct{ name, pickle, want string }{
		{"nothing", "", "at 0: 1 bytes declared, 0 left"},
		{"no STOP", "N", "at 1"},
		{"two values", "NN.", "STOP at 2 leaves 2 values"},
		{"no value", ".", "leaves 0 values"},
		{"open mark", "N(.", "1 marks"},
		{"more behind", "N.N", "1 bytes"},
		{"protocol 3", "\x80\x03N.", "protocol 3"},
		{"opcode of protocol 3", "\x80\x02B\x01\x00\x00\x00a.", `opcode 'B' at 2`},
		{"opcode of protocol 4", "\x80\x02\x95\x00\x00\x00\x00\x00\x00\x00\x00N.", "data sets do not use it"},
		{"persistent id", "Pname\n.", `opcode 'P' at 0`},
		{"instance", "(ios\nsystem\n.", `opcode 'i' at 1`},
		{"extension", "\x80\x02\x82\x01.", "data sets do not use it"},
		{"system", "cos\nsystem\n(S'true'\ntR.", `global "system" of module "os"`},
		{"eval", "c__builtin__\neval\n(S'1'\ntR.", `global "eval"`},
		{"2 GiB of text", "T\xff\xff\xff\x7f.", "2147483647 bytes declared, 1 left"},
		{"4 GiB of text", "X\xff\xff\xff\xff.", "4294967295 bytes declared, 1 left"},
		{"long number", "\x80\x02\x8b\xff\xff\xff\x7f.", "2147483647 bytes declared"},
		{"number of 9 bytes", "\x80\x02\x8a\x09123456789.", "9 bytes, more than 8"},
		{"big number", "L99999999999999999999L\n.", "not an integer of 64 bits"},
		{"no number", "Ione\n.", `"one"`},
		{"no float", "Fone\n.", `"one"`},
		{"no line feed", "I1", "ends too early"},
		{"not quoted", "Sa\n.", "not a quoted string"},
		{"quotes differ", "S'a\"\n.", "not a quoted string"},
		{"escape", "S'\\q'\n.", "escape"},
		{"escape that ends", "S'\\x1'\n.", `escape "\\x1"`},
		{"escape of words", "S'\\xzz'\n.", `escape "\\xzz"`},
		{"unicode escape", "V\\u12\n.", `escape "\\u12"`},
		{"not UTF-8", "X\x01\x00\x00\x00\xff.", "not UTF-8"},
		{"empty stack", "\x85.", "stack is empty"},
		{"below a mark", "N(\x85.", "stack is empty"},
		{"no mark", "Nt.", "no mark"},
		{"memo", "h\x05.", "nothing was remembered as 5"},
		{"memo of nothing", "q\x05.", "stack is empty"},
		{"memo key", "Np-1\n.", "memo key"},
		{"memo key of words", "Npx\n.", "memo key"},
		{"append to nothing", "NNa.", "<nil> cannot be filled"},
		{"append to a dict", "}Na.", "*pickle.Dict cannot be filled"},
		{"pairs to a list", "](NNu.", "*pickle.List cannot be filled"},
		{"key without value", "}(K\x01u.", "a key without a value"},
		{"key of a list", "}]Ns.", "a key is *pickle.List"},
		{"call of a number", "K\x01)R.", "int64 cannot be called"},
		{"arguments", "cnumpy\ndtype\nNR.", "want a tuple"},
		{"call of a class", "cnumpy\nndarray\n)R.", "numpy.ndarray with 0 arguments"},
		{"other default", "ccollections\ndefaultdict\n(cnumpy\ndtype\ntR.", "collections.defaultdict with 1 arguments"},
		{"other class", "ccopy_reg\n_reconstructor\n(cnumpy\ndtype\nc__builtin__\nobject\nNtR.", "copyreg._reconstructor"},
		{"object dtype", "cnumpy\ndtype\n(U\x02O8K\x00K\x01tR.", `dtype "O8"`},
		{"structured dtype", float32Type + "(K\x03U\x01|NNK\x01J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb.",
			"types with fields"},
		{"byte order", float32Type + "(K\x03U\x01?NNNtb.", `byte order is "?"`},
		{"state of a number", "K\x01)b.", "int64 takes no state"},
		{"state of a matrix", "cscipy.sparse.csr\ncsr_matrix\n)\x81)b.", "want a dict"},
		{"state of an array", ndarrayOfTwo + ")b.", "state is not"},
		{"shape of words", state("(U\x01at", "\x89", "U\x00"), "want integers"},
		{"negative shape", state("(J\xff\xff\xff\xfft", "\x89", "U\x04abcd"), "want integers"},
		{"many dimensions", state("("+strings.Repeat("K\x01", 33)+"t", "\x89", "U\x04abcd"), "33 dimensions"},
		{"order", state("(K\x01t", "N", "U\x04abcd"), "order is <nil>"},
		{"scalar", "cnumpy.core.multiarray\nscalar\n(" + float32Type + "U\x03abctR.", "numpy.scalar wants"},
		{"scalar of a float", "cnumpy.core.multiarray\nscalar\n(" + float32Type + "U\x04\x00\x00\x00?tR.",
			"numpy.scalar of <f4"},
		{"codec", "c_codecs\nencode\n(U\x01aU\x05utf-8tR.", "only with text and latin1"},
		{"beyond latin1", "c_codecs\nencode\n(X\x03\x00\x00\x00\xe2\x82\xacU\x06latin1tR.", "latin1 has no '€'"},
		{"text that fills memory", "](U\xff" + strings.Repeat("a", 255) + "q\x00" +
			strings.Repeat("c_codecs\nencode\n(h\x00U\x06latin1tR", 40) + "e.", "more bytes than the pickle has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Load([]byte(c.pickle))
			if err == nil {
				t.Fatalf("no error: %v", v)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error lacks %q: %v", c.want, err)
			}
		})
	}
}

// FuzzLoad: any bytes give a value or an error, in memory that is bounded by the number of bytes.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("../testdata/planetoid/*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		expect.OK(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Load(in)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+uint64(len(in))*1000 {
			t.Errorf("%d bytes allocated for a pickle of %d", took, len(in))
		}
	})
}
