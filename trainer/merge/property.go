package merge

import (
	"math"
	"slices"

	"rivulet/dataset"
	"rivulet/dataset/sidecar"
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
type property int64

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

// turned returns the property of the same edge where its ends are named in the other order.
func (f form) turned(p property) property {
	if f.directed() {
		return p ^ 1
	}
	return p
}

// ordered returns an edge with its lesser end first.
func (f form) ordered(a, b string, p property) (low, high string, of property) {
	if a > b {
		return b, a, f.turned(p)
	}
	return a, b, p
}

// ends identifies an edge. Two edges with other weights are the same one; with other types or directions they are not.
type ends struct {
	first, second string
	of            property
}

func (f form) ends(first, second string, p property) ends {
	if f.weighted {
		p = 0
	}
	return ends{first, second, p}
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

// edgeOf returns an edge of its own with its lesser end first; not known: it has no type of the graph.
func (f form) edgeOf(e *event.Edge) (low, high string, of property, known bool) {
	if f.by == nil {
		low, high, of = f.ordered(e.Source, e.Target, f.weight(e.Weight))
		return low, high, of, true
	}
	kind := f.by.Type(e.Type)
	low, high, of = f.ordered(e.Source, e.Target, f.related(kind, false))
	return low, high, of, kind >= 0
}

// waiting returns an edge from an id to one that is no node yet. index has the nodes of ids.
func (f form) waiting(index map[string]int32, node, id string, p property) sidecar.Waiting {
	w := sidecar.NewWaiting(index, node, id)
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
func (f form) ofWaiting(w *sidecar.Waiting) property {
	if f.by == nil {
		return f.weight(w.Weight)
	}
	return f.related(max(0, f.by.Type(w.Type)), w.In)
}

// eachEdge calls use with the edges of node i of a data set. Over all nodes each edge comes once.
func (f form) eachEdge(d *dataset.Dataset, i int, use func(j int32, p property) error) error {
	if f.by == nil {
		cols, vals := d.Adj.Row(i)
		for k, j := range cols {
			w := float32(1)
			if vals != nil {
				w = vals[k]
			}
			if int(j) < i {
				continue // its other entry
			}
			if err := use(j, f.weight(w)); err != nil {
				return err
			}
		}
		return nil
	}
	n := d.Nodes()
	for r, cols := range d.Relations.ByRelation(i, n) {
		kind := r
		if f.directed() {
			if r%2 == 1 {
				continue // the other ends have it
			}
			kind = r / 2
		}
		for _, c := range cols {
			j := c - int32(r*n)
			if !f.directed() && int(j) < i {
				continue
			}
			if err := use(j, f.related(kind, false)); err != nil {
				return err
			}
		}
	}
	return nil
}
