package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/graph"
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
		if err != nil || plain.Fingerprint() == d.Fingerprint() || (plain.By != nil) != directed {
			t.Errorf("without the switch: %v", err)
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
	_, err := openTyped(t, "source,target,kind,weight\na,b,buys,2\n", table.Settings{})
	require(err, "weights", "--edge-type kind", "--drop-weights")
	_, err = openTyped(t, "source,target,kind\na,b,\n", table.Settings{})
	require(err, "column kind", "edges.csv: line 2")
	_, err = openTyped(t, "source,target\na,b\n", table.Settings{})
	require(err, "kind", "type of an edge (--edge-type)")
	many := "source,target,kind\n"
	for k := range graph.MaxRelations + 1 {
		many += fmt.Sprintf("a,b,kind%d\n", k)
	}
	_, err = openTyped(t, many, table.Settings{})
	require(err, "33 types", "at most 32")
	_, err = openTyped(t, strings.Join(strings.SplitAfter(many, "\n")[:18], ""), table.Settings{Directed: true})
	require(err, "17 types and 34 relations", "at most 32")
	_, err = Open(writeFiles(t, pathFiles()), OpenOptions{Tables: table.Settings{EdgeType: "kind"}})
	require(err, "edge types", "--edge-type kind")
	d, err := openTyped(t, typedEdges, table.Settings{})
	expect.OK(t, err)
	require(d.SaveCSV(t.TempDir()+"/saved"), "types")
	require(d.RequirePlain(target.GrowthStudy), "types", "growth", "--edge-type")
	faults := &table.Faults{}
	if _, err := Open(writeTree(t, map[string][]byte{"nodes.csv": []byte(weighedNodes),
		"edges.csv": []byte("source,target,kind\na,b,\na,c,buys\n")}),
		OpenOptions{Tables: table.Settings{EdgeType: "kind"}, Faults: faults}); err != nil ||
		faults.Counts[table.Untyped] == 0 {
		t.Errorf("faults %v, error %v", faults.Counts, err)
	}
}
