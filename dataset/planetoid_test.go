package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/numpy"
	"rivulet/dataset/pickle"
	"rivulet/graph"
	"rivulet/test/datatest"
	"rivulet/test/expect"
)

// planetoidSet returns the graph of testdata/make_planetoid.py, with two validation nodes.
func planetoidSet(name string) *Dataset {
	x := &graph.CSR{Rows: 10, Cols: 4, RowPtr: []int{0}}
	for i := range int32(10) {
		if i != 7 {
			word, half := i%4, (i*i+1)%4
			row := map[int32]float32{word: 1}
			row[half] = 0.5
			for c := range int32(4) {
				if v, ok := row[c]; ok {
					x.ColIdx, x.Val = append(x.ColIdx, c), append(x.Val, v)
				}
			}
		}
		x.RowPtr = append(x.RowPtr, len(x.ColIdx))
	}
	return &Dataset{
		Name: name, IDs: Decimals(10), Classes: Decimals(3), BagOfWords: true,
		Adj:    graph.Symmetric(10, [][2]int32{{0, 1}, {0, 2}, {1, 6}, {2, 3}, {3, 9}, {4, 5}, {5, 8}, {0, 9}}),
		X:      graph.Features{Sparse: x},
		Labels: []int32{0, 1, 2, 0, -1, -1, 0, -1, 1, 2},
		Train:  []int32{0, 1}, Validation: []int32{2, 3}, Unlabelled: []int32{4, 5}, Test: []int32{6, 8, 9},
		Notes: []string{
			"1 self-loops were dropped: a model adds its own.",
			"1 edges that stand there again were merged.",
			"1 edges that stood in one direction got the other.",
			"1 nodes that test.index leaves out have no features, class or role.",
		},
	}
}

// TestPlanetoid reads what NumPy and SciPy pickled in each protocol (testdata/make_planetoid.py).
func TestPlanetoid(t *testing.T) {
	for _, name := range []string{"protocol0", "protocol1", "protocol2", "bigendian", "python3"} {
		t.Run(name, func(t *testing.T) {
			d, err := readPlanetoid("testdata/planetoid/ind."+name, 2)
			expect.OK(t, err)
			expect.Same(t, planetoidSet(name), d, "the data set")
		})
	}
}

// By default all nodes of allx but the training nodes validate, up to 500 of them.
func TestOpenPlanetoid(t *testing.T) {
	d, err := Open("testdata/planetoid/ind.protocol2", OpenOptions{})
	expect.OK(t, err)
	if diff := cmp.Diff(counts{10, 8, 4, 3, 2, 0, 4, 3}, count(d)); diff != "" || d.Name != "protocol2" {
		t.Errorf("%s (-want +got):\n%s", d.Name, diff)
	}
	_, err = Open("testdata/planetoid", OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "there are several sets") ||
		!strings.Contains(err.Error(), "ind.bigendian") {
		t.Errorf("a directory with several sets: error %v", err)
	}
}

// Cora in Planetoid's layout equals Cora in GraphSAINT's.
func TestPlanetoidCora(t *testing.T) {
	want, err := openDir(datatest.Dir(t, "cora"))
	expect.OK(t, err)
	dir := t.TempDir()
	for name, content := range planetoidFiles(want) {
		expect.OK(t, os.WriteFile(filepath.Join(dir, "ind.cora."+name), content, 0o600))
	}
	got, err := Open(dir, OpenOptions{})
	expect.OK(t, err)
	if got.Fingerprint() != want.Fingerprint() || got.Name != want.Name || len(got.Notes) != 0 {
		t.Errorf("%s, %+v, %v; want %s, %+v", got.Name, count(got), got.Notes, want.Name, count(want))
	}
}

// planetoidFiles writes a data set whose nodes stand in the order train, validation, unlabelled, test. Test nodes are
// listed backwards. Classes of unlabelled nodes, which it does not know, are written as 0.
func planetoidFiles(d *Dataset) map[string][]byte {
	first := int32(len(d.Train) + len(d.Validation) + len(d.Unlabelled))
	test := slices.Clone(d.Test)
	slices.Reverse(test)
	upTo := func(n int32) []int32 {
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		return rows
	}
	x := func(rows []int32) []byte { return pickleOf(pickleCSR(d.X.Sparse.Take(rows))) }
	y := func(rows []int32) []byte {
		flags := make([]int32, len(rows)*len(d.Classes))
		for k, i := range rows {
			flags[k*len(d.Classes)+int(max(0, d.Labels[i]))] = 1
		}
		return pickleOf(pickleArray([]int{len(rows), len(d.Classes)}, "i4", flags))
	}
	train := upTo(int32(len(d.Train)))
	lines := ""
	for _, i := range test {
		lines += fmt.Sprintln(i)
	}
	return map[string][]byte{
		"x": x(train), "y": y(train), "allx": x(upTo(first)), "ally": y(upTo(first)), "tx": x(test), "ty": y(test),
		"test.index": []byte(lines), "graph": pickleOf(pickleGraph(d.Adj)),
	}
}

