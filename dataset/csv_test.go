package dataset

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/csv"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/test/expect"
)

const (
	csvNodes = "id,age,height,label,split\n" +
		"anna,30,1.7,10,train\n" +
		"\"b,ob\",-2e1,0,9,validation\n" +
		"7,0.5,1,10,test\n" +
		"eve,1,2,9,un\n" +
		"zoe,3,4,,\n"
	csvEdges = "source,target,since\nanna,7,2001\n7,anna,2002\neve,\"b,ob\",2003\nzoe,zoe,2004\nanna,7,2005\n"
)

// csvSet returns the data set of csvNodes and csvEdges.
func csvSet() *Dataset {
	return &Dataset{
		Name: "path", IDs: []string{"anna", "b,ob", "7", "eve", "zoe"}, Adj: graph.Symmetric(5, [][2]int32{{0, 2}, {1, 3}}),
		X:      graph.Features{Dense: &graph.Dense{Rows: 5, Cols: 2, Data: []float32{30, 1.7, -20, 0, 0.5, 1, 1, 2, 3, 4}}},
		Labels: []int32{1, 0, 1, -1, -1}, Classes: []string{"9", "10"},
		Train: []int32{0}, Validation: []int32{1}, Test: []int32{2}, Unlabelled: []int32{3},
		Notes: []string{
			"1 self-loops were dropped: a model adds its own.",
			"2 of 4 edges were merged with one that is the same or its other direction.",
			"Features by position: age, height.",
			`Columns of edges that were ignored: ["since"].`,
		},
	}
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, z.Close())
	return b.Bytes()
}

// writeTree writes files, directories included, and returns the directory "path" that holds them.
func writeTree(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "path")
	for name, content := range files {
		file := filepath.Join(dir, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		expect.OK(t, os.WriteFile(file, content, 0o600))
	}
	return dir
}

// The same rows in every form that the format allows are one data set.
func TestCSV(t *testing.T) {
	lines := strings.SplitAfter(csvNodes, "\n")
	header, first, last := lines[0], strings.Join(lines[1:3], ""), strings.Join(lines[3:], "")
	list := "split,features,id,label\ntr,\"[30, 1.7]\",anna,10\nVA, -2e1;0 ,\"b,ob\",9\nTest,0.5 1,7,10\n" +
		"unlabeled,[1;2],eve,4711\nnone,\"3,4\",zoe,\n"
	for name, files := range map[string]map[string][]byte{
		"files": {"nodes.csv": []byte(csvNodes), "edges.csv": []byte(csvEdges)},
		"gzip":  {"nodes.csv.gz": gzipped(t, csvNodes), "edges.csv": []byte(csvEdges)},
		"shards": {"nodes/0.csv": []byte(header + first), "nodes/1.csv.gz": gzipped(t, header+last),
			"nodes/README": []byte("no shard"), "edges/a.csv": []byte(csvEdges)},
		"an empty shard":   {"nodes/0.csv": []byte(csvNodes), "nodes/1.csv": []byte(header), "edges.csv": []byte(csvEdges)},
		"list of features": {"nodes.csv": []byte(list), "edges.csv": []byte(csvEdges)},
		"byte order mark":  {"nodes.csv": []byte("\xef\xbb\xbf" + csvNodes), "edges.csv": []byte(csvEdges)},
		"CR LF": {"nodes.csv": []byte(strings.ReplaceAll(csvNodes, "\n", "\r\n")),
			"edges.csv": []byte(csvEdges)},
		"no line feed": {"nodes.csv": []byte(strings.TrimSuffix(csvNodes, "\n")), "edges.csv": []byte(csvEdges)},
		"spaces in a header": {"nodes.csv": []byte(strings.ReplaceAll(csvNodes, ",label,", ", label ,")),
			"edges.csv": []byte(csvEdges)},
		"weights of 1": {"nodes.csv": []byte(csvNodes),
			"edges.csv": []byte("source,target,weight,since\nanna,7,1,0\n7,anna,1.0,0\neve,\"b,ob\",1e0,0\nzoe,zoe,1,0\nanna," +
				"7,1,0\n")},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(writeTree(t, files), OpenOptions{})
			expect.OK(t, err)
			want := csvSet()
			if name == "list of features" {
				want.Notes = slices.Delete(want.Notes, 2, 3)
			}
			expect.Same(t, want, d, "the data set")
		})
	}
}

