package merge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/test/expect"
)

// The known answer: nodes and edges apart, each edge under both of its ends, give the same graph as arrivals with all
// their edges, byte for byte.
func TestEdgesApartAreWholeArrivals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "x", "y", "z", "w", "v", "nobody", "none"})
		names := rapid.Permutation([]string{"x", "y", "z", "w", "v"}).Draw(rt, "names")
		var whole, apart []event.Arrival
		for _, id := range names[:rapid.IntRange(1, len(names)).Draw(rt, "arrivals")] {
			edges := rapid.SliceOfN(ids, 0, 5).Draw(rt, "edges")
			whole = append(whole, arrived(id, 1, 2, edges...))
			before := rapid.Bool().Draw(rt, "its edges come before it")
			if !before {
				apart = append(apart, arrived(id, 1, 2))
			}
			for _, other := range edges {
				apart = append(apart, linked(id, other), linked(other, id))
			}
			if before {
				apart = append(apart, arrived(id, 1, 2))
			}
		}
		labels := []event.Label{{ID: "x", Class: 1}}
		d := given()
		var prints []string
		for _, stream := range [][]event.Arrival{whole, apart} {
			m := inMemory(d)
			feed(m, stream, labels)
			inMemory, _ := grownData(rt, m)
			prints = append(prints, inMemory.Fingerprint())
		}
		if prints[0] != prints[1] {
			rt.Errorf("whole arrivals give %q, edges apart %q", prints[0], prints[1])
		}
	})
}

// Edges of their own lead from old nodes to old ones, to new ones, and wait for both ends; forgotten ids have none.
func TestEdgesOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		rounds  [][]event.Arrival
		edges   map[string]bool // beside a-b, b-c and c-d
		waiting []string
		report  Report // of the last round
	}{
		"between old nodes": {rounds: [][]event.Arrival{{linked("a", "c"), linked("c", "a"), linked("a", "b"),
			linked("d", "d")}}, edges: map[string]bool{"a-c": true},
			report: Report{EdgeRecords: 4, Edges: 1, OldEdges: 1, DroppedEdges: 1}},
		"that the graph has, change nothing": {rounds: [][]event.Arrival{{linked("b", "a")}},
			report: Report{EdgeRecords: 1}},
		"to a new node": {rounds: [][]event.Arrival{{linked("x", "a"), arrived("x", 1, 1, "b")}},
			edges: map[string]bool{"a-x": true, "b-x": true}, report: Report{Arrivals: 1, Joined: 1, EdgeRecords: 1, Edges: 2}},
		"wait for a node": {rounds: [][]event.Arrival{{linked("a", "x"), linked("x", "a")}}, waiting: []string{"a-x"},
			report: Report{EdgeRecords: 2, UnknownEdges: 2, WaitingEdges: 1, NewWaiting: 1}},
		"wait for two": {rounds: [][]event.Arrival{{linked("y", "x")}, {arrived("y", 1, 1)}}, waiting: []string{"y-x"},
			report: Report{Arrivals: 1, Joined: 1, WaitingEdges: 1}},
		"find both": {rounds: [][]event.Arrival{{linked("y", "x")}, {arrived("y", 1, 1)}, {arrived("x", 1, 1)}},
			edges: map[string]bool{"x-y": true}, report: Report{Arrivals: 1, Joined: 1, Edges: 1, WaitedEdges: 1}},
		"of forgotten ids": {rounds: [][]event.Arrival{{linked("b", "d"), linked("x", "c"), arrived("x", 1, 1),
			forgotten("x"),
			forgotten("b"), linked("b", "c"), linked("x", "c")}},
			report: Report{Arrivals: 1, EdgeRecords: 4, Forgets: 2, Forgotten: 2, Removed: 1, RemovedEdges: 6}},
		"of an id that comes back": {rounds: [][]event.Arrival{{linked("x", "b"), arrived("x", 1, 1), forgotten("x"),
			linked("x", "c"), arrived("x", 2, 2)}}, edges: map[string]bool{"c-x": true},
			report: Report{Arrivals: 2, Joined: 1, EdgeRecords: 2, Forgets: 1, Forgotten: 1, RemovedEdges: 1, Edges: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			base := given()
			var report Report
			for _, round := range c.rounds {
				base, report = grown(t, base, round, nil, 10)
			}
			want := map[string]bool{"c-d": true}
			if report.Removed == 0 {
				want["a-b"], want["b-c"] = true, true
			}
			for e := range c.edges {
				want[e] = true
			}
			report.Refused, report.UnknownClass, report.LabelRefused = nil, nil, nil
			expect.Same(t, c.report, report, "report")
			if report.Changed() == (name == "that the graph has, change nothing") {
				t.Errorf("changed: %v", report.Changed())
			}
			got := contentOf(base)
			expect.Same(t, want, got.Edges, "edges")
			if !slices.Equal(c.waiting, got.Waiting) {
				t.Errorf("%q wait, want %q", got.Waiting, c.waiting)
			}
		})
	}
}

// With UpdateFeatures the last features of an id count, of a node of T, a held-out one, an arrival and one of a round
// before; the class and the edges stay.
func TestUpdatedFeatures(t *testing.T) {
	update := func(m *Merger) { m.UpdateFeatures = true }
	base, _ := grown(t, given(), []event.Arrival{arrived("y", 1, 1, "a")}, nil, 10)
	stream := []event.Arrival{arrived("x", 1, 1, "a"), arrived("a", 20, 21, "c"), arrived("c", 30, 31),
		arrived("x", 40, 41, "b"), arrived("y", 50, 51), arrived("y", 60, 61), arrived("z", 1, 1), forgotten("z"),
		arrived("z", 70, 71)}
	kept, report := grown(t, base, stream, nil, 10)
	if report.Updated != 0 {
		t.Errorf("%+v", report)
	}
	got, report := grown(t, base, stream, nil, 10, update)
	if report.Updated != 4 || !report.Changed() {
		t.Errorf("%+v", report)
	}
	want := contentOf(kept)
	want.Nodes["a"], want.Nodes["c"] = `train "zebra" [20 21]`, `val "ant" [30 31]`
	want.Nodes["x"], want.Nodes["y"] = `unlabelled "" [40 41]`, `unlabelled "" [60 61]`
	expect.Same(t, want, contentOf(got), "the merged graph")
}
