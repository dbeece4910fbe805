package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/dataset/graphsaint"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/test/expect"
)

// path returns a–b–c–d–e–f: a trains, b is unlabelled, c validates, d tests, e and f are in no role.
func path() *dataset.Dataset {
	return &dataset.Dataset{Name: "path", IDs: []string{"a", "b", "c", "d", "e", "f"},
		Adj: &graph.CSR{Rows: 6, Cols: 6, RowPtr: []int{0, 1, 3, 5, 7, 9, 10},
			ColIdx: []int32{1, 0, 2, 1, 3, 2, 4, 3, 5, 4}},
		X:      graph.Features{Dense: &graph.Dense{Rows: 6, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}},
		Labels: []int32{1, -1, 0, 1, 0, 0}, Classes: []string{"zebra", "ant"},
		Train: []int32{0}, Unlabelled: []int32{1}, Validation: []int32{2}, Test: []int32{3}}
}

func classed(id, class string) event.Label {
	return event.Label{ID: id, Class: event.ByName, ClassName: class}
}

// inMemory returns a merger for a data set.
func inMemory(d *dataset.Dataset) *Merger { return New(d) }

// grownData returns the data set with what the merger has taken.
func grownData(t interface{ Fatal(...any) }, m *Merger) (*dataset.Dataset, Report) {
	g, report, err := m.Grow(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	return g, report
}

// feed gives arrivals and labels to a merger. An arrival without features stands for an id that is to be forgotten, or
// for an edge of its own ([linked]).
func feed(m *Merger, arrivals []event.Arrival, labels []event.Label) {
	for k := range arrivals {
		if arrivals[k].Features.Absent {
			if of := arrivals[k].Edges; of != nil {
				m.Edge(edgeOf(&arrivals[k]))
			} else {
				m.Forget(arrivals[k].ID)
			}
			continue
		}
		a := arrivals[k]
		if by := m.Relations(); by.Relational() { // as a decoder reads them
			a.Relate(func(kind string, directions uint32) uint32 { return by.Relations(by.Type(kind), directions) })
		}
		_ = m.Arrival(&a) // counted
	}
	for k := range labels {
		m.Label(&labels[k])
	}
}

// edgeOf returns the edge of its own for which an arrival stands.
func edgeOf(a *event.Arrival) *event.Edge {
	e := &event.Edge{Source: a.ID, Target: a.Edges[0], Weight: 1}
	if a.Weights != nil {
		e.Weight = a.Weights[0]
	}
	if a.Types != nil {
		e.Type = a.Types[0]
	}
	return e
}

// Each rule of the package documentation, on one small graph.
func TestRules(t *testing.T) {
	before := path()
	given := path()
	m := inMemory(given)
	feed(m, []event.Arrival{
		arrived("a", 0, 0, "x"),                     // of T
		arrived("c", 0, 0, "x"), arrived("d", 0, 0), // held out
		arrived("e", 20, 21, "a"),                               // no role: joins
		arrived("x", 30, 31, "a", "y", "x", "a", "nobody", "c"), // edges to T, an arrival, itself, again, unknown, held out
		arrived("x", -1, -1, "b"),                               // the first x stays
		{ID: "y", Features: event.Features{Sparse: true, Indices: []int32{1}, Values: []float32{41}}, Edges: []string{"x"}},
		{ID: "z", Features: event.Features{Values: []float32{1}}}, // too short
	}, []event.Label{
		classed("x", "ant"), {ID: "b", Class: 0}, // new training nodes
		classed("a", "zebra"), classed("c", "ant"), // against T; held out
		classed("nobody", "ant"), classed("f", "ant"), // unknown: f never arrived
		classed("y", "bee"), {ID: "y", Class: 2}, // unknown classes
	})
	m.Refuse(&event.FieldError{Reason: event.ReasonUnparsable})
	m.RefuseLabel(errors.New("no codec's"))
	got, report := grownData(t, m)
	want := &dataset.Dataset{Name: "path", IDs: []string{"a", "b", "c", "d", "e", "f", "x", "y"},
		Adj: graph.NewCSR(8, 8, both([][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {4, 0}, {6, 0}, {6, 7}, {6, 2}})),
		X: graph.Features{Dense: &graph.Dense{Rows: 8, Cols: 2,
			Data: []float32{1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 11, 12, 30, 31, 0, 41}}},
		Labels: []int32{1, 0, 0, 1, -1, 0, 1, -1}, Classes: []string{"zebra", "ant"},
		Train: []int32{0, 1, 6}, Unlabelled: []int32{4, 7}, Validation: []int32{2}, Test: []int32{3},
		Merged: graphsaint.Ends{Waiting: []graphsaint.Waiting{{Node: 6, ID: "nobody"}}, Labelled: []int32{1, 6}}}
	want.Adj.Val = nil
	expect.Same(t, want, got, "data")
	wantReport := Report{Arrivals: 7, Joined: 3, Labelled: 1, Again: 1, InT: 1, HeldOut: 2,
		Refused: map[string]int{event.ReasonFeatureLength: 1, event.ReasonUnparsable: 1},
		Edges:   4, UnknownEdges: 1, DroppedEdges: 2, WaitingEdges: 1, NewWaiting: 1,
		Labels: 8, NewLabels: 1, LabelConflict: 1, LabelHeldOut: 1, LabelUnknown: 2,
		UnknownClass: map[string]int{`"bee"`: 1, "2": 1}, LabelRefused: map[string]int{event.ReasonUnparsable: 1}}
	expect.Same(t, wantReport, report, "report")
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("the data that were merged into changed:\n%s", diff)
	}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"arrivals", "7, of which 3 joined T, 1 with a class",
		"1 in T already, 2 validation or test nodes, 1 arrived again",
		"4 new, 1 to unknown ids, 2 to oneself or repeated", "not yet arrived  1 wait",
		"8 read, 1 of unlabelled nodes of T, 1 against the class in T", `1 "bee", 1 2`} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
}

