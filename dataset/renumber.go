package dataset

import (
	"slices"

	"rivulet/graph"
)

// OriginalFirst returns the same data with other node indices: the nodes of T come first, in their order, and the
// others behind them, in theirs. [Dataset.Original] then shares the features, which are most of a data set's memory,
// instead of copying them. The result is d itself if it is in this order; otherwise it shares only texts with d.
func (d *Dataset) OriginalFirst() *Dataset {
	order := slices.Concat(d.Train, d.Unlabelled)
	slices.Sort(order)
	if leading(order) {
		return d
	}
	of := make([]bool, d.Nodes())
	for _, i := range order {
		of[i] = true
	}
	for i, original := range of {
		if !original {
			order = append(order, int32(i))
		}
	}
	return d.Renumbered(order)
}

// leading reports whether nodes are 0, 1, 2, ….
func leading(nodes []int32) bool {
	for k, i := range nodes {
		if int(i) != k {
			return false
		}
	}
	return true
}

// Renumbered returns the data with node order[k] as node k: order has each node once.
func (d *Dataset) Renumbered(order []int32) *Dataset {
	index := make([]int32, len(order))
	for k, i := range order {
		index[i] = int32(k)
	}
	out := *d
	out.IDs, out.Labels = make([]string, len(order)), make([]int32, len(order))
	for k, i := range order {
		out.IDs[k], out.Labels[k] = d.IDs[i], d.Labels[i]
	}
	out.X = d.X.Take(order)
	out.Adj = d.Adj.Submatrix(order, index, len(order))
	sortRows(out.Adj)
	for _, list := range []*[]int32{&out.Train, &out.Unlabelled, &out.Validation, &out.Test, &out.Merged.Labelled} {
		nodes := make([]int32, len(*list))
		for k, i := range *list {
			nodes[k] = index[i]
		}
		slices.Sort(nodes)
		*list = nodes
	}
	out.Merged.Waiting = slices.Clone(d.Merged.Waiting)
	for k := range out.Merged.Waiting {
		out.Merged.Waiting[k].Node = index[out.Merged.Waiting[k].Node]
	}
	return &out
}

// first returns the first n rows, a view.
func first(x graph.Features, n int) graph.Features {
	if x.Sparse == nil {
		return graph.Features{Dense: &graph.Dense{Rows: n, Cols: x.Dense.Cols, Data: x.Dense.Data[:n*x.Dense.Cols]}}
	}
	s := *x.Sparse
	s.Rows, s.RowPtr = n, s.RowPtr[:n+1]
	s.ColIdx = s.ColIdx[:s.RowPtr[n]]
	if s.Val != nil {
		s.Val = s.Val[:s.RowPtr[n]]
	}
	return graph.Features{Sparse: &s}
}
