package merge

import (
	"math"
	"slices"

	"rivulet/dataset"
	"rivulet/dataset/graphsaint"
	"rivulet/event"
	"rivulet/graph"
)

// form says whether the edges of a graph have weights, types and directions, or neither.
type form struct {
	weighted bool
	by       *graph.Bins // types and directions; nil: edges have neither
}

// property is an edge's weight, or its type and direction, as a number: the bits of the weight; or twice the place of
// its type among the graph's, and one more where it leads from its second end to its first. It is 0 where edges have
// neither.
type property uint32

// weight returns the property of a weight. Weights are above 0, so that a larger weight is a larger property.
func (f form) weight(w float32) property {
	if !f.weighted {
		return 0
	}
	if w == 0 { // the record gives none
		w = 1
	}
	return property(math.Float32bits(w))
}

// ofWeight returns the weight of an edge; 1 where edges have none.
func (f form) ofWeight(p property) float32 {
	if !f.weighted {
		return 1
	}
	return math.Float32frombits(uint32(p))
}

// directed reports whether edges have directions.
func (f form) directed() bool { return f.by != nil && f.by.Directed }

// related returns the property of an edge of a type; back: it leads from its second end to its first.
func (f form) related(kind int, back bool) property {
	p := property(2 * kind)
	if back && f.directed() {
		p++
	}
	return p
}

// edgesOf returns the ids at the other ends of an arrival's edges, each edge once, with their properties; how many
// entries were dropped because they name the arrival or an edge again; and how many edges have no type of the graph.
// Weights of entries that name a neighbour again are added up, as those of a table of edges are.
func (f form) edgesOf(a *event.Arrival) (ids []string, of []property, dropped, unknown int) {
	kept := event.Arrival{ID: a.ID, Edges: slices.Clone(a.Edges)}
	if f.weighted {
		kept.Weights = slices.Clone(a.Weights)
	}
	if f.by != nil {
		kept.Relations = slices.Clone(a.Relations)
	}
	dropped = kept.NormaliseEdges()
	for k, id := range kept.Edges {
		if f.by == nil {
			ids, of = append(ids, id), append(of, f.weight(kept.Weight(k)))
			continue
		}
		if kept.Relations[k] == 0 {
			unknown++
		}
		for r := range f.by.Len() {
			if kept.Relations[k]>>r&1 == 0 {
				continue
			}
			kind, back := r, false
			if f.directed() {
				kind, back = r/2, r%2 == 1
			}
			ids, of = append(ids, id), append(of, f.related(kind, back))
		}
	}
	return ids, of, dropped, unknown
}

// edgeOf returns the property of an edge of its own; not known: it has no type of the graph.
func (f form) edgeOf(e *event.Edge) (of property, known bool) {
	if f.by == nil {
		return f.weight(e.Weight), true
	}
	kind := f.by.Type(e.Type)
	return f.related(max(0, kind), false), kind >= 0
}

// waiting returns an edge to an id that is no node yet, from a node or, if that is below 0, from such an id.
func (f form) waiting(node int32, from, id string, p property) graphsaint.Waiting {
	w := graphsaint.Waiting{Node: node, ID: id}
	if node < 0 {
		w.Node, w.From = -1, from
	}
	switch {
	case f.weighted:
		w.Weight = f.ofWeight(p)
	case f.by != nil:
		if w.In = p&1 == 1; f.by.Types != nil {
			w.Type = f.by.Types[p/2]
		}
	}
	return w
}

// ofWaiting returns the property of an edge that waits.
func (f form) ofWaiting(w *graphsaint.Waiting) property {
	if f.by == nil {
		return f.weight(w.Weight)
	}
	return f.related(max(0, f.by.Type(w.Type)), w.In)
}

// find returns the property of an edge that a data set has between two nodes: the same as p in all but the weight.
func (f form) find(d *dataset.Dataset, from, to int32, p property) (property, bool) {
	if f.by == nil {
		cols, vals := d.Adj.Row(int(from))
		at, is := slices.BinarySearch(cols, to)
		if !is || vals == nil {
			return 0, is
		}
		return f.weight(vals[at]), true
	}
	kind := int32(p / 2)
	if f.directed() {
		kind *= 2 // the relation of the direction from row to column
		if p&1 == 1 {
			from, to = to, from
		}
	}
	cols, _ := d.Relations.Row(int(from))
	_, is := slices.BinarySearch(cols, kind*int32(d.Nodes())+to)
	return p, is
}