func both(edges [][2]int32) (out []graph.Edge) {
	for _, e := range edges {
		out = append(out, graph.Edge{Row: e[0], Col: e[1], Val: 1}, graph.Edge{Row: e[1], Col: e[0], Val: 1})
	}
	return out
}

// The later label is used; if times are equal or one is missing, the one that is read last.
func TestLaterLabelStands(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	for name, tc := range map[string]struct {
		labels []event.Label
		want   int32
	}{
		"later first":   {[]event.Label{{ID: "b", Class: 1, Time: at(2)}, {ID: "b", Class: 0, Time: at(1)}}, 1},
		"later last":    {[]event.Label{{ID: "b", Class: 1, Time: at(1)}, {ID: "b", Class: 0, Time: at(2)}}, 0},
		"equal":         {[]event.Label{{ID: "b", Class: 1, Time: at(1)}, {ID: "b", Class: 0, Time: at(1)}}, 0},
		"one has none":  {[]event.Label{{ID: "b", Class: 1, Time: at(9)}, {ID: "b", Class: 0}}, 0},
		"neither has":   {[]event.Label{{ID: "b", Class: 0}, {ID: "b", Class: 1}}, 1},
		"unknown class": {[]event.Label{{ID: "b", Class: 1}, {ID: "b", Class: 7}}, 1},
	} {
		m := inMemory(path())
		feed(m, nil, tc.labels)
		if d, _ := grownData(t, m); d.Labels[1] != tc.want || !slices.Equal(d.Train, []int32{0, 1}) {
			t.Errorf("%s: class %d in %v, want %d", name, d.Labels[1], d.Train, tc.want)
		}
	}
}

// Words of a bag that arrive dense or sparse are the same, and a pattern stays one.
func TestSparseFeatures(t *testing.T) {
	d := path()
	d.BagOfWords = true
	d.X = graph.Features{Sparse: &graph.CSR{Rows: 6, Cols: 3, RowPtr: []int{0, 1, 2, 2, 2, 3, 3},
		ColIdx: []int32{0, 2, 1}}}
	m := inMemory(d)
	feed(m, []event.Arrival{{ID: "x", Features: event.Features{Values: []float32{0, 1, 1}}},
		{ID: "e", Features: event.Features{Sparse: true, Indices: []int32{2}, Values: []float32{1}}}}, nil)
	got, _ := grownData(t, m)
	want := &graph.CSR{Rows: 7, Cols: 3, RowPtr: []int{0, 1, 2, 2, 2, 3, 3, 5}, ColIdx: []int32{0, 2, 2, 1, 2}}
	expect.Same(t, want, got.X.Sparse, "features")
}