// Labels that are not all integers are classes in the order of their bytes; without a column split one is drawn.
func TestCSVWithoutSplit(t *testing.T) {
	nodes := "id,x,label\na,1,dog\nb,1,10\nc,1,9\nd,1,cat\ne,1,\n"
	d, err := Open(writeTree(t, map[string][]byte{"nodes.csv": []byte(nodes), "edges.csv": []byte("source,target\n")}),
		OpenOptions{SplitSeed: 5})
	expect.OK(t, err)
	expect.Same(t, []string{"10", "9", "cat", "dog"}, d.Classes, "classes")
	if diff := cmp.Diff(counts{5, 0, 1, 4, 2, 1, 1, 1},
		count(d)); diff != "" || !strings.Contains(strings.Join(d.Notes, ""), "with seed 5") {
		t.Errorf("%v (-want +got):\n%s", d.Notes, diff)
	}
}

func TestCSVRefuses(t *testing.T) {
	node := func(line string) string { return "id,age,label,split\na,1,A,tr\n" + line + "\n" }
	edge := func(line string) string { return "source,target,weight\na,7,1\n" + line + "\n" }
	good := "id,age,label,split\na,1,A,tr\nb,2,B,va\n7,3,A,te\n"
	for _, c := range []struct {
		name, file, content string
		want                []string
	}{
		{"empty", "nodes.csv", "", []string{"without even a line of column names"}},
		{"no rows", "nodes.csv", "id,age,label\n", []string{"there are no nodes"}},
		{"no id", "nodes.csv", "name,age,label\n", []string{"no column id", `"name"`}},
		{"no label", "nodes.csv", "id,age,class\n", []string{"no column label"}},
		{"no features", "nodes.csv", "id,label,split\n", []string{"no features"}},
		{"column twice", "nodes.csv", "id,label,age,age\n", []string{`two columns are named "age"`}},
		{"number", "nodes.csv", node("b,old,B,va"), []string{"line 3", "column age", `"old" is not a number`}},
		{"infinite", "nodes.csv", node("b,-Inf,B,va"), []string{"nodes.csv line 3", "column age", "-Inf"}},
		{"beyond float32", "nodes.csv", node("b,1e39,B,va"), []string{"line 3", "column age", "1e39", "float32"}},
		{"empty id", "nodes.csv", node(",1,B,va"), []string{"line 3", "column id", "empty"}},
		{"id twice", "nodes.csv", node("b,1,B,va\na,1,B,va"), []string{"line 4", "column id", `"a"`, "nodes.csv line 2"}},
		{"split", "nodes.csv", node("b,1,B,eval"), []string{"line 3", "column split", `"eval"`,
			"train, val, test, unlabelled"}},
		{"test node without label", "nodes.csv", node("b,1,,te"), []string{"line 3", "column label", "test node"}},
		{"few cells", "nodes.csv", node("b,1"), []string{"line 3", "wrong number of fields"}},
		{"quote", "nodes.csv", node(`b,"1"x,B,va`), []string{"line 3", "column 5", `"`}},
		{"line of a row behind a long one", "nodes.csv", node("\"b\nc\",1,B,va\nd,x,B,va"), []string{"line 5", "column age"}},
		{"no training nodes", "nodes.csv", "id,age,label,split\na,1,A,va\n7,1,B,te\n", []string{"no node of split train"}},
		{"no labels", "nodes.csv", "id,age,label,split\na,1,A,un\n7,1,,\n", []string{"no node has a label"}},
		{"list of words", "nodes.csv", "id,features,label,split\na,1 two,A,tr\n",
			[]string{"line 2", "column features", "[1]", `"two"`}},
		{"list not closed", "nodes.csv", "id,features,label,split\na,[1 2,A,tr\n",
			[]string{"line 2", "column features", "closing bracket"}},
		{"list too short", "nodes.csv", "id,features,label,split\na,1 2,A,tr\nb,1,A,va\n",
			[]string{"line 3", "column features", "1 values, want 2", "line 2"}},
		{"empty list", "nodes.csv", "id,features,label,split\na,,A,tr\n", []string{"line 2", "no features"}},

		{"no target", "edges.csv", "source,to\n", []string{"no column target", `"to"`}},
		{"unknown source", "edges.csv", edge("c,7,1"), []string{"line 3", "column source", `"c" is not the id`}},
		{"unknown target", "edges.csv", edge("a,07,1"), []string{"line 3", "column target", `"07"`}},
		{"weight", "edges.csv", edge("a,7,-0.5"), []string{"line 3", "column weight", "-0.5", "a finite number above 0",
			"--drop-weights"}},
		{"weight of nothing", "edges.csv", edge("a,7,0"), []string{"line 3", "column weight", "is 0,"}},
		{"infinite weight", "edges.csv", edge("a,7,Inf"), []string{"line 3", "column weight", "Inf", "--drop-weights"}},
		{"weight that is no number", "edges.csv", edge("a,7,NaN"),
			[]string{"line 3", "column weight", "NaN", "--drop-weights"}},
		{"weight of words", "edges.csv", edge("a,7,heavy"), []string{"line 3", "column weight", `"heavy"`}},
	} {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			files := map[string][]byte{"nodes.csv": []byte(good), "edges.csv": []byte("source,target\na,7\n")}
			files[c.file] = []byte(c.content)
			d, err := Open(writeTree(t, files), OpenOptions{})
			if err == nil {
				t.Fatalf("no error: %+v", d)
			}
			for _, word := range append([]string{"loading data set", "(csv)"}, c.want...) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
			if strings.Contains(err.Error(), "line") && !strings.Contains(err.Error(), c.file) {
				t.Errorf("error names no file: %v", err)
			}
		})
	}
}

