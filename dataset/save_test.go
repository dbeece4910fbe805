package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/graphsaint"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/internal/durable"
	"rivulet/test/expect"
)

func TestSaveRoundTrip(t *testing.T) {
	for name, d := range map[string]*Dataset{
		"path":   pathSet(), // has unlabelled nodes, nodes without role and values other than 1
		"sparse": randomSet(t, 600, true),
		"dense":  randomSet(t, 600, false),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", name)
			expect.OK(t, d.Save(dir))
			back, err := openDir(dir)
			expect.OK(t, err)
			d.Name = name
			if diff := cmp.Diff(d, back); diff != "" {
				t.Errorf("(-saved +loaded):\n%s", diff)
			}
			if d.Fingerprint() != back.Fingerprint() {
				t.Error("the fingerprint changed on the way")
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 4 {
				t.Errorf("%d files, want 4 and no temporary ones: %v %v", len(files), files, err)
			}
			if err := d.Save(dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), adjFile) {
				t.Errorf("saving over a data set: error %v, want one that it exists", err)
			}
		})
	}
}

// Weights, types and directions of edges, and tasks other than classes, survive. A reader of before refuses the file
// that describes them, by the name of a field; so does this one a field that it does not know.
func TestSaveOfEachForm(t *testing.T) {
	related := func(by graph.Slots) func(*Dataset) {
		return func(d *Dataset) {
			lower, upper := *d.Adj, *d.Adj
			for _, half := range []*graph.CSR{&lower, &upper} {
				half.RowPtr, half.ColIdx = []int{0}, nil
				for i := range d.Nodes() {
					cols, _ := d.Adj.Row(i)
					for _, j := range cols {
						if by.Types == nil && int(j) > i || by.Types != nil && (half == &lower) == ((i+int(j))%4 < 2) {
							half.ColIdx = append(half.ColIdx, j)
						}
					}
					half.RowPtr = append(half.RowPtr, len(half.ColIdx))
				}
			}
			d.Relate(by, []*graph.CSR{&lower, &upper}[:max(1, len(by.Types))]...)
		}
	}
	for name, change := range map[string]func(d *Dataset){
		"weights": func(d *Dataset) {
			d.Adj.Val = make([]float32, d.Adj.NNZ())
			for i := range d.Nodes() {
				cols, vals := d.Adj.Row(i)
				for k, j := range cols {
					vals[k] = float32(i*int(j) + 1)
				}
			}
		},
		"directions":           related(graph.Slots{Directed: true, Arriving: graph.Outgoing}),
		"types":                related(graph.Slots{Types: []string{"a", "b"}}),
		"types and directions": related(graph.Slots{Types: []string{"a", "b"}, Directed: true}),
		"types, directions and weights": func(d *Dataset) {
			by, n := graph.Slots{Types: []string{"a", "b"}, Directed: true}, d.Nodes()
			related(by)(d)
			d.Adj.Val = slices.Repeat([]float32{1}, d.Adj.NNZ())
			var out []*graph.CSR
			for kind := range by.Types {
				of := d.Relations.Slot(2*kind, n)
				for k := range of.ColIdx {
					of.Val = append(of.Val, float32(k%7)+0.5)
				}
				out = append(out, of)
			}
			d.Relate(by, out...)
		},
		"types, and weights that are 1": func(d *Dataset) {
			d.Adj.Val = slices.Repeat([]float32{1}, d.Adj.NNZ())
			related(graph.Slots{Types: []string{"a", "b"}})(d)
		},
		"labels": func(d *Dataset) {
			sets := make([][]string, d.Nodes())
			for i, y := range d.Labels {
				if y >= 0 {
					sets[i] = [][]string{{}, {"red"}, {"red", "blue"}}[i%3]
				}
			}
			d.keepLabels(sets, []string{"blue", "red"})
		},
		"numbers": func(d *Dataset) {
			d.Task, d.Classes, d.Targets = target.Number, []string{"price", "age"}, graph.NewDense(d.Nodes(), 2)
			for i, y := range d.Labels {
				if y >= 0 {
					d.Labels[i] = 0
					copy(d.Targets.Row(i), []float32{float32(i) / 3, -float32(i * i)})
				}
			}
		},
		"links": func(d *Dataset) {
			d.Candidates = make([]bool, d.Nodes())
			d.Candidates[2] = true
			expect.OK(t, d.AsLinks())
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := randomSet(t, 600, true), filepath.Join(t.TempDir(), "new")
			plain := d.Fingerprint()
			change(d)
			expect.OK(t, d.Save(dir))
			back, err := openDir(dir)
			expect.OK(t, err)
			d.Name, back.Notes, back.Suspects = "new", d.Notes, d.Suspects
			if diff := cmp.Diff(d, back); diff != "" || d.Fingerprint() != back.Fingerprint() || d.Fingerprint() == plain {
				t.Errorf("(-saved +loaded):\n%s", diff)
			}
		})
	}
	for text, want := range map[string]string{
		`{"directed": true}`:                   relationsFile,
		`{"types": ["a", "a"]}`:                "merged.json: type 1 of edges",
		`{"task": "number"}`:                   targetsFile,
		`{"task": "links", "candidates": [9]}`: "candidate 9 of 6 nodes",
		`{"task": "dreams"}`:                   `task is "dreams", which this build does not know`,
	} {
		files := pathFiles()
		files[mergedFile] = []byte(text)
		expect.Error(t, expect.ErrorOf(openDir(writeFiles(t, files))), want, "%s", text)
	}
}

