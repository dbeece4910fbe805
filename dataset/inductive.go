package dataset

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
)

// Original is T = (A, X, Y), the graph to condense: the subgraph induced on the training and the unlabelled nodes.
type Original struct {
	Nodes []int32    // N: dataset index of each node of T, ascending
	Index []int32    // n: index in T of each node of the data set, -1 if it is not in T
	IDs   []string   // N: external ids
	Adj   *graph.CSR // N×N symmetric, columns ascending; Val nil unless edges have weights
	// Edges are T's edges as models read them: Adj, or by their types and directions [P_1 | … | P_R], N×RN.
	Edges  *graph.CSR
	X      graph.Features // N×d raw
	Labels []int32        // N: class index, -1 on unlabelled nodes

	Targets *graph.Dense // N×outputs, of a task of numbers; nil otherwise
}

// Original cuts T out of the data set. It shares the ids' text with it, and where the nodes of T come first
// ([Dataset.OriginalFirst]) the ids and the features.
func (d *Dataset) Original() *Original {
	o := &Original{Nodes: slices.Concat(d.Train, d.Unlabelled)}
	slices.Sort(o.Nodes)
	o.Index = graph.Places(o.Nodes, d.Nodes())
	o.Labels = graph.Pick(d.Labels, o.Nodes)
	for _, i := range d.Unlabelled {
		o.Labels[o.Index[i]] = -1
	}
	if d.Targets != nil {
		o.Targets = d.Targets.Take(o.Nodes)
	}
	o.Adj = d.Adj.Submatrix(o.Nodes, o.Index, len(o.Nodes))
	if o.Edges = o.Adj; d.By.Relational() {
		o.Edges = d.By.Cut(d.Relations, o.Nodes, o.Index, len(o.Nodes))
	}
	first := leading(o.Nodes)
	if o.IDs = d.IDs[:len(o.Nodes):len(o.Nodes)]; !first {
		o.IDs = graph.Pick(d.IDs, o.Nodes)
	}
	switch {
	case d.Columns != nil: // X is made by a schema
	case first:
		o.X = d.X.Head(len(o.Nodes))
	default:
		o.X = d.X.Take(o.Nodes)
	}
	return o
}

// Joined returns the same data with more nodes in T, without classes.
func (d *Dataset) Joined(nodes []int32) *Dataset {
	out := *d
	out.Unlabelled = slices.Concat(d.Unlabelled, nodes)
	return &out
}

// OriginalFirst returns the same data with other node indices: first the nodes of T, then the validation nodes, the
// test nodes and the rest, each in their order. [Dataset.Original] and the batches of [Dataset.Attach] then share the
// features, which are most of a data set's memory, instead of copying them. The result is d itself if the nodes of T
// come first; otherwise it shares only texts with d.
func (d *Dataset) OriginalFirst() *Dataset {
	order := d.originalFirst()
	if order == nil {
		return d
	}
	return d.Renumbered(order)
}

// MoveOriginalFirst is [Dataset.OriginalFirst] for data that nobody else reads: dense features are moved within their
// memory, where a copy would double most of a data set. d must not be read afterwards. The result has d's fingerprint.
// Named features, which a schema encodes later, stay where they are.
func (d *Dataset) MoveOriginalFirst() *Dataset {
	order := d.originalFirst()
	if order == nil {
		return d
	}
	if d.Columns != nil { // X is made later
		return d
	}
	fingerprint, x := d.Fingerprint(), d.X
	if x.Dense != nil {
		x.Dense.Permute(order)
	} else {
		x = x.Take(order)
	}
	out := d.renumbered(order, x)
	out.Identity = fingerprint
	return out
}

// originalFirst returns the order of [Dataset.OriginalFirst]; nil: nodes are in it.
func (d *Dataset) originalFirst() []int32 {
	order := slices.Concat(d.Train, d.Unlabelled)
	slices.Sort(order)
	if leading(order) {
		return nil
	}
	placed := make([]bool, d.Nodes())
	for _, i := range order {
		placed[i] = true
	}
	for _, role := range [][]int32{d.Validation, d.Test, graph.Indices(d.Nodes())} {
		for _, i := range slices.Sorted(slices.Values(role)) {
			if !placed[i] {
				placed[i], order = true, append(order, i)
			}
		}
	}
	return order
}