// Package dataset accepts the graph after any arrivals, and merging the same records again changes nothing.
func TestMergedIsADataset(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "x", "y", "z", "w"})
		var arrivals []event.Arrival
		var labels []event.Label
		for range rapid.IntRange(0, 12).Draw(t, "arrivals") {
			arrivals = append(arrivals, arrived(ids.Draw(t, "id"), 1, 2, rapid.SliceOfN(ids, 0, 6).Draw(t, "edges")...))
		}
		arrivals = withLinks(t, ids, arrivals)
		for range rapid.IntRange(0, 6).Draw(t, "labels") {
			labels = append(labels, event.Label{ID: ids.Draw(t, "id"), Class: rapid.IntRange(0, 2).Draw(t, "class")})
		}
		m := inMemory(path())
		feed(m, arrivals, labels)
		grown, report := grownData(t, m)
		round++
		at := filepath.Join(dir, fmt.Sprint(round), "path")
		if err := grown.Save(at); err != nil {
			t.Fatal(err)
		}
		back, err := dataset.Open(at, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(grown, back); diff != "" {
			t.Fatalf("(-merged +loaded):\n%s", diff)
		}
		if n := len(grown.Original().Nodes); n != 2+report.Joined {
			t.Fatalf("T has %d nodes, 2 and %d joined", n, report.Joined)
		}
		again := inMemory(back)
		feed(again, arrivals, labels)
		if twice, r := grownData(t, again); r.Joined != 0 || r.Edges != 0 || twice.Fingerprint() != grown.Fingerprint() {
			t.Fatalf("merged twice: %+v", r)
		}
	})
}

// Where the stream is cut into merges does not change the graph: edges to ids that arrive later, ids that arrive again,
// labels that change.
func TestPartsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "x", "y", "z", "w", "v"})
		var arrivals []event.Arrival
		var labels []event.Label
		for n := range rapid.IntRange(0, 12).Draw(t, "arrivals") {
			arrivals = append(arrivals, arrived(ids.Draw(t, "id"), float32(n), 2, rapid.SliceOfN(ids, 0, 6).Draw(t, "edges")...))
		}
		arrivals = withLinks(t, ids, arrivals)
		for range rapid.IntRange(0, 8).Draw(t, "labels") {
			labels = append(labels, event.Label{ID: ids.Draw(t, "id"), Class: rapid.IntRange(0, 2).Draw(t, "class"),
				Time: time.Unix(rapid.Int64Range(1, 3).Draw(t, "time"), 0)})
		}
		update := rapid.Bool().Draw(t, "features are updated")
		whole := inMemory(path())
		whole.UpdateFeatures = update
		feed(whole, arrivals, labels)
		want, _ := grownData(t, whole)

		reread := rapid.Bool().Draw(t, "each part is read from the beginning")
		got, a, l := path(), 0, 0
		for parts := rapid.IntRange(1, 4).Draw(t, "parts"); parts > 0; parts-- {
			toA, toL := len(arrivals), len(labels)
			if parts > 1 {
				toA, toL = rapid.IntRange(a, toA).Draw(t, "arrivals of a part"), rapid.IntRange(l, toL).Draw(t, "labels of a part")
			}
			if reread {
				a = 0
			}
			m := inMemory(got)
			m.UpdateFeatures = update
			feed(m, arrivals[a:toA], labels[:toL])
			got, _ = grownData(t, m)
			a, l = toA, toL
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("at once and in parts (-at once +in parts):\n%s", diff)
		}
	})
}

// Two refreshes are one: an edge to an id that arrives after the first is there after the second.
func TestAnEdgeWaitsForItsID(t *testing.T) {
	x, y := arrived("x", 1, 1, "a", "y"), arrived("y", 2, 2, "a")
	whole := inMemory(path())
	feed(whole, []event.Arrival{x, y}, nil)
	want, _ := grownData(t, whole)
	first := inMemory(path())
	feed(first, []event.Arrival{x}, nil)
	between, r := grownData(t, first)
	if r.WaitingEdges != 1 {
		t.Errorf("%+v", r)
	}
	second := inMemory(between)
	feed(second, []event.Arrival{y}, nil)
	got, r := grownData(t, second)
	if want.Fingerprint() != got.Fingerprint() || r.WaitedEdges != 1 || r.WaitingEdges != 0 {
		t.Errorf("%+v: %s", r, cmp.Diff(want, got))
	}
}

// No more edges wait than may: the first ones are forgotten, and counted.
func TestWaitingEdgesAreBounded(t *testing.T) {
	m := inMemory(path())
	m.MaxWaiting = 2
	feed(m, []event.Arrival{arrived("x", 1, 1, "p", "q"), arrived("y", 1, 1, "r")}, nil)
	d, r := grownData(t, m)
	if diff := cmp.Diff([]graphsaint.Waiting{{Node: 6, ID: "q"}, {Node: 7, ID: "r"}}, d.Merged.Waiting); diff != "" ||
		r.ForgottenEdges != 1 || r.WaitingEdges != 2 {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	m = inMemory(d)
	m.MaxWaiting = 0
	feed(m, []event.Arrival{arrived("z", 1, 1)}, nil)
	if d, r := grownData(t, m); d.Merged.Waiting != nil || r.ForgottenEdges != 2 {
		t.Errorf("none may wait, %d do: %+v", len(d.Merged.Waiting), r)
	}
}