func TestSaveRefusesWhatItWouldLose(t *testing.T) {
	d := pathSet()
	d.BagOfWords = false
	dir := filepath.Join(t.TempDir(), "new")
	expect.Error(t, d.Save(dir), "bag of words (false) and sparse (true)")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused data set left a directory behind")
	}
	for want, change := range map[string]func(*Dataset){
		`node_ids.json: [1] is "\xff"`:            func(d *Dataset) { d.IDs[1] = "\xff" },
		`class_names.json: [1] is "a", as is [0]`: func(d *Dataset) { d.Classes = []string{"a", "a"} },
	} {
		d := pathSet()
		change(d)
		expect.Error(t, d.Save(filepath.Join(t.TempDir(), "new")), want)
	}
}

// Ids and names of classes survive if they are not the indices.
func TestSaveKeepsNames(t *testing.T) {
	d := pathSet()
	d.IDs = []string{"a", "0", "é <&> \"x\"", "3", " ", "b\n"}
	d.Classes = []string{"cats", "1"}
	dir := filepath.Join(t.TempDir(), "path")
	expect.OK(t, d.Save(dir))
	back, err := openDir(dir)
	expect.OK(t, err)
	if diff := cmp.Diff(d, back); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

func TestLoadNamesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`["a","b"]`:                          "node_ids.json: 2 names, want 6",
		`["a","b","c","d","e","f","g"]`:      "node_ids.json: more than 6 names",
		`["a","b","c","d","e","a"]`:          `node_ids.json: [5] is "a", as is [0]`,
		`["a","b","c","d","e",""]`:           `node_ids.json: [5] is "", want a name`,
		`["a","b","c","d","e",7]`:            "node_ids.json: [5] is 7, want a string",
		`["a","b","c","d","e",["f"]]`:        "node_ids.json: [5] is [, want a string",
		`{"a":1}`:                            "node_ids.json: found { where",
		`["a","b"`:                           "node_ids.json: the JSON text ends too early",
		`["a","b","c","d","e","f"] ["more"]`: "node_ids.json: content behind",
	} {
		files := pathFiles()
		files["node_ids.json"] = []byte(text)
		expect.Error(t, expect.ErrorOf(openDir(writeFiles(t, files))), want, "%s", text)
	}
}

// Open ends of arrivals survive, are part of the fingerprint, and are checked when they are read.
func TestSaveKeepsWhatIsOpen(t *testing.T) {
	d := pathSet()
	before := d.Fingerprint()
	d.Merged = graphsaint.Ends{Waiting: []graphsaint.Waiting{{Node: 5, ID: "é <later>"}, {Node: 0, ID: "other"}},
		Labelled: d.Train[:1]}
	if d.Fingerprint() == before {
		t.Error("the fingerprint does not depend on what is open")
	}
	dir := filepath.Join(t.TempDir(), "path")
	expect.OK(t, d.Save(dir))
	back, err := openDir(dir)
	expect.OK(t, err)
	if diff := cmp.Diff(d.Merged, back.Merged); diff != "" || back.Fingerprint() != d.Fingerprint() {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"waiting": [{"node": 6, "id": "x"}]}`: "waiting[0].node is 6, want 0 to 5",
		`{"waiting": [{"node": 0, "id": ""}]}`:  `waiting[0].id is ""`,
		`{"waiting": [{"node": 0, "id": "1"}]}`: `waiting[0].id is "1", a node of the data`,
		`{"labelled": [99]}`:                    "labelled[0] is 99, no training node",
		`{"labelled": [], "other": 1}`:          "unknown field",
		`{"labelled": []} {"labelled": []}`:     "content behind the JSON value",
		`{"waiting": [{"node": 0, "id": "late"`: "unexpected EOF",
	} {
		files := pathFiles()
		files[mergedFile] = []byte(text)
		if _, err := openDir(writeFiles(t, files)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), mergedFile) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// Every file is synced before it gets its name, and the directory last: a program that commits offsets after Save may
// lose nothing by a crash of the machine.
func TestSaveIsDurable(t *testing.T) {
	var did []string
	disk := durable.Disk{Fault: func(operation, path string) error {
		did = append(did, operation+" "+filepath.Base(path))
		return nil
	}}
	dir := filepath.Join(t.TempDir(), "path")
	expect.OK(t, pathSet().SaveOn(disk, dir))
	synced := ""
	for _, operation := range did {
		name, isSync := strings.CutPrefix(operation, "sync ")
		if isSync {
			synced = name
		}
		if name, isRename := strings.CutPrefix(operation, "rename "); isRename && !strings.HasPrefix(synced, name+".") {
			t.Errorf("%s got its name before it was synced", name)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || strings.Count(strings.Join(did, "\n"), "rename ") != len(files) ||
		synced != "path" {
		t.Errorf("the directory is not synced last (%v):\n%s", err, strings.Join(did, "\n"))
	}
}
