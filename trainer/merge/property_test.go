package merge

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
)

// formed returns path with edges of a form, one of [forms].
func formed(form string) *dataset.Dataset {
	d := path()
	out := &graph.CSR{Rows: 6, Cols: 6, RowPtr: []int{0, 1, 2, 3, 4, 5, 5}, ColIdx: []int32{1, 2, 3, 4, 5}}
	none := &graph.CSR{Rows: 6, Cols: 6, RowPtr: make([]int, 7)}
	if has(form, "weights") {
		d.Adj.Val, out.Val = []float32{2, 2, 3, 3, 4, 4, 0.5, 0.5, 1, 1}, []float32{2, 3, 4, 0.5, 1}
	}
	by := graph.Slots{Directed: has(form, "directions")}
	if has(form, "types") {
		by.Types = []string{"buys", "views"}
	}
	switch {
	case by.Directed && by.Types != nil:
		d.Relate(by, out, out.Transpose())
	case by.Directed:
		d.Relate(by, out)
	case by.Types != nil:
		d.Relate(by, d.Adj, none)
	}
	return d
}

var forms = []string{"weights", "types", "directions", "types and directions", "types and weights",
	"directions and weights", "types, directions and weights"}

func has(form, what string) bool { return strings.Contains(form, what) }

// streamOf draws arrivals and edges of their own with weights, types and directions.
func streamOf(t *rapid.T, form string) (arrivals []event.Arrival) {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "x", "y", "z", "w", "v"})
	kinds := rapid.SampledFrom([]string{"buys", "views", "buys", "views", "lends"}) // the last is none of the graph's
	for n := range rapid.IntRange(0, 12).Draw(t, "records") {
		switch rapid.IntRange(1, 5).Draw(t, "kind of record") {
		case 1, 2:
			e := linked(ids.Draw(t, "source"), ids.Draw(t, "target"))
			e.Weights = []float32{float32(rapid.IntRange(1, 8).Draw(t, "weight")) / 2}
			e.Types = []string{kinds.Draw(t, "type")}
			arrivals = append(arrivals, e)
		default:
			a := arrived(ids.Draw(t, "id"), float32(n), 2, rapid.SliceOfN(ids, 0, 6).Draw(t, "edges")...)
			if form != "weights" {
				a.Incoming = rapid.SliceOfN(ids, 0, 3).Draw(t, "edges to it")
			}
			for range len(a.Edges) + len(a.Incoming) {
				if has(form, "weights") {
					a.Weights = append(a.Weights, float32(rapid.IntRange(1, 8).Draw(t, "weight"))/2)
				}
				if form != "weights" {
					a.Types = append(a.Types, kinds.Draw(t, "type"))
				}
			}
			a.JoinIncoming()
			arrivals = append(arrivals, a)
		}
	}
	return arrivals
}

// For edges with weights, types and directions, too, it does not matter where the stream is cut into merges, each of
// which saves the graph and reads it again; and merging the records of their own again changes nothing.
func TestPartsOfEachFormAreTheWhole(t *testing.T) {
	dir, round := t.TempDir(), 0
	reopened := func(t *rapid.T, d *dataset.Dataset) *dataset.Dataset {
		round++
		at := filepath.Join(dir, fmt.Sprint(round), "path")
		if err := d.Save(at); err != nil {
			t.Fatal(err)
		}
		back, err := dataset.Open(at, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		back.Notes = d.Notes
		if diff := cmp.Diff(d, back); diff != "" {
			t.Fatalf("(-merged +loaded):\n%s", diff)
		}
		return back
	}
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				arrivals := streamOf(t, form)
				whole := inMemory(formed(form))
				feed(whole, arrivals, nil)
				want, _ := grownData(t, whole)
				got, from := formed(form), 0
				for parts := rapid.IntRange(1, 3).Draw(t, "parts"); parts > 0; parts-- {
					to := len(arrivals)
					if parts > 1 {
						to = rapid.IntRange(from, to).Draw(t, "records of a part")
					}
					m := inMemory(got)
					feed(m, arrivals[from:to], nil)
					got, _ = grownData(t, m)
					got, from = reopened(t, got), to
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("at once and in parts (-at once +in parts):\n%s", diff)
				}
				again := inMemory(got)
				feed(again, slices.DeleteFunc(arrivals, func(a event.Arrival) bool { return !a.Features.Absent }), nil)
				if _, r := grownData(t, again); r.Edges+r.Heavier+r.NewWaiting > 0 {
					t.Fatalf("edges of their own merged again: %+v", r)
				}
			})
		})
	}
}

// An edge that comes under both of its ends, in two rounds, or that the graph has, has its largest weight; entries of
// one list for one neighbour are added up, as rows of a table are.
func TestLargestWeightStays(t *testing.T) {
	weighed := func(id string, weights []float32, edges ...string) event.Arrival {
		a := arrived(id, 1, 1, edges...)
		a.Weights = weights
		return a
	}
	edge := func(source, target string, w float32) event.Arrival {
		e := linked(source, target)
		e.Weights = []float32{w}
		return e
	}
	for name, c := range map[string]struct {
		rounds  [][]event.Arrival
		want    map[string]float32
		heavier int // of the last round
	}{
		"under both ends": {[][]event.Arrival{{weighed("x", []float32{2}, "y"), weighed("y", []float32{5}, "x")}},
			map[string]float32{"xy": 5}, 0},
		"in two rounds": {[][]event.Arrival{{weighed("x", []float32{2}, "y")}, {weighed("y", []float32{5}, "x")}},
			map[string]float32{"xy": 5}, 0},
		"the smaller one later": {[][]event.Arrival{{weighed("x", []float32{5}, "y")}, {weighed("y", []float32{2}, "x")}},
			map[string]float32{"xy": 5}, 0},
		"waiting, and heavier": {[][]event.Arrival{{weighed("x", []float32{2}, "y")}, {edge("y", "x", 7)},
			{weighed("y", nil)}}, map[string]float32{"xy": 7}, 0},
		"of the graph, heavier": {[][]event.Arrival{{edge("b", "a", 3)}}, map[string]float32{"ab": 3}, 1},
		"of the graph, lighter": {[][]event.Arrival{{edge("b", "a", 1)}}, map[string]float32{"ab": 2}, 0},
		"one list, added up": {[][]event.Arrival{{weighed("x", []float32{1, 2, 4}, "a", "b", "a")}},
			map[string]float32{"ax": 5, "bx": 2}, 0},
		"without weights, each 1":  {[][]event.Arrival{{arrived("x", 1, 1, "a")}}, map[string]float32{"ax": 1}, 0},
		"of its own, between both": {[][]event.Arrival{{edge("a", "c", 0.25)}}, map[string]float32{"ac": 0.25}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := formed("weights")
			var report Report
			for _, round := range c.rounds {
				m := inMemory(d)
				feed(m, round, nil)
				d, report = grownData(t, m)
			}
			for ends, want := range c.want {
				if got := weightOf(d, ends[:1], ends[1:]); got != want || got != weightOf(d, ends[1:], ends[:1]) {
					t.Errorf("%s weighs %v, want %v", ends, got, want)
				}
			}
			if report.Heavier != c.heavier || c.heavier > 0 && !report.Changed() {
				t.Errorf("%+v", report)
			}
		})
	}
}

// weightOf returns the weight of an edge; 0: there is none.
func weightOf(d *dataset.Dataset, a, b string) float32 {
	for i, id := range d.IDs {
		cols, vals := d.Adj.Row(i)
		for k, j := range cols {
			if id == a && d.IDs[j] == b {
				return vals[k]
			}
		}
	}
	return 0
}
