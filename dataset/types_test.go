package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

const typedEdges = "source,target,kind\na,b,buys\nb,a,buys\na,b,views\nc,a,views\nd,d,views\nc,b,buys\n"

func openTyped(t *testing.T, edges string, s table.Settings) (*Dataset, error) {
	t.Helper()
	s.EdgeType = "kind"
	dir := writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes), "edges.csv": []byte(edges)})
	return Open(dir, OpenOptions{Tables: s})
}

// edgesOf writes the edges of a node: to>from, and the types of both.
func edgesOf(d *Dataset, id string) string {
	e := d.Edges(int32(slices.Index(d.IDs, id)))
	return fmt.Sprint(e.To, e.From, e.Types)
}

// Edges of tables have the types of a column. Without directions each goes both ways within its type; with directions
// each type has two relations. Renumbering keeps them.
func TestTypesOfTables(t *testing.T) {
	for directed, want := range map[bool][2]string{false: {"[b b c] [] [buys views views]", "[b a] [] [buys views]"},
		true: {"[b b] [b c] [buys views buys views]", "[b a] [] [buys views]"}} {
		d, err := openTyped(t, typedEdges, table.Settings{Directed: directed})
		expect.OK(t, err)
		relations := 2
		if directed {
			relations = 4
		}
		if got := strings.Join(d.By.Types, " "); got != "buys views" || d.By.Len() != relations ||
			d.Relations.Cols != relations*d.Nodes() {
			t.Errorf("types %q in %d relations", got, d.By.Len())
		}
		for _, d := range []*Dataset{d, d.OriginalFirst()} {
			if got := [2]string{edgesOf(d, "a"), edgesOf(d, "c")}; got[0] != want[0] || len(got[1]) != len(want[1]) {
				t.Errorf("directed %t: edges %q, want %q", directed, got, want)
			}
		}
		number := "buys (2), views (2)"
		if directed {
			number = "each in two directions: buys (3), views (2)"
		}
		if notes := strings.Join(d.Notes, " "); !strings.Contains(notes, number) {
			t.Error(notes)
		}
		plain, err := Open(writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes),
			"edges.csv": []byte(typedEdges)}), OpenOptions{Tables: table.Settings{Directed: directed}})
		if err != nil || plain.Fingerprint() == d.Fingerprint() || (plain.By.Relational()) != directed {
			t.Errorf("without the switch: %v", err)
		}
	}
}

// Weights stand beside types and directions: those of an edge of a type that is given again are added up, and of both
// ends the larger counts where edges have no directions. Each node brings the weights of its edges in their order, and
// models read shares of each slot.
func TestWeightsBesideTypes(t *testing.T) {
	const edges = "source,target,kind,weight\na,b,buys,2\na,b,buys,3\nb,a,buys,4\na,b,views,1\nc,a,views,7\nd,a,views,1\n"
	for directed, want := range map[bool]string{
		false: "[b b c d] [] [buys views views views] [5 1 7 1]",
		true:  "[b b] [b c d] [buys views buys views views] [5 1 4 7 1]",
	} {
		d, err := openTyped(t, edges, table.Settings{Directed: directed})
		expect.OK(t, err)
		for _, d := range []*Dataset{d, d.OriginalFirst()} {
			e := d.Edges(int32(slices.Index(d.IDs, "a")))
			type edge struct {
				id, kind string
				weight   float32
			}
			var got []edge
			for k, id := range slices.Concat(e.To, e.From) {
				got = append(got, edge{id, e.Types[k], e.Weights[k]})
			}
			for _, part := range [][]edge{got[:len(e.To)], got[len(e.To):]} { // in any order within a type
				slices.SortFunc(part, func(a, b edge) int { return strings.Compare(a.kind+a.id, b.kind+b.id) })
			}
			var kinds []string
			var ids [2][]string
			var weights []float32
			for k, of := range got {
				side := 0
				if k >= len(e.To) {
					side = 1
				}
				ids[side], kinds, weights = append(ids[side], of.id), append(kinds, of.kind), append(weights, of.weight)
			}
			if text := fmt.Sprint(ids[0], ids[1], kinds, weights); text != want {
				t.Errorf("directed %t: edges %s, want %s", directed, text, want)
			}
		}
		slots, o := d.Slots(), d.Original() // a and d
		if !slots.Weighted || o.Edges.Val == nil {
			t.Errorf("slots %+v", slots)
		}
		// c arrives with an edge of weight 7 to a, the only one of its slot.
		b := d.Attach(o, []int32{int32(slices.Index(d.IDs, "c"))}, attach.Node)
		if _, vals := b.R.Row(0); len(vals) != 1 || vals[0] != 1 || b.Known[0] != 1 {
			t.Errorf("c reads %v of %d neighbours", vals, b.Known[0])
		}
		dropped, err := openTyped(t, edges, table.Settings{Directed: directed, DropWeights: true})
		if err != nil || dropped.Slots().Weighted || dropped.Relations.Val != nil ||
			dropped.Fingerprint() == d.Fingerprint() {
			t.Errorf("without weights: %v", err)
		}
		heavier, err := openTyped(t, strings.Replace(edges, "c,a,views,7", "c,a,views,8", 1), table.Settings{Directed: directed})
		if err != nil || heavier.Fingerprint() == d.Fingerprint() {
			t.Errorf("another weight has the same fingerprint (%v)", err)
		}
	}
	// A share is of the weights of its slot.
	d, err := openTyped(t, "source,target,kind,weight\nb,a,buys,3\nb,d,buys,1\nb,a,views,5\n", table.Settings{})
	expect.OK(t, err)
	b := d.Attach(d.Original(), []int32{int32(slices.Index(d.IDs, "b"))}, attach.Node)
	if _, vals := b.R.Row(0); !slices.Equal(vals, []float32{0.75, 0.25, 1}) || b.Known[0] != 2 {
		t.Errorf("b reads %v of %d neighbours", vals, b.Known[0])
	}
}

