package partition

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/test/expect"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

func text(s string) string { return "t" + base64.StdEncoding.EncodeToString([]byte(s)) }

// nodesInPlace is a table of two files, of which the second has the rows from 4.
var nodesInPlace = &stage.InPlace{
	Columns: []stage.Column{{Name: "left"}, {Name: "x"}, {Name: "id"}, {Name: "fold"}, {Name: "label"}, {Name: "y"}},
	Files:   []stage.File{{Mark: -7, Name: "a.parquet", Rows: 3}, {Mark: 8, Name: "b.parquet", Rows: 2}},
}

func nodeForm() stage.Sides {
	return stage.Sides{SideForm: FormOf(nodesInPlace,
		table.Settings{Nodes: "s3a://b/x", Split: "fold", SplitValues: map[string]string{"0": "train", "1": "test"},
			Drop: []string{"left"}, Positional: true})}
}

// collect takes what a stage writes.
type collect []stage.Record

func (c *collect) Emit(_ int, r stage.Record) error { *c = append(*c, r); return nil }

// reduced runs a stage that maps on payloads.
func reduced(t *testing.T, name string, sides stage.Sides, payloads ...string) ([]stage.Record, error) {
	t.Helper()
	f, err := Functions.New(stage.NewSpec(name, BlockOptions{Blocks: 1}, sides, 1))
	expect.OK(t, err)
	var in []stage.Record
	for _, p := range payloads {
		in = append(in, stage.Record{Payload: []byte(p)})
	}
	var out collect
	err = f.Reduce(0, stage.NewList(in), &out)
	return out, err
}

