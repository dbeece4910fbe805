package merge

import (
	"slices"

	"rivulet/dataset"
	"rivulet/dataset/graphsaint"
	"rivulet/event"
	"rivulet/graph"
)

// form says whether the edges of a graph have weights, types and directions.
type form struct{ slots graph.Slots }

// property is an edge's type and direction as a number: twice the place of its type among the graph's, and one more
// where it leads from its second end to its first. It is 0 where edges have neither.
type property uint32

// weight returns the weight of an edge as the graph keeps it; 0: the record gives none.
func (f form) weight(w float32) float32 {
	if !f.slots.Weighted || w == 0 {
		return 1
	}
	return w
}

// related returns the property of an edge of a type; back: it leads from its second end to its first.
func (f form) related(kind int, back bool) property {
	p := property(2 * kind)
	if back && f.slots.Directed {
		p++
	}
	return p
}

// ofSlot returns the property of an edge of a slot.
func (f form) ofSlot(slot int) property {
	if f.slots.Directed {
		return property(slot)
	}
	return property(2 * slot)
}

// slot returns the slot of the edge in the row of its first end.
func (f form) slot(p property) int {
	if f.slots.Directed {
		return int(p)
	}
	return int(p / 2)
}

// edgesOf returns an arrival's edges, each once, by the ids at their other ends; how many entries were dropped because
// they name the arrival or an edge again; and how many edges have no type of the graph. Weights of entries that name an
// edge again are added up, as those of a table of edges are.
func (f form) edgesOf(a *event.Arrival) (ids []string, edges []edge, dropped, unknown int) {
	kept := event.Arrival{ID: a.ID, Edges: slices.Clone(a.Edges), Relations: slices.Clone(a.Relations)}
	if f.slots.Weighted {
		kept.Weights = slices.Clone(a.Weights)
	}
	dropped = kept.NormaliseEdges()
	kept.EachEdge(func(k int, relations uint32, weights []float32) {
		if !f.slots.Relational() {
			ids, edges = append(ids, kept.Edges[k]), append(edges, edge{weight: f.weight(event.Heaviest(weights))})
			return
		}
		if relations == 0 {
			unknown++
		}
		for at, slot := range event.Bits(relations) {
			w := float32(1)
			if weights != nil {
				w = weights[at]
			}
			ids, edges = append(ids, kept.Edges[k]), append(edges, edge{of: f.ofSlot(slot), weight: f.weight(w)})
		}
	})
	return ids, edges, dropped, unknown
}

// edgeOf returns the property of an edge of its own; not known: it has no type of the graph.
func (f form) edgeOf(e *event.Edge) (of property, known bool) {
	kind := f.slots.Type(e.Type)
	return f.related(max(0, kind), false), kind >= 0
}

// waiting returns an edge to an id that is no node yet, from a node or, if that is below 0, from such an id.
func (f form) waiting(node int32, from, id string, e edge) graphsaint.Waiting {
	w := graphsaint.Waiting{Node: node, ID: id, In: e.of&1 == 1}
	if node < 0 {
		w.Node, w.From = -1, from
	}
	if f.slots.Weighted {
		w.Weight = e.weight
	}
	if f.slots.Types != nil {
		w.Type = f.slots.Types[e.of/2]
	}
	return w
}

// ofWaiting returns the property of an edge that waits.
func (f form) ofWaiting(w *graphsaint.Waiting) property {
	return f.related(max(0, f.slots.Type(w.Type)), w.In)
}

// find returns the weight of an edge that a data set has between two nodes.
func (f form) find(d *dataset.Dataset, e edge) (weight float32, is bool) {
	edges := d.Adj
	if f.slots.Relational() {
		edges = d.Relations
	}
	cols, _ := edges.Row(int(e.from))
	at, is := slices.BinarySearch(cols, int32(f.slot(e.of)*d.Nodes())+e.to)
	if !is {
		return 0, false
	}
	return edges.Weight(edges.RowPtr[e.from] + at), true
}
