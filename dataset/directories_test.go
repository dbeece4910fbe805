package dataset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
)

// A table may be a directory of files as Spark, Hive and pandas write them: parts, partitions, columns in another
// order. Files that would be left out without a word are an error.
func TestDirectories(t *testing.T) {
	const header = "id,x,label,split\n"
	edges := []byte("source,target\n1,2\n2,3\n")
	want := [][]int32{{0}, {1}, {2}}
	for name, files := range map[string]map[string]string{
		"parts": {"nodes/a.csv": header + "1,5,a,train\n",
			"nodes/b.csv": header + "2,6,b,val\n3,7,a,test\n"},
		"a directory of its name": {"nodes.csv/part-0.csv": header + "1,5,a,train\n2,6,b,val\n3,7,a,test\n",
			"nodes.csv/_SUCCESS": "", "nodes.csv/.part.crc": "x"},
		"another order": {"nodes/a.csv": header + "1,5,a,train\n",
			"nodes/b.csv": "split,label,id,x\nval,b,2,6\ntest,a,3,7\n"},
		"partitions by role": {"nodes/split=train/p.csv": "id,x,label\n1,5,a\n",
			"nodes/split=val/p.csv":    "id,x,label\n2,6,b\n",
			"nodes/split=zzz/_SUCCESS": "", "nodes/split=test/p.csv": "id,x,label\n3,7,a\n"},
		"partitions in partitions": {"nodes/split=train/label=a/p.csv": "id,x\n1,5\n",
			"nodes/split=val/label=b/p.csv":  "x,id\n6,2\n",
			"nodes/label=a/split=test/p.csv": "id,x\n3,7\n"},
		"a column in the file, too": {"nodes/split=train/p.csv": header + "1,5,a,train\n2,6,b,val\n3,7,a,test\n"},
		"a part without rows":       {"nodes/a.csv": header, "nodes/b.csv": header + "1,5,a,train\n2,6,b,val\n3,7,a,test\n"},
		"other files beside": {"nodes/a.csv": header + "1,5,a,train\n2,6,b,val\n3,7,a,test\n", "nodes/README.md": "x",
			"nodes/img/a.png": "x"},
	} {
		content := map[string][]byte{"edges.csv": edges}
		for file, text := range files {
			content[file] = []byte(text)
		}
		dir := writeTree(t, content)
		nodes := dir + "/nodes"
		if name == "a directory of its name" {
			nodes += ".csv"
		}
		named, err := OpenTables(OpenOptions{Tables: table.Settings{Nodes: table.NodesPath(nodes), Edges: dir + "/edges.csv",
			Positional: true}})
		conventional, errConventional := Open(dir, OpenOptions{})
		if err != nil || errConventional != nil {
			t.Errorf("%s: %v, %v", name, err, errConventional)
			continue
		}
		for _, d := range []*Dataset{named, conventional} {
			byID := map[string]int32{}
			for i, id := range d.IDs {
				byID[id] = int32(i)
			}
			got := [][]int32{d.Train, d.Validation, d.Test}
			for k, id := range []string{"1", "2", "3"} {
				i := byID[id]
				if len(got[k]) != 1 || got[k][0] != i || d.X.Dense.Row(int(i))[0] != float32(5+k) ||
					d.Classes[d.Labels[i]] != []string{"a", "b", "a"}[k] {
					t.Errorf("%s: roles %v, want %v; node %s is %v of class %d", name, got, want, id, d.X.Dense.Row(int(i)),
						d.Labels[i])
				}
			}
			if d.Nodes() != 3 || d.Adj.NNZ() != 4 || d.X.Cols() != 1 {
				t.Errorf("%s: %d nodes, %d features, %v", name, d.Nodes(), d.X.Cols(), d.Notes)
			}
		}
	}
	for want, files := range map[string]map[string]string{
		"is no partition KEY=VALUE": {"nodes/a.csv": header + "1,5,a,train\n", "nodes/2025/b.csv": header + "2,6,b,val\n"},
		"columns":                   {"nodes/a.csv": header + "1,5,a,train\n", "nodes/b.csv": "id,x,label\n2,6,b\n"},
		"Delta Lake":                {"nodes/a.csv": header + "1,5,a,train\n", "nodes/_delta_log/0.json": "{}"},
		"Apache Hudi":               {"nodes.csv/a.csv": header + "1,5,a,train\n", "nodes.csv/.hoodie/x": "{}"},
		"which holds the nodes":     {"nodes/a.csv": header + "1,5,a,train\n", "nodes.csv": header + "1,5,a,train\n"},
		"partition split=%zz":       {"nodes/split=%zz/a.csv": "id,x,label\n1,5,a\n"},
	} {
		content := map[string][]byte{"edges.csv": edges}
		for file, text := range files {
			content[file] = []byte(text)
		}
		if _, err := Open(writeTree(t, content), OpenOptions{Format: CSV}); err == nil || !strings.Contains(err.Error(),
			want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// Values of partitions are texts of a path: escaped, and missing by Hive's word.
	d, err := Open(writeTree(t, map[string][]byte{"edges.csv": edges,
		"nodes/split=train/label=a%20b/p.csv": []byte("id,x\n1,5\n"),
		"nodes/split=val/label=c/p.csv":       []byte("id,x\n2,5\n"), "nodes/split=test/label=c/p.csv": []byte("id,x\n3,5\n"),
		"nodes/split=un/label=__HIVE_DEFAULT_PARTITION__/p.csv": []byte("id,x\n4,5\n")}), OpenOptions{})
	if err != nil || !cmp.Equal(d.Classes, []string{"a b", "c"}) || len(d.Unlabelled) != 1 {
		t.Errorf("%v, %+v", err, d)
	}
}

// Ids that lost digits on the way through a float or a spreadsheet are refused, and those that only look so are kept.
func TestLostDigits(t *testing.T) {
	nodes := func(first string) string {
		return "id,x,label,split\n" + first + ",1,a,train\n2,2,b,val\n3,3,a,test\n"
	}
	for id, want := range map[string]string{
		"1.23457E+11": "has lost digits", "1.23457e+18": "has lost digits", "9007199254740994.0": "has lost digits",
		"1e+17": "has lost digits",
	} {
		for _, positional := range []bool{false, true} {
			if _, err := openTexts(t, nodes(id), "source,target\n2,3\n",
				table.Settings{Positional: positional}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", id, err, want)
			}
		}
	}
	for id, want := range map[string]string{"9223372036854775807": "9223372036854775807", "100000.0": "100000",
		"1e+05": "100000", "0007": "0007", "a1.5E+11": "a1.5E+11"} {
		for _, positional := range []bool{false, true} {
			d, err := openTexts(t, nodes(id), "source,target\n2,3\n"+id+",2\n", table.Settings{Positional: positional})
			if err != nil || d.IDs[0] != want || d.Adj.NNZ() != 4 {
				t.Errorf("%s: %v, %+v", id, err, d)
			}
		}
	}
}