func pickleOf(value string) []byte { return []byte("\x80\x02" + value + ".") }

func pickleInt(v int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }

func pickleText(s string) string {
	return "T" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func pickleArray(shape []int, dtype string, values any) string {
	dims := "("
	for _, n := range shape {
		dims += pickleInt(n)
	}
	return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01" + dims + "t" +
		"cnumpy\ndtype\n(U\x02" + dtype + "K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" +
		"\x89" + pickleText(string(littleEndian(values))) + "tb"
}

func pickleCSR(m *graph.CSR) string {
	indptr := make([]int32, len(m.RowPtr))
	for i, v := range m.RowPtr {
		indptr[i] = int32(v)
	}
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, m.NNZ())
	}
	return "cscipy.sparse.csr\ncsr_matrix\n)\x81}(" +
		"U\x06_shape(" + pickleInt(m.Rows) + pickleInt(m.Cols) + "t" +
		"U\x06indptr" + pickleArray([]int{len(indptr)}, "i4", indptr) +
		"U\x07indices" + pickleArray([]int{len(m.ColIdx)}, "i4", m.ColIdx) +
		"U\x04data" + pickleArray([]int{len(values)}, "f4", values) + "ub"
}

func pickleGraph(adj *graph.CSR) string {
	var out bytes.Buffer
	out.WriteString("ccollections\ndefaultdict\n(c__builtin__\nlist\ntR(")
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		out.WriteString(pickleInt(i) + "](")
		for _, c := range cols {
			out.WriteString(pickleInt(int(c)))
		}
		out.WriteString("e")
	}
	out.WriteString("u")
	return out.String()
}

