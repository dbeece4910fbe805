package merge

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/test/expect"
)

// oracle merges as the package documentation says it, record by record, and looks through all that it has each time.
type oracle struct {
	form   string
	ids    []string // in their order
	nodes  map[string]*oracleNode
	edges  []*oracleEdge   // also of ids that are not there
	never  map[string]bool // ids that were forgotten, to which no edge waits
	labels map[string]event.Label
	update bool
}

type oracleNode struct {
	role, class string
	x           []float32
	labelled    bool
}

type oracleEdge struct {
	a, b   string
	weight float32
	kind   string
}

// name is the edge's, in one form whichever end it was named under.
func (o *oracle) name(e *oracleEdge) string {
	a, b := e.a, e.b
	if !has(o.form, "directions") {
		a, b = min(a, b), max(a, b)
	}
	return a + ">" + b + e.kind
}

func (o *oracle) begin(d *dataset.Dataset) {
	o.nodes, o.never, o.labels = map[string]*oracleNode{}, map[string]bool{}, map[string]event.Label{}
	for n := range d.NodeRows() {
		o.ids = append(o.ids, n.ID)
		o.nodes[n.ID] = &oracleNode{role: n.Split, class: n.Label, x: slices.Clone(n.Features)}
	}
	for name, w := range edgesOf(d) {
		o.edges = append(o.edges, &oracleEdge{a: name[:1], b: name[2:3], kind: name[3:], weight: w})
	}
}

func (o *oracle) take(a *event.Arrival) {
	switch {
	case a.Features.Absent && a.Edges == nil:
		delete(o.nodes, a.ID)
		o.ids = slices.DeleteFunc(o.ids, func(id string) bool { return id == a.ID })
		o.edges = slices.DeleteFunc(o.edges, func(e *oracleEdge) bool { return e.a == a.ID || e.b == a.ID })
		o.never[a.ID] = true
		return
	case a.Features.Absent:
		o.link(a, 1)
		return
	}
	n := o.nodes[a.ID]
	if n != nil && n.role != "none" {
		if o.update {
			n.x = a.Features.Values
		}
		return
	}
	if n == nil {
		n = &oracleNode{}
		o.nodes[a.ID], o.ids = n, append(o.ids, a.ID)
	}
	*n = oracleNode{role: "unlabelled", x: a.Features.Values}
	o.link(a, len(a.Edges))
}

// link takes the edges of a record. Weights of one list for one neighbour are added up.
func (o *oracle) link(a *event.Arrival, count int) {
	list := map[string]*oracleEdge{}
	for k, id := range a.Edges[:count] {
		e := &oracleEdge{a: a.ID, b: id, weight: 1}
		if id == a.ID {
			continue
		}
		if has(o.form, "weights") {
			e.weight = a.Weights[k]
		}
		if has(o.form, "types") {
			if e.kind = a.Types[k]; e.kind == "lends" {
				continue
			}
		}
		if a.Relations != nil && a.Relations[k] == event.Incoming {
			e.a, e.b = e.b, e.a
		}
		if before := list[o.name(e)]; before != nil {
			if has(o.form, "weights") {
				before.weight += e.weight
			}
			continue
		}
		list[o.name(e)] = e
		o.edges = append(o.edges, e)
	}
}

// end gives labels, and leaves of an edge that was named several times the heaviest.
func (o *oracle) end() (edges, waiting map[string]float32) {
	for id, l := range o.labels {
		switch n := o.nodes[id]; {
		case n == nil:
		case n.role == "unlabelled":
			n.role, n.class, n.labelled = "train", l.ClassName, true
		}
	}
	edges, waiting = map[string]float32{}, map[string]float32{}
	for _, e := range o.edges {
		a, b := o.nodes[e.a] != nil, o.nodes[e.b] != nil
		switch {
		case a && b:
			edges[o.name(e)] = max(edges[o.name(e)], e.weight)
		case !a && o.never[e.a] || !b && o.never[e.b]:
		default:
			waiting[o.name(e)] = max(waiting[o.name(e)], e.weight)
		}
	}
	return edges, waiting
}

