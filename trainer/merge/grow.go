package merge

import (
	"maps"
	"slices"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/schema"
)

// Dataset returns the data with the arrivals and labels so far, and the report of their outcomes. It shares memory
// with the data if nothing changed. The report counts since [New].
func (m *Merger) Dataset() (*dataset.Dataset, Report) {
	r := m.counted()
	g := &growth{from: m, index: maps.Clone(m.index), source: make([]*event.Arrival, len(m.data.IDs))}
	g.d = &dataset.Dataset{Name: m.data.Name, IDs: slices.Clone(m.data.IDs), Labels: slices.Clone(m.data.Labels),
		Classes: m.data.Classes, Validation: m.data.Validation, Test: m.data.Test, BagOfWords: m.data.BagOfWords,
		Notes: m.data.Notes}
	g.place()
	g.edges(&r)
	g.roles(&r)
	if m.data.X.Sparse != nil {
		g.d.X.Sparse = g.sparse()
	} else {
		g.d.X.Dense = g.dense()
	}
	g.d.Schema, g.d.Values = m.data.Schema, g.values()
	return g.d, r
}

// growth is a data set in the making.
type growth struct {
	from   *Merger
	d      *dataset.Dataset
	index  map[string]int32
	source []*event.Arrival // of each node that arrived; nil for those whose features are the data's
}

// place assigns a node to each arrival.
func (g *growth) place() {
	for k := range g.from.arrivals {
		a := &g.from.arrivals[k]
		i, known := g.index[a.ID] // a node in no role
		if !known {
			i = int32(len(g.d.IDs))
			g.index[a.ID] = i
			g.d.IDs, g.d.Labels, g.source = append(g.d.IDs, a.ID), append(g.d.Labels, -1), append(g.source, nil)
		}
		g.source[i] = a
		g.d.Labels[i] = -1 // its class comes from the labels
	}
}

// edges merges the arrivals' edges, and those that have waited for them, with the data's: symmetric, columns
// ascending, each once.
func (g *growth) edges(r *Report) {
	old, n := g.from.data.Adj, len(g.d.IDs)
	more := make([][]int32, n) // new neighbours of each node
	waiting := g.waited(more, r)
	for k := range g.from.arrivals {
		a := &g.from.arrivals[k]
		i := g.index[a.ID]
		for _, id := range a.Edges {
			if j, known := g.index[id]; known {
				more[i], more[j] = append(more[i], j), append(more[j], i)
			} else {
				r.UnknownEdges++
				waiting = append(waiting, dataset.Waiting{Node: i, ID: id})
			}
		}
	}
	adj := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, old.NNZ())}
	for i := range n {
		start := len(adj.ColIdx)
		if i < old.Rows {
			cols, _ := old.Row(i)
			adj.ColIdx = append(adj.ColIdx, cols...)
		}
		adj.ColIdx = append(adj.ColIdx, more[i]...)
		slices.Sort(adj.ColIdx[start:])
		adj.ColIdx = adj.ColIdx[:start+len(slices.Compact(adj.ColIdx[start:]))]
		adj.RowPtr[i+1] = len(adj.ColIdx)
	}
	r.Edges = (adj.NNZ() - old.NNZ()) / 2
	g.d.Adj = adj
	if over := len(waiting) - g.from.MaxWaiting; over > 0 {
		r.ForgottenEdges = over
		waiting = waiting[over:]
	}
	if r.WaitingEdges = len(waiting); r.WaitingEdges > 0 {
		g.d.Merged.Waiting = waiting
	}
}

// waited adds the edges that have waited for an id which has arrived now to more, and returns those that still wait.
func (g *growth) waited(more [][]int32, r *Report) (waiting []dataset.Waiting) {
	for _, w := range g.from.data.Merged.Waiting {
		if j, arrived := g.index[w.ID]; arrived {
			r.WaitedEdges++
			more[w.Node], more[j] = append(more[w.Node], j), append(more[j], w.Node)
		} else {
			waiting = append(waiting, w)
		}
	}
	return waiting
}

// roles puts arrivals into T and sets the classes of unlabelled nodes of T that have become known.
func (g *growth) roles(r *Report) {
	nodes := append(slices.Clone(g.from.nodes), make([]Node, len(g.d.IDs)-len(g.from.nodes))...)
	for id, n := range g.from.arrived {
		nodes[g.index[id]] = n
	}
	for id, l := range g.from.labels {
		var nobody Node
		n := &nobody
		if i, known := g.index[id]; known {
			n = &nodes[i]
		}
		n.Label(l.class, r)
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Labelled {
			g.d.Merged.Labelled = append(g.d.Merged.Labelled, int32(i))
		}
		switch n.Role {
		case Train:
			g.d.Train, g.d.Labels[i] = append(g.d.Train, int32(i)), n.Class
		case Unlabelled:
			g.d.Unlabelled = append(g.d.Unlabelled, int32(i))
		case None, HeldOut:
		}
	}
}

// sparse returns the features as flags or counts; an all-ones matrix stays a pattern.
func (g *growth) sparse() *graph.CSR {
	old := g.from.data.X.Sparse
	x := &graph.CSR{Rows: len(g.d.IDs), Cols: old.Cols, RowPtr: make([]int, len(g.d.IDs)+1), Val: []float32{}}
	for i, a := range g.source {
		if a == nil {
			cols, vals := old.Row(i)
			x.ColIdx = append(x.ColIdx, cols...)
			if vals == nil {
				for range cols {
					x.Val = append(x.Val, 1)
				}
			} else {
				x.Val = append(x.Val, vals...)
			}
		} else if a.Features.Sparse {
			x.ColIdx, x.Val = append(x.ColIdx, a.Features.Indices...), append(x.Val, a.Features.Values...)
		} else {
			for c, v := range a.Features.Values {
				if v != 0 {
					x.ColIdx, x.Val = append(x.ColIdx, int32(c)), append(x.Val, v)
				}
			}
		}
		x.RowPtr[i+1] = len(x.ColIdx)
	}
	x.DropOnes()
	return x
}

func (g *growth) dense() *graph.Dense {
	x := graph.NewDense(len(g.d.IDs), g.from.data.X.Dense.Cols)
	for i, a := range g.source {
		row := x.Row(i)
		switch {
		case a == nil:
			copy(row, g.from.data.X.Dense.Row(i))
		case a.Features.Sparse:
			for p, c := range a.Features.Indices {
				row[c] = a.Features.Values[p]
			}
		default:
			copy(row, a.Features.Values)
		}
	}
	return x
}

// values returns the named columns with those of the arrivals; nil where there are none, or an arrival came by
// position: its names are not known.
func (g *growth) values() []schema.Column {
	old := g.from.data.Values
	for _, a := range g.source {
		if old == nil || a != nil && a.Features.Named == nil {
			return nil
		}
	}
	out := make([]schema.Column, len(old))
	for k := range old {
		out[k] = old[k].Clone()
		for i, a := range g.source {
			if a == nil {
				continue
			}
			v := valueOf(a.Features.Named, old[k].Name)
			if i < g.from.data.Nodes() {
				out[k].Set(i, v)
			} else {
				out[k].Append(v)
			}
		}
	}
	return out
}

// valueOf returns the value of a name, missing if the arrival does not have it.
func valueOf(fields []schema.Field, name string) schema.Value {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return schema.Value{}
}