// Edges have weights where those of a direction or a type differ, also if the larger of both directions, or the sum of
// all types, is 1 everywhere. Where the table has a column of ones they have none, however often an edge is there.
func TestWeightsThatAreOneTogether(t *testing.T) {
	for edges, want := range map[string]string{
		"a,b,buys,1\nb,a,buys,0.25\n":                  "[b] [b] [1 0.25] true",
		"a,b,buys,0.25\na,b,views,0.75\n":              "[b b] [] [0.25 0.75] true",
		"a,b,buys,1\na,b,buys,1\na,b,views,1\n":        "[b b] [] [] false",
		"a,b,buys,0.5\na,b,buys,0.5\nc,d,buys,1\n":     "[b] [] [] false",
		"a,b,buys,0.5\na,b,buys,0.5\nb,a,views,0.25\n": "[b] [b] [1 0.25] true",
	} {
		d, err := openTyped(t, "source,target,kind,weight\n"+edges, table.Settings{Directed: true})
		expect.OK(t, err)
		e := d.Edges(int32(slices.Index(d.IDs, "a")))
		if got := fmt.Sprint(e.To, e.From, e.Weights, d.Slots().Weighted); got != want ||
			(d.Relations.Val != nil) != (d.Adj.Val != nil) {
			t.Errorf("%q: %s, want %s", edges, got, want)
		}
	}
}

// What cannot keep types refuses them, and so do too many types and rows without one.
func TestTypesRefused(t *testing.T) {
	require := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			expect.Error(t, err, word)
		}
	}
	_, err := openTyped(t, "source,target,kind\na,b,\n", table.Settings{})
	require(err, "column kind", "edges.csv: line 2")
	_, err = openTyped(t, "source,target\na,b\n", table.Settings{})
	require(err, "kind", "type of an edge (--edge-type)")
	many := "source,target,kind\n"
	for k := range graph.MaxSlots + 1 {
		many += fmt.Sprintf("a,b,kind%d\n", k)
	}
	_, err = openTyped(t, many, table.Settings{})
	require(err, "33 types", "at most 32")
	_, err = openTyped(t, strings.Join(strings.SplitAfter(many, "\n")[:18], ""), table.Settings{Directed: true})
	require(err, "17 types and 34 slots", "at most 32")
	_, err = Open(writeFiles(t, pathFiles()), OpenOptions{Tables: table.Settings{EdgeType: "kind"}})
	require(err, "edge types", "--edge-type kind")
	d, err := openTyped(t, typedEdges, table.Settings{})
	expect.OK(t, err)
	require(d.SaveCSV(t.TempDir()+"/saved"), "types")
	require(target.GrowthStudy.Check(d.Facts()), "types", "growth", "--edge-type")
	faults := &table.Faults{}
	if _, err := Open(writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes),
		"edges.csv": []byte("source,target,kind\na,b,\na,c,buys\n")}),
		OpenOptions{Tables: table.Settings{EdgeType: "kind"}, Faults: faults}); err != nil ||
		faults.Counts[table.Untyped] == 0 {
		t.Errorf("faults %v, error %v", faults.Counts, err)
	}
}
