package parquet

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/test/expect"
)

// set returns the graph of testdata/make.py.
func set(name string, notes ...string) *dataset.Dataset {
	return &dataset.Dataset{
		Name: name, IDs: []string{"anna", "b,ob", "7", "eve", "zoë"}, Classes: []string{"9", "10"},
		Labels: []int32{1, 0, 1, -1, -1},
		Adj:    &graph.CSR{Rows: 5, Cols: 5, RowPtr: []int{0, 1, 2, 3, 4, 4}, ColIdx: []int32{2, 3, 0, 1}},
		X:      graph.Features{Dense: &graph.Dense{Rows: 5, Cols: 2, Data: []float32{30, 1.75, -20, 0, 0.5, 1, 1, 2, 3, 4}}},
		Train:  []int32{0}, Validation: []int32{1}, Test: []int32{2}, Unlabelled: []int32{3},
		Notes: append([]string{
			"1 self-loops were dropped: a model adds its own.",
			"2 of 4 edges were merged with one that is the same or its other direction.",
		}, notes...),
	}
}

func open(dir string) (*dataset.Dataset, error) {
	return dataset.Open(dir, dataset.OpenOptions{})
}

// TestPyArrow reads what pyarrow wrote (testdata/make.py): both forms of features, pages of both versions, all codecs
// and encodings.
func TestPyArrow(t *testing.T) {
	columns := set("columns", "Features by position: age, height.")
	for name, want := range map[string]*dataset.Dataset{
		"lists":   set("lists", `Columns of nodes that were ignored: ["city"].`),
		"columns": columns, "v2": set("v2"), "plain": set("plain"), "delta": set("delta"),
	} {
		t.Run(name, func(t *testing.T) {
			d, err := open(filepath.Join("testdata", name))
			expect.OK(t, err)
			expect.Same(t, want, d, "the data set")
		})
	}
}

type (
	node struct {
		ID       string    `parquet:"id"`
		Features []float32 `parquet:"features,list"`
		Label    *string   `parquet:"label,optional"`
		Split    string    `parquet:"split"`
	}
	edge struct {
		Source string `parquet:"source"`
		Target string `parquet:"target"`
	}
)