func TestCSVRefusesFiles(t *testing.T) {
	edges := []byte("source,target\n")
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  []string
	}{
		{"two headers", map[string][]byte{"nodes/0.csv": []byte("id,a,label\nx,1,A\n"),
			"nodes/1.csv": []byte("id,b,label\n"), "edges.csv": edges},
			[]string{"nodes/1.csv", "columns", `"b"`, `"a"`, "nodes/0.csv"}},
		{"id in two shards", map[string][]byte{"nodes/0.csv": []byte("id,a,label\nx,1,A\n"),
			"nodes/1.csv": []byte("id,a,label\nx,1,A\n"), "edges.csv": edges},
			[]string{"nodes/1.csv: line 2", "column id", "nodes/0.csv line 2"}},
		{"file and directory", map[string][]byte{"nodes.csv": nil, "nodes/0.csv": nil, "edges.csv": edges},
			[]string{"nodes.csv and nodes/0.csv both exist"}},
		{"twice", map[string][]byte{"nodes.csv": nil, "nodes.csv.gz": nil, "edges.csv": edges},
			[]string{"nodes.csv and nodes.csv.gz both exist"}},
		{"no edges", map[string][]byte{"nodes.csv": nil}, []string{"neither edges.csv nor edges.csv.gz"}},
		{"no gzip", map[string][]byte{"nodes.csv.gz": []byte("id,a,label\n"), "edges.csv": edges},
			[]string{"nodes.csv.gz", "not a gzip file"}},
		{"truncated gzip", map[string][]byte{"nodes.csv.gz": gzipped(t, csvNodes)[:50], "edges.csv": edges},
			[]string{"nodes.csv.gz", "unexpected EOF"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(writeTree(t, c.files), OpenOptions{Format: CSV})
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}

// A file cannot make the reader use more memory than its limits.
func TestCSVLimits(t *testing.T) {
	limits := csv.Limits{Record: 4 << 10, Inflated: 16 << 10, InflateRatio: 2}
	var distinct strings.Builder
	for i := range 1 << 14 {
		fmt.Fprintf(&distinct, "%d,1,A\n", i)
	}
	many := "id,a,label\n" + strings.Repeat("x,1,A\n", 1<<16)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{"gzip bomb", map[string][]byte{"nodes.csv.gz": gzipped(t, "id,a,label\n"+distinct.String())}, "holds more than"},
		{"bomb of one record", map[string][]byte{"nodes.csv.gz": gzipped(t, "id,a,label\n\""+strings.Repeat("x", 1<<20))},
			"a record of more than 4096 bytes"},
		{"quote not closed", map[string][]byte{"nodes.csv": []byte("id,a,label\n\"x" + strings.Repeat(",1,A\n", 1<<16))},
			"is a quote not closed"},
		{"many rows are none", map[string][]byte{"nodes.csv": []byte(many)}, "already the id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["edges.csv"] = []byte("source,target\n")
			if _, err := TablesFormat(CSV, "", limits.Kind()).Read(writeTree(t, c.files),
				OpenOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// FuzzCSV: any texts give a data set that keeps its promises, or an error; never a panic. Both ways of reading are
// tried.
func FuzzCSV(f *testing.F) {
	f.Add([]byte(csvNodes), []byte(csvEdges), "", "")
	f.Add([]byte("id,features,label\na,[1 2],x\nb,3;4,y\nc,5 6,x\nd,7 8,y\n"), []byte("source,target\na,b\n"), "", "")
	f.Add([]byte("id,a,label\n\"x"), []byte("source,target,weight\na,b,2\n"), "", ".")
	f.Add([]byte("id;a;b;t;label\n1.0;1,5;True;2026-01-02 03:04:05+01:00;x\n2.0;;;;y\n3.0;2,5;False;2026-01-02;x\n"+
		"4.0;0;true;;y\n"),
		[]byte("source\ttarget\n1\t2\n1e+00\t4.0\n"), "latin1", ",")
	f.Add([]byte("id,v,label\na,\"[1, 2]\",1\nb,,3\nc,[3 4],3\nd,[5;6],1\n"), []byte("source,target\n"), "utf-8", "")
	f.Fuzz(func(t *testing.T, nodes, edges []byte, encoding, point string) {
		dir := writeTree(t, map[string][]byte{"nodes.csv": nodes, "edges.csv": edges})
		if d, err := Open(dir, OpenOptions{Format: CSV}); err == nil {
			checkTables(t, d)
		}
		if d, err := OpenTables(OpenOptions{Tables: table.Settings{Nodes: table.NodesPath(dir + "/nodes.csv"),
			Edges:       dir + "/edges.csv",
			DropWeights: true,
			Decimal:     point, TextForm: table.TextForm{Encoding: encoding}}}); err == nil {
			checkTables(t, d)
		}
	})
}

// checkTables checks the promises of a data set, whose features have positions or names.
func checkTables(t *testing.T, d *Dataset) {
	t.Helper()
	for i := range d.Columns {
		if n := d.Columns[i].Len(); n != d.Nodes() || len(d.Columns[i].Missing) != 0 && len(d.Columns[i].Missing) != n {
			t.Fatalf("column %s has %d values for %d nodes", d.Columns[i].Name, n, d.Nodes())
		}
	}
	if d.Columns != nil {
		d.X.Dense = &graph.Dense{Rows: d.Nodes(), Cols: 1, Data: make([]float32, d.Nodes())}
	}
	checkPromises(t, d)
}