// edgesOf returns the edges of a data set with ids of one letter, as oracle.name names them, with their weights.
func edgesOf(d *dataset.Dataset) map[string]float32 {
	edges := map[string]float32{}
	if !d.By.Relational() {
		for i := range d.Adj.Rows {
			cols, vals := d.Adj.Row(i)
			for k, j := range cols {
				w := float32(1)
				if vals != nil {
					w = vals[k]
				}
				edges[min(d.IDs[i], d.IDs[j])+">"+max(d.IDs[i], d.IDs[j])] = w
			}
		}
		return edges
	}
	for i, id := range d.IDs {
		e := d.Edges(int32(i))
		for k, to := range e.To {
			name := id + ">" + to
			if !d.By.Directed {
				name = min(id, to) + ">" + max(id, to)
			}
			if e.Types != nil {
				name += e.Types[k]
			}
			edges[name] = 1
			if e.Weights != nil {
				edges[name] = e.Weights[len(e.Weights)-len(e.To)-len(e.From)+k]
			}
		}
	}
	return edges
}

// Arrivals, edges, labels and ids to forget in any order give the graph of the oracle: nodes in their order with their
// features, roles and classes, edges with their weights, types and directions, and the edges that wait.
func TestOracle(t *testing.T) {
	for _, form := range append([]string{"plain"}, forms...) {
		t.Run(form, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { compareWithOracle(t, form) }) })
	}
}

func compareWithOracle(t *rapid.T, form string) {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "x", "y", "z", "w", "v"})
	stream := streamOf(t, form)
	for range rapid.IntRange(0, 4).Draw(t, "ids to forget") {
		at := rapid.IntRange(0, len(stream)).Draw(t, "place of a forgetting")
		stream = slices.Insert(stream, at, forgotten(ids.Draw(t, "forgotten id")))
	}
	d := formed(form)
	m, o := New(d), &oracle{form: form, update: rapid.Bool().Draw(t, "features are updated")}
	m.UpdateFeatures = o.update
	o.begin(d)
	for range rapid.IntRange(0, 6).Draw(t, "labels") {
		l := classed(ids.Draw(t, "labelled id"), rapid.SampledFrom([]string{"zebra", "ant", "bee"}).Draw(t, "class"))
		l.Time = time.Unix(rapid.Int64Range(1, 4).Draw(t, "time"), 0)
		feed(m, nil, []event.Label{l})
		if before, is := o.labels[l.ID]; l.ClassName != "bee" && (!is || !l.Time.Before(before.Time)) {
			o.labels[l.ID] = l
		}
	}
	feed(m, stream, nil)
	for k := range stream {
		o.take(&stream[k])
	}
	got, _, err := m.Grow(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	edges, waiting := o.end()
	expect.Same(t, o.ids, got.IDs, "ids")
	for n := range got.NodeRows() {
		want := o.nodes[n.ID]
		if n.Split != want.role || n.Label != want.class || !slices.Equal(n.Features, want.x) {
			t.Fatalf("%s is %+v, want %+v", n.ID, n, *want)
		}
	}
	var labelled []string
	for _, id := range o.ids {
		if o.nodes[id].labelled {
			labelled = append(labelled, id)
		}
	}
	c := contentOf(got)
	expect.Same(t, labelled, c.Labelled, "nodes with a class from a label")
	expect.Same(t, edges, edgesOf(got), "edges")
	waits := map[string]float32{}
	for k, w := range got.Merged.Waiting {
		e := &oracleEdge{a: c.Waiting[k][:1], b: w.ID, kind: w.Type}
		if w.In {
			e.a, e.b = e.b, e.a
		}
		if waits[o.name(e)] = w.Weight; !has(form, "weights") {
			waits[o.name(e)] = 1
		}
	}
	expect.Same(t, waiting, waits, "edges that wait")
}
