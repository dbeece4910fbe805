package merge

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/dataset/graphsaint"
	"rivulet/event"
	"rivulet/test/expect"
)

// A forgotten id leaves the graph with its edges, in any role and as an arrival; a later arrival with the id is another
// node, to which edges lead that came after the forgetting.
func TestForget(t *testing.T) {
	stream := []event.Arrival{
		arrived("x", 1, 1, "a", "b"), arrived("y", 2, 2, "x", "a", "b"), arrived("z", 3, 3, "gone", "b"),
		forgotten("x"), forgotten("a"), forgotten("e"), forgotten("gone"), forgotten("nobody"),
		arrived("w", 4, 4, "x", "gone", "b"), arrived("a", 9, 9, "b", "w"), arrived("v", 5, 5, "a"),
	}
	want := content{Nodes: map[string]string{"a": `unlabelled "" [9 9]`, "b": `train "zebra" [3 4]`,
		"c": `val "ant" [5 6]`, "d": `test "zebra" [7 8]`, "f": `none "ant" [11 12]`, "v": `unlabelled "" [5 5]`,
		"w": `unlabelled "" [4 4]`,
		"y": `unlabelled "" [2 2]`, "z": `unlabelled "" [3 3]`},
		Edges: map[string]bool{"a-b": true, "a-v": true, "a-w": true, "b-c": true, "b-w": true, "c-d": true, "b-y": true,
			"b-z": true},
		Labelled: []string{"b"}, Classes: []string{"zebra", "ant"}}
	labels := []event.Label{classed("x", "ant"), classed("b", "zebra")}
	m := New(given())
	feed(m, stream, labels)
	data, report := grownData(t, m)
	expect.Same(t, want, contentOf(data), "grown")
	if report.Forgets != 5 || report.Forgotten != 3 || report.Removed != 2 || report.LabelUnknown != 1 {
		t.Errorf("report %+v", report)
	}
	scratch := t.TempDir()
	held := inMemory(path())
	feed(held, []event.Arrival{forgotten("c"), forgotten("d")}, nil)
	if d, report := grownData(t, held); len(d.Validation)+len(d.Test) > 0 || d.Adj.NNZ() != 4 || report.RemovedEdges != 3 {
		t.Errorf("%v and %v are held out, %d entries of edges, report %+v", d.Validation, d.Test, d.Adj.NNZ(), report)
	}
	// A forgetting alone is a change, and no file has the id afterwards.
	data.Merged.Waiting = append(data.Merged.Waiting, graphsaint.Waiting{Node: 0, ID: "zz-waits"})
	m = inMemory(data)
	feed(m, []event.Arrival{forgotten("zz-waits"), forgotten("y")}, nil)
	less, report := grownData(t, m)
	if !report.Changed() || report.RemovedEdges != 2 {
		t.Errorf("report %+v", report)
	}
	expect.OK(t, less.Save(filepath.Join(scratch, "data")))
	for _, id := range []string{"zz-waits", `"y"`, ",y"} {
		nothingOf(t, filepath.Join(scratch, "data"), id)
	}
}

// nothingOf fails if a file below a directory has a text.
func nothingOf(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			t.Errorf("%s has %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files below %s: %v", files, dir, err)
	}
}