func TestPlanetoidRefuses(t *testing.T) {
	eye := func(rows, cols int) *graph.CSR {
		m := &graph.CSR{Rows: rows, Cols: cols, RowPtr: []int{0}}
		for i := range rows {
			m.ColIdx = append(m.ColIdx, int32(i%cols))
			m.RowPtr = append(m.RowPtr, i+1)
		}
		return m
	}
	outside := eye(6, 4)
	outside.ColIdx[5] = 9
	y := func(rows int, flags ...int32) string { return pickleArray([]int{rows, len(flags) / rows}, "i4", flags) }
	ally := []int32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}
	none := slices.Clone(ally)
	none[6], none[7], none[8] = 0, 0, 0
	two := slices.Clone(ally)
	two[0], two[1] = 1, 1
	big := slices.Clone(ally)
	big[4] = 2
	moved := slices.Clone(ally)
	moved[0], moved[1] = 0, 1
	for _, c := range []struct {
		name, file string
		content    []byte
		want       []string
	}{
		{"no pickle", "x", []byte("hello"), []string{"opcode 'h' at 0"}},
		{"empty", "x", nil, []string{"ends too early"}},
		{"an array for a matrix", "x", pickleOf(y(2, 1, 0)), []string{"*pickle.Array", "*pickle.Object"}},
		{"no state", "x", pickleOf("cscipy.sparse.csr\ncsr_matrix\n)\x81"), []string{"no content"}},
		{"no shape", "x", pickleOf("cscipy.sparse.csr\ncsr_matrix\n)\x81}b"), []string{"attribute _shape"}},
		{"column", "allx", pickleOf(pickleCSR(outside)), []string{"attribute indices", "[5] is 9, outside 0…3"}},
		{"columns", "tx", pickleOf(pickleCSR(eye(3, 5))), []string{"4, 4 and 5 columns"}},
		{"x beyond allx", "x", pickleOf(pickleCSR(eye(7, 4))), []string{"x has 7 rows, more than the 6 of allx"}},
		{"rows of y", "y", pickleOf(y(3, ally[:9]...)), []string{"shape [3 3], want 2 rows"}},
		{"classes of ty", "ty", pickleOf(y(3, ally[:12]...)), []string{"4 classes, others have 3"}},
		{"flag of 2", "ally", pickleOf(y(6, big...)), []string{"row 1, column 1 is 2"}},
		{"two classes", "ally", pickleOf(y(6, two...)), []string{"row 0 has classes 0 and 1"}},
		{"y is not ally", "ally", pickleOf(y(6, moved...)), []string{"row 0 is of class 1, in y of class 0"}},
		{"validation node without class", "ally", pickleOf(y(6, none...)), []string{"row 2", "no class"}},
		{"test node without class", "ty", pickleOf(y(3, 0, 0, 0, 1, 0, 0, 0, 1, 0)), []string{"row 0, of test node 9"}},
		{"a word for an index", "test.index", []byte("9\nsix\n8\n"), []string{"line 2", `"six"`}},
		{"an index of allx", "test.index", []byte("9\n5\n8\n"), []string{"line 2", "node 5 is outside 6…11"}},
		{"an index far beyond", "test.index", []byte("9\n6\n2000000000\n"), []string{"line 3", "2000000000"}},
		{"an index twice", "test.index", []byte("9\n6\n9\n"), []string{"line 3", "occurs twice"}},
		{"few indices", "test.index", []byte("9\n6\n"), []string{"2 nodes for the 3 rows"}},
		{"a list for a graph", "graph", pickleOf("]"), []string{"*pickle.List", "want *pickle.Dict"}},
		{"no list", "graph", pickleOf("}K\x00K\x01s"), []string{"node 0", "int64", "want a list"}},
		{"a key of words", "graph", pickleOf("}U\x01a]s"), []string{"key [0]", "string"}},
		{"a key outside", "graph", pickleOf("}K\x0a]s"), []string{"key [0]", "node 10 is outside 0…9"}},
		{"a neighbour outside", "graph", pickleOf("}K\x00]K\x0aas"), []string{"node 0", "neighbour [0]", "node 10"}},
		{"a key twice", "graph", pickleOf("}(K\x00]K\x00]u"), []string{"node 0 occurs twice"}},
	} {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, part := range []string{"x", "y", "allx", "ally", "tx", "ty", "test.index", "graph"} {
				content, err := os.ReadFile("testdata/planetoid/ind.protocol2." + part)
				expect.OK(t, err)
				if part == c.file {
					content = c.content
				}
				expect.OK(t, os.WriteFile(filepath.Join(dir, "ind.a."+part), content, 0o600))
			}
			d, err := Open(dir, OpenOptions{})
			if err == nil {
				t.Fatalf("no error: %+v", d)
			}
			for _, word := range append([]string{"loading data set", "planetoid", "ind.a." + c.file}, c.want...) {
				if strings.HasPrefix(word, "ind.a.") && (c.name == "columns" || c.name == "x beyond allx") {
					continue // about several files
				}
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}

// Arrays of pickles are read like npy streams: every type, either byte order, and never beyond the last element.
func TestPickledArrays(t *testing.T) {
	for _, c := range []struct {
		typ, data string
		want      []float32
	}{
		{"|b1", "\x00\x01", []float32{0, 1}},
		{"|i1", "\xff\x01", []float32{-1, 1}},
		{"|u1", "\xff\x01", []float32{255, 1}},
		{">i2", "\xff\xfe\x01\x00", []float32{-2, 256}},
		{"<u4", "\xff\xff\x00\x00\x01\x00\x00\x00", []float32{1<<16 - 1, 1}},
		{">i8", "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x05", []float32{-1, 5}},
		{"<u8", "\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x00\x00\x00\x00\x00\x00", []float32{1 << 64, 5}},
		{"<f4", "\x00\x00\x00?\x00\x00\x80\xbf", []float32{0.5, -1}},
		{">f8", "\x3f\xe0\x00\x00\x00\x00\x00\x00\x40\x08\x00\x00\x00\x00\x00\x00", []float32{0.5, 3}},
	} {
		a, err := numpy.OpenPickled(&pickle.Array{Type: c.typ, Shape: []int{1, 2}, Data: c.data})
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		var got []float32
		err = a.Floats(func(_ int, v float32) error {
			got = append(got, v)
			return nil
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.typ, got, err, c.want)
		}
	}
	if a, err := numpy.OpenPickled(&pickle.Array{Type: "<f4", Shape: []int{2, 3}, Fortran: true,
		Data: strings.Repeat("\x00", 24)}); err != nil || !a.Fortran {
		t.Errorf("in Fortran's order: %+v, %v", a, err)
	}
	for _, c := range []struct {
		array pickle.Array
		want  string
	}{
		{pickle.Array{}, "dtype"},
		{pickle.Array{Type: "<f4", Shape: []int{2}, Data: "abcd"}, "shape [2] of <f4 does not match the array's 4 bytes"},
		{pickle.Array{Type: "<f4", Shape: []int{1<<31 - 1}, Data: "abcd"}, "does not fit"},
		{pickle.Array{Type: "<f4", Shape: []int{1 << 30, 1 << 30, 1 << 30}, Data: "abcd"}, "does not fit"},
	} {
		expect.Error(t, expect.ErrorOf(numpy.OpenPickled(&c.array)), c.want, "%+v", c.array)
	}
}
