package merge

import (
	"cmp"
	"slices"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/schema"
)

// assemble returns the graph with all changes: the nodes that it had in their order, then the arrivals that joined.
func (m *Merger) assemble(fresh, waiting []edge) *dataset.Dataset {
	old := m.base
	nodes := make([]int32, 0, len(old.IDs)+len(m.joined)) // of the merger, in their order in the grown graph
	for i := range old.IDs {
		nodes = append(nodes, int32(i))
	}
	for _, i := range m.joined {
		if !m.nodes[i].gone {
			nodes = append(nodes, i)
		}
	}
	number := graph.Places(nodes, len(m.nodes))
	d := &dataset.Dataset{Name: old.Name, IDs: make([]string, len(nodes)), Labels: make([]int32, len(nodes)),
		Classes: old.Classes, Task: old.Task, Targets: longer(old.Targets, len(nodes)), NodeTypes: old.NodeTypes,
		Dropped: old.Dropped, Validation: old.Validation, Test: old.Test, BagOfWords: old.BagOfWords, Notes: old.Notes,
		Schema: old.Schema}
	if old.Candidates != nil {
		d.Candidates = make([]bool, len(nodes))
		copy(d.Candidates, old.Candidates)
	}
	copy(d.Labels, old.Labels)
	features := make([]*event.Features, len(nodes)) // of arrivals; nil: they are the graph's
	for k, i := range nodes {
		n := &m.nodes[i]
		d.IDs[k], features[k] = n.id, n.features
		if n.relabel {
			m.answers.set(d, k, n.answer)
		}
		switch m.answers.role(n.role) {
		case train:
			d.Train = append(d.Train, int32(k))
		case unlabelled:
			d.Unlabelled = append(d.Unlabelled, int32(k))
		case none, heldOut:
		}
		if n.labelled {
			d.Merged.Labelled = append(d.Merged.Labelled, int32(k))
		}
	}
	m.join(d, fresh, number)
	d.Merged.Waiting = m.open(waiting, number)
	if old.X.Sparse != nil {
		d.X.Sparse = sparse(old.X.Sparse, features)
	} else {
		d.X.Dense = dense(old.X.Dense, features)
	}
	d.Values = m.values(features)
	return m.without(d)
}

// without returns the grown graph without the nodes of the old one that were forgotten.
func (m *Merger) without(d *dataset.Dataset) *dataset.Dataset {
	left := make([]int32, 0, len(d.IDs))
	for i := range d.IDs {
		if i >= len(m.base.IDs) || !m.nodes[i].gone {
			left = append(left, int32(i))
		}
	}
	if len(left) == len(d.IDs) {
		return d
	}
	less := d.Renumbered(left)
	m.Report.RemovedEdges += (d.Adj.NNZ() - less.Adj.NNZ()) / 2
	return less
}

// join merges the new edges with the graph's: symmetric, columns ascending, each once.
func (m *Merger) join(d *dataset.Dataset, fresh []edge, number []int32) {
	more := make([][]edge, len(d.IDs)) // of each node
	for _, e := range fresh {
		e.from, e.to = number[e.from], number[e.to]
		back := m.form.turned(e)
		more[e.from], more[back.from] = append(more[e.from], e), append(more[back.from], back)
	}
	d.Adj = m.form.wider(m.base.Adj, more, func(edge) bool { return true })
	by := m.base.By
	if !by.Relational() {
		return
	}
	out := make([]*graph.CSR, max(1, len(by.Types)))
	for kind := range out {
		old := m.base.Relations.Slot(kind*by.Len()/len(out), m.base.Nodes())
		out[kind] = m.form.wider(old, more, func(e edge) bool { return e.of == m.form.related(kind, false) })
	}
	d.Relate(by, out...)
}

// wider returns a matrix with more rows and entries: columns ascending, each once, with its largest weight.
func (f form) wider(old *graph.CSR, more [][]edge, takes func(edge) bool) *graph.CSR {
	n, entries := len(more), old.NNZ()
	for _, of := range more {
		entries += len(of)
	}
	adj := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, entries)}
	if f.slots.Weighted {
		adj.Val = make([]float32, 0, entries) // edges have weights, also if each is 1 now
	}
	var row []graph.Edge
	for i, of := range more {
		var cols []int32
		var vals []float32
		if i < old.Rows {
			cols, vals = old.Row(i)
		}
		row = row[:0]
		for _, e := range of {
			if takes(e) {
				row = append(row, graph.Edge{Col: e.to, Val: e.weight})
			}
		}
		if len(row) == 0 {
			adj.ColIdx, adj.Val = append(adj.ColIdx, cols...), append(adj.Val, vals...)
			adj.RowPtr[i+1] = len(adj.ColIdx)
			continue
		}
		for k, j := range cols {
			if row = append(row, graph.Edge{Col: j, Val: 1}); vals != nil {
				row[len(row)-1].Val = vals[k]
			}
		}
		slices.SortFunc(row, func(a, b graph.Edge) int {
			return cmp.Or(cmp.Compare(a.Col, b.Col), cmp.Compare(b.Val, a.Val))
		})
		for _, e := range slices.CompactFunc(row, func(a, b graph.Edge) bool { return a.Col == b.Col }) {
			if adj.ColIdx = append(adj.ColIdx, e.Col); f.slots.Weighted {
				adj.Val = append(adj.Val, e.Val)
			}
		}
		adj.RowPtr[i+1] = len(adj.ColIdx)
	}
	return adj
}

// sparse returns the features as flags or counts; an all-ones matrix stays a pattern.
func sparse(old *graph.CSR, features []*event.Features) *graph.CSR {
	x := &graph.CSR{Rows: len(features), Cols: old.Cols, RowPtr: make([]int, len(features)+1),
		ColIdx: make([]int32, 0, old.NNZ()), Val: make([]float32, 0, old.NNZ())}
	for i, a := range features {
		switch {
		case a == nil:
			cols, vals := old.Row(i)
			x.ColIdx = append(x.ColIdx, cols...)
			if vals == nil {
				vals = slices.Repeat([]float32{1}, len(cols))
			}
			x.Val = append(x.Val, vals...)
		case a.Sparse:
			x.ColIdx, x.Val = append(x.ColIdx, a.Indices...), append(x.Val, a.Values...)
		default:
			for c, v := range a.Values {
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

func dense(old *graph.Dense, features []*event.Features) *graph.Dense {
	x := graph.NewDense(len(features), old.Cols)
	for i, a := range features {
		row := x.Row(i)
		switch {
		case a == nil:
			copy(row, old.Row(i))
		case a.Sparse:
			for p, c := range a.Indices {
				row[c] = a.Values[p]
			}
		default:
			copy(row, a.Values)
		}
	}
	return x
}

// values returns the named columns with the arrivals' values; nil if there are none, or if an arrival came by position,
// without names.
func (m *Merger) values(features []*event.Features) []schema.Column {
	old := m.base.Values
	for _, a := range features {
		if old == nil || a != nil && a.Named == nil {
			return nil
		}
	}
	out := make([]schema.Column, len(old))
	for k := range old {
		out[k] = old[k].Clone()
		for i, a := range features {
			if a == nil {
				continue
			}
			v := valueOf(a.Named, old[k].Name)
			if t := m.base.NodeTypes; t != nil && t.Column == old[k].Name && v.Type == schema.Missing {
				v = schema.Value{Type: schema.Text, Text: t.Arriving[0]} // the only one, as an arrival need not say it
			}
			if i < m.base.Nodes() {
				out[k].Set(i, v)
			} else {
				out[k].Append(v)
			}
		}
	}
	return out
}
