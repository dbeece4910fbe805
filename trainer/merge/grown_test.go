package merge

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/test/expect"
)

// given is a graph: a trains, b is unlabelled, c validates, d tests, e and f are in no role and have no edges.
func given() *dataset.Dataset {
	d := path()
	d.Adj = graph.NewCSR(6, 6, both([][2]int32{{0, 1}, {1, 2}, {2, 3}}))
	d.Adj.Val = nil
	d.Labels = []int32{0, -1, 1, 0, -1, 1}
	return d
}

// content is a graph by names, in no order.
type content struct {
	Nodes    map[string]string // role, class and features
	Edges    map[string]bool
	Waiting  []string
	Labelled []string
	Classes  []string
}

func contentOf(d *dataset.Dataset) content {
	c := content{Nodes: map[string]string{}, Edges: map[string]bool{}, Classes: d.Classes}
	for n := range d.NodeRows() {
		c.Nodes[n.ID] = fmt.Sprintf("%s %q %g", n.Split, n.Label, n.Features)
	}
	for source, target := range d.EdgeRows() {
		c.Edges[min(source, target)+"-"+max(source, target)] = true
	}
	for _, w := range d.Merged.Waiting {
		node := w.From
		if w.Node >= 0 {
			node = d.IDs[w.Node]
		}
		c.Waiting = append(c.Waiting, node+"-"+w.ID)
	}
	for _, i := range d.Merged.Labelled {
		c.Labelled = append(c.Labelled, d.IDs[i])
	}
	return c
}

// grown merges into a graph.
func grown(t testing.TB, base *dataset.Dataset, arrivals []event.Arrival, labels []event.Label, waiting int,
	options ...func(*Merger)) (*dataset.Dataset, Report) {
	t.Helper()
	m := New(base)
	m.MaxWaiting = waiting
	for _, set := range options {
		set(m)
	}
	feed(m, arrivals, labels)
	got, report, err := m.Grow(t.Context(), false)
	expect.OK(t, err)
	return got, report
}

func arrived(id string, x, y float32, edges ...string) event.Arrival {
	return event.Arrival{ID: id, Features: event.Features{Values: []float32{x, y}}, Edges: edges}
}

// forgotten stands for an id that is to be forgotten.
func forgotten(id string) event.Arrival {
	return event.Arrival{ID: id, Features: event.Features{Absent: true}}
}

// linked stands for an edge of its own.
func linked(source, target string) event.Arrival {
	return event.Arrival{ID: source, Edges: []string{target}, Features: event.Features{Absent: true}}
}

// withLinks puts edges of their own among arrivals.
func withLinks(t *rapid.T, ids *rapid.Generator[string], arrivals []event.Arrival) []event.Arrival {
	for range rapid.IntRange(0, 8).Draw(t, "edges of their own") {
		at := rapid.IntRange(0, len(arrivals)).Draw(t, "place of an edge")
		arrivals = slices.Insert(arrivals, at, linked(ids.Draw(t, "source"), ids.Draw(t, "target")))
	}
	return arrivals
}

// Arrivals stay in their order, and the oldest of the edges that wait are forgotten.
func TestTheOldestEdgesAreForgotten(t *testing.T) {
	const n, lost = 1200, 20
	var arrivals []event.Arrival
	for k := range n {
		a := arrived(fmt.Sprintf("n%d", k), float32(k), 1, "a", fmt.Sprintf("n%d", k/2), fmt.Sprintf("n%d", k+1))
		for e := range lost { // to ids that never arrive
			a.Edges = append(a.Edges, fmt.Sprintf("never-%d-%d", k, e))
		}
		arrivals = append(arrivals, a)
	}
	m := New(given())
	m.MaxWaiting = 7
	feed(m, arrivals, []event.Label{{ID: "n1", Class: 1}})
	got, report, err := m.Grow(t.Context(), false)
	expect.OK(t, err)
	if report.Joined != n || report.Labelled != 1 || report.UnknownEdges != n*lost+1 || report.WaitingEdges != 7 ||
		report.ForgottenEdges != n*lost+1-7 {
		t.Errorf("%+v", report)
	}
	d := got
	var last []string
	for e := range 7 {
		last = append(last, fmt.Sprintf("n%d-never-%d-%d", n-1, n-1, lost-7+e))
	}
	expect.Same(t, last, contentOf(d).Waiting, "waiting edges")
	if !slices.Equal(d.IDs[6:8], []string{"n0", "n1"}) || d.IDs[len(d.IDs)-1] != fmt.Sprintf("n%d", n-1) {
		t.Errorf("arrivals are not in their order: %q", d.IDs[:9])
	}
}

// Nothing new is the same graph.
func TestNothingNew(t *testing.T) {
	base := given()
	if same, report := grown(t, base, []event.Arrival{arrived("a", 1, 1), {ID: "short"}}, nil, 5); same != base ||
		report.InT != 1 || report.Refused[event.ReasonFeatureLength] != 1 {
		t.Errorf("%+v", report)
	}
}