// Cells of all kinds become the row that a table in a file becomes, with its number over all files.
func TestNodesInPlace(t *testing.T) {
	out, err := reduced(t, StageNodes, nodeForm(),
		strings.Join([]string{"-7", "2", text("a\tü"), text("A"), "i0", "f0.1", "d-2.5E-3"}, "\t"),
		strings.Join([]string{"8", "0", "d17.0", "", "", "b1", "m2:-150"}, "\t"),
		strings.Join([]string{"8", "1", "i-9007199254740993", "b0", "i1", "i16777217", text(" 3 ")}, "\t"))
	if err != nil || len(out) != 1 {
		t.Fatal(out, err)
	}
	w := wire.NewReader(out[0].Payload)
	var got []Node
	for w.More() {
		got = append(got, readNode(w))
	}
	want := []Node{
		{Row: 3, ID: "a\tü", Label: "A", Role: Train, Width: 2, Dense: []float32{0.1, -0.0025}},
		{Row: 4, ID: "17", Role: NoRole, Width: 2, Dense: []float32{1, -1.5}},
		{Row: 5, ID: "-9007199254740993", Label: "false", Role: Test, Width: 2, Dense: []float32{16777216, 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodesInPlaceRefuse(t *testing.T) {
	row := func(mark, id, label, fold, x, y string) string {
		return strings.Join([]string{mark, "1", id, label, fold, x, y}, "\t")
	}
	for want, payload := range map[string]string{
		"b.parquet: row 2: column id: it is empty":                        row("8", "", text("A"), "i0", "f1", "f1"),
		"row 2: column id: it is empty":                                   row("8", "t", text("A"), "i0", "f1", "f1"),
		"b.parquet: row 2: column label: it is empty, but a train node":   row("8", "i1", "", "i0", "f1", "f1"),
		`b.parquet: row 2: column fold: "2" is none of the values`:        row("8", "i1", text("A"), "i2", "f1", "f1"),
		"a.parquet: row 2: column x: null is not a number; features by p": row("-7", "i1", text("A"), "i0", "", "f1"),
		"a.parquet: row 2: column y: it is NaN":                           row("-7", "i1", text("A"), "i0", "f1", "fNaN"),
		"column x: it is +Inf": row("-7", "i1", text("A"), "i0", "dInfinity",
			"f1"),
		"column x: it is 1e+39": row("-7", "i1", text("A"), "i0", "d1.0E39", "f1"),
		`column x: "tall" is not a number`: row("-7", "i1", text("A"), "i0", text("tall"),
			"f1"),
		`column id: "\xff" is not UTF-8`: row("-7", text("\xff"), text("A"), "i0", "f1",
			"f1"),
		"column x: a list of 2 numbers is not a number":         row("-7", "i1", text("A"), "i0", "F1,2", "f1"),
		"column x: a cell \"?1\" that is of no known kind":      row("-7", "i1", text("A"), "i0", "?1", "f1"),
		"column x: illegal base64":                              row("-7", "i1", text("A"), "i0", "t?", "f1"),
		"a row of 3 fields, want 7":                             "8\t1\ti1",
		"invalid syntax":                                        row("x", "i1", text("A"), "i0", "f1", "f1"),
		"a file of the table was changed while the run read it": row("9", "i1", text("A"), "i0", "f1", "f1"),
	} {
		_, err := reduced(t, StageNodes, nodeForm(), payload)
		expect.Error(t, err, want)
	}
}

func TestListsInPlace(t *testing.T) {
	for field, want := range map[string][]float64{"F0.1,-2": {float64(float32(0.1)), -2}, "D1.0E-3": {0.001},
		"I1,-16777217": {1, -16777217}, "F": nil} {
		if c, err := cellOf([]byte(field)); err != nil || !cmp.Equal(c.List, want) ||
			(c.Kind == table.Null) != (want == nil) {
			t.Errorf("%s: %+v, %v", field, c, err)
		}
	}
	for field, want := range map[string]string{"F1,!": "[1]: it is null", "DInfinity": "[0]: it is +Inf",
		"I1,x": "invalid syntax", "F,": "invalid syntax"} {
		expect.Error(t, expect.ErrorOf(cellOf([]byte(field))), want, "%s", field)
	}
}

func TestEdgesInPlace(t *testing.T) {
	edges := &stage.InPlace{Columns: []stage.Column{{Name: "to"}, {Name: "weight"}, {Name: "source"}},
		Files: []stage.File{{Mark: 1, Name: "e.parquet", Rows: 9}}}
	side := func(drop bool) stage.Sides {
		return stage.Sides{SideForm: FormOf(edges, table.Settings{Target: "to", Positional: true, DropWeights: drop})}
	}
	out, err := reduced(t, StageEdges, side(true), "1\t8\ti17\t"+text("b")+"\td0.5")
	if err != nil || len(out) != 1 {
		t.Fatal(out, err)
	}
	if diff := cmp.Diff(Edge{Row: 9, Source: "17", Target: "b"}, readEdge(wire.NewReader(out[0].Payload))); diff != "" {
		t.Error(diff)
	}
	for want, payload := range map[string]string{
		"e.parquet: row 9: column weight: it is 0.5, want 1": "1\t8\ti17\t" + text("b") + "\td0.5",
		"e.parquet: row 9: column to: it is empty":           "1\t8\ti17\t\td1",
		"e.parquet: row 9: column source: it is empty":       "1\t8\tt\t" + text("b") + "\td1",
	} {
		expect.Error(t, expect.ErrorOf(reduced(t, StageEdges, side(false), payload)), want)
	}
}

// The side of a table in place is of its files and of what its columns mean, so that the stage's name is, too.
func TestFormNamesTheTable(t *testing.T) {
	form := func(change func(*stage.InPlace, *table.Settings)) string {
		var nodes stage.InPlace
		content, err := json.Marshal(nodesInPlace)
		expect.OK(t, errors.Join(err, json.Unmarshal(content, &nodes)))
		o := table.Settings{Split: "fold", Positional: true}
		change(&nodes, &o)
		return stage.NewSpec(StageNodes, BlockOptions{Blocks: 1}, stage.Sides{SideForm: FormOf(&nodes, o)}, 1).Table(0)
	}
	same := form(func(*stage.InPlace, *table.Settings) {})
	for name, change := range map[string]func(*stage.InPlace, *table.Settings){
		"mark":   func(t *stage.InPlace, _ *table.Settings) { t.Files[1].Mark++ },
		"rows":   func(t *stage.InPlace, _ *table.Settings) { t.Files[0].Rows++ },
		"file":   func(t *stage.InPlace, _ *table.Settings) { t.Files = t.Files[:1] },
		"column": func(t *stage.InPlace, _ *table.Settings) { t.Columns[0].Name = "right" },
		"drop":   func(_ *stage.InPlace, o *table.Settings) { o.Drop = []string{"left"} },
		"split":  func(_ *stage.InPlace, o *table.Settings) { o.SplitValues = map[string]string{"0": "train"} },
	} {
		if form(change) == same {
			t.Errorf("%s does not change the name", name)
		}
	}
}