// encode writes rows, a row group for each of the given slices.
func encode[T any](t rapid.TB, groups [][]T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	for _, rows := range groups {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		expect.OK(t, w.Flush())
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

// writeSet returns a directory with these files.
func writeSet(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	for name, content := range files {
		file := filepath.Join(dir, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		expect.OK(t, os.WriteFile(file, content, 0o600))
	}
	return dir
}

// Whatever the pages, the shards and the row groups, the rows are the same.
func TestShardsGroupsAndPages(t *testing.T) {
	dirs := t.TempDir()
	count := 0
	rapid.Check(t, func(r *rapid.T) {
		n, width := rapid.IntRange(3, 60).Draw(r, "nodes"), rapid.IntRange(1, 40).Draw(r, "features")
		rows := make([]node, n)
		want := make([]float32, 0, n*width)
		classes := []string{"c", "d"}
		for i := range rows {
			rows[i] = node{ID: string(rune('A' + i)), Split: []string{"train", "val", "test"}[i%3], Label: &classes[i%2]}
			for range width {
				rows[i].Features = append(rows[i].Features, float32(rapid.IntRange(-5, 5).Draw(r, "value"))/4)
			}
			want = append(want, rows[i].Features...)
		}
		cut := rapid.IntRange(0, n).Draw(r, "cut")
		inner := rapid.IntRange(0, cut).Draw(r, "inner cut")
		codec := rapid.SampledFrom([]parquet.WriterOption{parquet.Compression(&parquet.Snappy),
			parquet.Compression(&parquet.Zstd),
			parquet.Compression(&parquet.Gzip), parquet.Compression(&parquet.Uncompressed)}).Draw(r, "codec")
		how := []parquet.WriterOption{codec, parquet.PageBufferSize(rapid.IntRange(64, 2000).Draw(r, "page")),
			parquet.DataPageVersion(rapid.IntRange(1, 2).Draw(r, "version"))}
		dir := filepath.Join(dirs, string(rune('a'+count%26)))
		count++
		for name, content := range map[string][]byte{
			"nodes/0.parquet": encode(r, [][]node{rows[:inner], rows[inner:cut]}, how...),
			"nodes/1.parquet": encode(r, [][]node{rows[cut:]}, how...),
			"edges/a.parquet": encode(r, [][]edge{{{rows[0].ID, rows[1].ID}}}, how...),
		} {
			expect.OK(r, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			expect.OK(r, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		d, err := open(dir)
		expect.OK(r, err)
		if diff := cmp.Diff(want, d.X.Dense.Data); diff != "" || d.Nodes() != n || d.Adj.NNZ()/2 != 1 {
			r.Errorf("%d nodes, %d edges (-want +got):\n%s", d.Nodes(), d.Adj.NNZ()/2, diff)
		}
	})
}

func TestRefuses(t *testing.T) {
	a, b := "A", "B"
	nodes := func(last node) []byte {
		return encode(t, [][]node{{{"x", []float32{1, 2}, &a, "train"}, {"y", []float32{3, 4}, &b, "val"}},
			{{"z", []float32{5, 6}, &a, "te"}, last}})
	}
	good := nodes(node{"w", []float32{7, 8}, nil, ""})
	edges := func(last edge) []byte { return encode(t, [][]edge{{{"x", "y"}, last}}) }
	arrow := func(name string) []byte {
		content, err := os.ReadFile("testdata/refused/" + name + ".parquet")
		expect.OK(t, err)
		return content
	}
	for _, c := range []struct {
		name, file string
		content    []byte
		want       []string
	}{
		{"no Parquet", "nodes.parquet", []byte("id,label\n1,2\n"), []string{"not a Parquet file"}},
		{"empty", "nodes.parquet", nil, []string{"not a Parquet file"}},
		{"truncated", "nodes.parquet", good[:len(good)-9], []string{"not a Parquet file"}},
		{"no rows", "nodes.parquet", encode[node](t, nil), []string{"there are no nodes"}},
		{"no id", "nodes.parquet", encode(t, [][]edge{{{"x", "y"}}}), []string{"no column id"}},
		{"NaN", "nodes.parquet", nodes(node{"w", []float32{7, float32(math.NaN())}, nil, ""}),
			[]string{"row 4", "column features", "NaN"}},
		{"short list", "nodes.parquet", nodes(node{"w", []float32{7}, nil, ""}),
			[]string{"row 4", "column features", "1 values, want 2", "nodes.parquet row 1"}},
		{"empty list", "nodes.parquet", nodes(node{"w", nil, nil, ""}), []string{"row 4", "column features", "null"}},
		{"id twice", "nodes.parquet", nodes(node{"y", []float32{7, 8}, nil, ""}),
			[]string{"row 4", "column id", `"y"`, "nodes.parquet row 2"}},
		{"empty id", "nodes.parquet", nodes(node{"", []float32{7, 8}, nil, ""}), []string{"row 4", "column id", "empty"}},
		{"split", "nodes.parquet", nodes(node{"w", []float32{7, 8}, nil, "dev"}), []string{"row 4", "column split", `"dev"`}},
		{"label", "nodes.parquet", nodes(node{"w", []float32{7, 8}, nil, "test"}),
			[]string{"row 4", "column label", "empty"}},
		{"float label", "nodes.parquet", encode(t, [][]struct {
			ID    string  `parquet:"id"`
			Label float64 `parquet:"label"`
			X     float32 `parquet:"x"`
		}{{{"x", 0.5, 1}}}), []string{"row 1", "column label", "0.5"}},
		{"beyond float32", "nodes.parquet", encode(t, [][]struct {
			ID    string  `parquet:"id"`
			Label string  `parquet:"label"`
			Age   float64 `parquet:"age"`
		}{{{"x", "A", 1}, {"y", "A", 1e300}}}), []string{"row 2", "column age", "1e+300", "float32"}},
		{"float id", "nodes.parquet", encode(t, [][]struct {
			ID    float64 `parquet:"id"`
			Label string  `parquet:"label"`
			Age   float64 `parquet:"age"`
		}{{{1.5, "A", 1}}}), []string{"row 1", "column id", "1.5 is no integer"}},
		{"list of ids", "nodes.parquet", encode(t, [][]struct {
			ID    []string `parquet:"id,list"`
			Label string   `parquet:"label"`
			Age   float64  `parquet:"age"`
		}{{{[]string{"x"}, "A", 1}}}), []string{"row 1", "column id", "a list of texts"}},
		{"struct", "nodes.parquet", encode(t, [][]struct {
			ID    string `parquet:"id"`
			Label string `parquet:"label"`
			Age   struct {
				A, B float64
			} `parquet:"age"`
		}{{{"x", "A", struct{ A, B float64 }{1, 2}}}}), []string{"column age", "2 columns of its own"}},
		{"list that is none", "nodes.parquet", encode(t, [][]struct {
			ID       string  `parquet:"id"`
			Label    string  `parquet:"label"`
			Features float64 `parquet:"features"`
		}{{{"x", "A", 1}}}), []string{"column features", "list of numbers"}},
		{"no target", "edges.parquet", arrow("delta_byte_array"), []string{"no column source"}},

		{"unknown source", "edges.parquet", edges(edge{"v", "y"}), []string{"row 2", "column source", `"v"`}},
		{"unknown target", "edges.parquet", edges(edge{"y", "v"}), []string{"row 2", "column target", `"v"`}},
		{"weight", "edges.parquet", encode(t, [][]struct {
			Source string  `parquet:"source"`
			Target string  `parquet:"target"`
			Weight float64 `parquet:"weight"`
		}{{{"x", "y", 1}, {"x", "z", -2.5}}}), []string{"row 2", "column weight", "-2.5", "above 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{"nodes.parquet": good, "edges.parquet": edges(edge{"y", "z"})}
			files[c.file] = c.content
			d, err := open(writeSet(t, files))
			if err == nil {
				t.Fatalf("no error: %+v", d)
			}
			for _, word := range append([]string{"loading data set", "(parquet)", c.file}, c.want...) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}

func TestRefusesEncodingsAndCodecs(t *testing.T) {
	for name, want := range map[string]string{
		"delta_byte_array": "encoding DELTA_BYTE_ARRAY is not supported",
		"brotli":           "compression BROTLI is not supported",
		"rle_bool":         "encoding RLE of values of type BOOLEAN",
	} {
		content, err := os.ReadFile("testdata/refused/" + name + ".parquet")
		expect.OK(t, err)
		err = guarded(func() error {
			f, err := openTable(bytes.NewReader(content), name, int64(len(content)))
			if err != nil {
				return err
			}
			return f.Each([]int{0}, func([]table.Cell, table.Place) error { return nil })
		})
		expect.Error(t, err, want, "%s", name)
	}
}

func TestTwoSchemas(t *testing.T) {
	a := "A"
	_, err := open(writeSet(t, map[string][]byte{
		"nodes/0.parquet": encode(t, [][]node{{{"x", []float32{1}, &a, "train"}}}),
		"nodes/1.parquet": encode(t, [][]edge{{{"x", "y"}}}),
		"edges.parquet":   encode(t, [][]edge{{{"x", "x"}}}),
	}))
	if err == nil || !strings.Contains(err.Error(), "nodes/1.parquet: columns") || !strings.Contains(err.Error(),
		"as in nodes/0.parquet") {
		t.Errorf("error %v", err)
	}
}

// A directory with csv and Parquet files is refused: reading one kind would leave out the other.
func TestTwoKinds(t *testing.T) {
	a := "A"
	dir := writeSet(t, map[string][]byte{
		"nodes/0.parquet": encode(t, [][]node{{{"x", []float32{1}, &a, "train"}}}),
		"nodes/1.csv":     []byte("id,features,label,split\ny,2,A,test\n"),
		"edges.parquet":   encode(t, [][]edge{{{"x", "x"}}}),
	})
	_, err := dataset.OpenTables(dataset.OpenOptions{
		Tables: table.Settings{Nodes: table.NodesPath(dir + "/nodes"), Edges: dir + "/edges.parquet"}})
	expect.Error(t, err, "has tables of two kinds")
}

// Where a file is cut short, the error names the file; none escapes as a panic.
func TestCutShort(t *testing.T) {
	const nodes = "testdata/plain/nodes.parquet"
	whole, err := os.ReadFile(nodes)
	expect.OK(t, err)
	edges, err := os.ReadFile("testdata/plain/edges.parquet")
	expect.OK(t, err)
	for _, size := range []int{0, 5, 12, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		_, err := open(writeSet(t, map[string][]byte{"nodes.parquet": whole[:size], "edges.parquet": edges}))
		expect.Error(t, err, "nodes.parquet", "%d of %d bytes", size, len(whole))
	}
	// bytes are missing in the middle, so that the end is there
	_, err = open(writeSet(t, map[string][]byte{"nodes.parquet": append(bytes.Clone(whole[:20]), whole[len(whole)/2:]...),
		"edges.parquet": edges}))
	expect.Error(t, err, "nodes.parquet", "bytes that are missing in the middle")
}

// A list may go on from page to page, each of which takes a few bytes of the file.
func TestLongList(t *testing.T) {
	class := "A"
	rows := []node{{ID: "x", Features: make([]float32, maxList+1), Label: &class, Split: "train"}}
	_, err := open(writeSet(t, map[string][]byte{"nodes.parquet": encode(t, [][]node{rows}),
		"edges.parquet": encode(t, [][]edge{{{"x", "x"}}})}))
	expect.Error(t, err, "row 1: column features: a list of more than 1048576 numbers")
}