// HeldOut returns the same data without the rows of T's nodes in Adj and Relations, which [Original] has; what leads
// from them to other nodes stands in the others' rows. The nodes of T come first ([Dataset.OriginalFirst]).
func (d *Dataset) HeldOut() *Dataset {
	n, out := len(d.Train)+len(d.Unlabelled), *d
	out.Adj = d.Adj.Tail(n)
	if d.Relations != nil {
		out.Relations = d.Relations.Tail(n)
	}
	return &out
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

// Renumbered returns the data with node order[k] as node k. Nodes that are not in order are left out, with their edges.
func (d *Dataset) Renumbered(order []int32) *Dataset {
	return d.renumbered(order, d.X.Take(order))
}

// renumbered is Renumbered with the features of the nodes in that order.
func (d *Dataset) renumbered(order []int32, x graph.Features) *Dataset {
	index := graph.Places(order, d.Nodes())
	out := *d
	out.IDs, out.Labels = graph.Pick(d.IDs, order), graph.Pick(d.Labels, order)
	if d.Targets != nil {
		out.Targets = d.Targets.Take(order)
	}
	if d.Candidates != nil {
		out.Candidates = graph.Pick(d.Candidates, order)
	}
	if d.Times != nil {
		out.Times = graph.Pick(d.Times, order)
	}
	out.X, out.Identity = x, ""
	out.Adj = d.Adj.Submatrix(order, index, len(order))
	out.Adj.SortRows()
	if d.By.Relational() {
		out.Relations = d.Relations.CutSlots(order, index, len(order))
	}
	for _, list := range []*[]int32{&out.Train, &out.Unlabelled, &out.Validation, &out.Test, &out.Merged.Labelled} {
		var nodes []int32
		for _, i := range *list {
			if index[i] >= 0 {
				nodes = append(nodes, index[i])
			}
		}
		slices.Sort(nodes)
		*list = nodes
	}
	out.Merged.Waiting = nil
	for _, w := range d.Merged.Waiting {
		if w.From == "" {
			w.Node = index[w.Node]
		}
		if w.Node >= 0 || w.From != "" {
			out.Merged.Waiting = append(out.Merged.Waiting, w)
		}
	}
	out.Values = slices.Clone(d.Values)
	for k := range d.Values {
		out.Values[k] = d.Values[k].Take(order)
	}
	return &out
}

// Attach returns arrivals (dataset indices, distinct, none of them in T) as a batch on T: R = a (n×N), Known its row
// lengths, X their raw features (a view where they follow each other) and Adj = ã (n×n), the edges between arrivals
// that see each other in the mode, nil where none does. Neighbours that are neither in T nor in the batch are unknown
// and left out. Where edges have relations R is [P_1 | … | P_R] to T, n×RN, and there is no ã.
func (d *Dataset) Attach(o *Original, nodes []int32, mode *attach.Mode) *attach.Batch {
	if d.By.Relational() {
		return d.attachRelations(o, nodes)
	}
	b := &attach.Batch{X: d.X.View(nodes)}
	if mode.Sees != nil {
		b.Adj = d.among(nodes, mode.Sees)
	}
	b.R = d.Adj.Submatrix(nodes, o.Index, len(o.Nodes))
	b.Count()
	return b
}

// among returns ã, n×n with columns ascending: the edges between nodes that see each other. A map, not an index over
// all nodes: batches may be as small as one.
func (d *Dataset) among(nodes []int32, sees func(i, j int) bool) *graph.CSR {
	place := make(map[int32]int32, len(nodes))
	for k, i := range nodes {
		place[i] = int32(k)
	}
	adj := &graph.CSR{Rows: len(nodes), Cols: len(nodes), RowPtr: make([]int, len(nodes)+1)}
	for k, i := range nodes {
		cols, vals := d.Adj.Row(int(i))
		for p, c := range cols {
			if j, ok := place[c]; ok && sees(k, int(j)) {
				adj.ColIdx = append(adj.ColIdx, j)
				if vals != nil {
					adj.Val = append(adj.Val, vals[p])
				}
			}
		}
		adj.RowPtr[k+1] = len(adj.ColIdx)
	}
	if d.Adj.Val != nil && adj.Val == nil {
		adj.Val = []float32{} // nil would mean ones
	}
	adj.SortRows()
	return adj
}

// Batches cuts nodes into consecutive batches of at most size ≥ 1, views of nodes.
func Batches(nodes []int32, size int) [][]int32 {
	return slices.Collect(slices.Chunk(nodes, size))
}
