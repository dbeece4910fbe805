package original

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// heldOutNodes are the held-out nodes, or a sample of them, and the nodes of T that they read.
type heldOutNodes struct {
	nodes    []solved.HeldNode
	x        graph.Features // their raw features
	original []solved.Number
	asked    stage.Table // original, by block
}

// holdOut brings the validation and test nodes, or a sample of them, and makes them a data set with the nodes of T that
// they read.
func (t *Tables) holdOut(ctx context.Context) error {
	g := t.Graph
	roles := g.Summary.Roles
	o := solved.HeldOptions{Validation: solved.SampleOf(t.options.Seed, roles[partition.Validation], stagedJudges),
		Test: solved.SampleOf(t.options.Seed, roles[partition.Test], stagedTest)}
	made, err := t.run(ctx, stage.NewSpec(solved.StageHeld, o, nil, 2), g.Names, g.HeldFeatures, g.Held)
	if err != nil {
		return err
	}
	t.held = &heldOutNodes{asked: made[1]}
	var parts []graph.Features
	for r, err := range t.engine.Read(ctx, made[0]) {
		if err != nil {
			return err
		}
		nodes, x, err := solved.ReadHeld(r)
		if err != nil {
			return err
		}
		t.held.nodes = append(t.held.nodes, nodes...)
		for _, n := range nodes {
			t.held.original = append(t.held.original, n.Original...)
		}
		parts = append(parts, x)
	}
	slices.SortFunc(t.held.original, solved.Number.Compare)
	t.held.original = slices.Compact(t.held.original)
	t.held.x = stackedFeatures(parts)
	t.Data, t.Original = t.attached(t.held.original)
	m := len(t.held.original)
	t.Original.X = graph.Features{Dense: graph.NewDense(0, g.Summary.Width)}
	t.Original.Adj = &graph.CSR{Rows: m, Cols: m, RowPtr: make([]int, m+1)}
	t.Original.IDs, t.Original.Labels = make([]string, m), make([]int32, m)
	if len(t.Data.Validation) == 0 {
		return fmt.Errorf("no validation node is in the sample")
	}
	return nil
}

// stackedFeatures are all rows, one part after the other.
func stackedFeatures(parts []graph.Features) graph.Features {
	sparse := slices.ContainsFunc(parts, func(x graph.Features) bool { return x.Sparse != nil })
	if !sparse {
		out := &graph.Dense{}
		for _, p := range parts {
			out.Rows, out.Cols = out.Rows+p.Rows(), max(out.Cols, p.Cols())
			out.Data = append(out.Data, p.Dense.Data...)
		}
		return graph.Features{Dense: out}
	}
	out := &graph.CSR{RowPtr: []int{0}}
	for _, p := range parts {
		if p.Sparse == nil { // no rows
			continue
		}
		before := len(out.ColIdx)
		for _, end := range p.Sparse.RowPtr[1:] {
			out.RowPtr = append(out.RowPtr, before+end)
		}
		out.Rows, out.Cols = out.Rows+p.Rows(), p.Cols()
		out.ColIdx, out.Val = append(out.ColIdx, p.Sparse.ColIdx...), append(out.Val, p.Sparse.Val...)
	}
	return graph.Features{Sparse: out}
}

// attached is a data set of the nodes held out, numbered first, with their edges to some nodes of T, which are behind
// them. Of T's nodes it has nothing else.
func (t *Tables) attached(numbers []solved.Number) (*dataset.Dataset, *dataset.Original) {
	h, index := t.held, t.classIndex()
	n, m := len(h.nodes), len(numbers)
	d := &dataset.Dataset{Name: t.source.Name, X: h.x, Classes: t.Classes, BagOfWords: t.source.BagOfWords}
	place := make(map[solved.Number]int32, n+m)
	for k, node := range h.nodes {
		place[node.Number] = int32(k)
		d.IDs, d.Labels = append(d.IDs, node.ID), append(d.Labels, index[node.Label])
		if node.Role == partition.Validation {
			d.Validation = append(d.Validation, int32(k))
		} else {
			d.Test = append(d.Test, int32(k))
		}
	}
	original := &dataset.Original{Index: slices.Repeat([]int32{-1}, n)}
	for k, number := range numbers {
		i := int32(n + k)
		place[number] = i
		original.Nodes, original.Index = append(original.Nodes, i), append(original.Index, int32(k))
	}
	d.Adj = &graph.CSR{Rows: n + m, Cols: n + m, RowPtr: make([]int, n+m+1)}
	for k, node := range h.nodes {
		start := len(d.Adj.ColIdx)
		for _, list := range [][]solved.Number{node.Original, node.Other} {
			for _, j := range list {
				if at, ok := place[j]; ok {
					d.Adj.ColIdx = append(d.Adj.ColIdx, at)
				}
			}
		}
		slices.Sort(d.Adj.ColIdx[start:])
		d.Adj.RowPtr[k+1] = len(d.Adj.ColIdx)
	}
	for k := range m {
		d.Adj.RowPtr[n+k+1] = len(d.Adj.ColIdx)
	}
	return d, original
}

// scaled is W times the global scale, for features without it.
func (t *Tables) scaled(w *graph.Dense) *graph.Dense {
	out := w.Clone()
	for k := range out.Data {
		out.Data[k] *= t.Pre.Scale
	}
	return out
}

// Fetch returns the tables of T of an sgc of two hops, for weights (d×columns), of the nodes that are read.
func (t *Tables) Fetch(ctx context.Context, weights *graph.Dense) (*infer.Tables, error) {
	g := t.Graph
	spec := stage.NewSpec(
		solved.StageFetch,
		t.preparing, // in all columns
		t.with(stage.Sides{solved.SideWeights: wire.AppendDense(nil, t.scaled(weights))}),
		1,
	)
	made, err := t.run(ctx, spec, t.held.asked, g.Features, g.Degrees, t.s1)
	if err != nil {
		return nil, err
	}
	n := len(t.held.original)
	out := &infer.Tables{U: []*graph.Dense{graph.NewDense(n, weights.Cols), graph.NewDense(n, weights.Cols)},
		C: graph.NewDense(n, 1)}
	at := 0
	for r, err := range t.engine.Read(ctx, made[0]) {
		if err != nil {
			return nil, err
		}
		part, err := solved.ReadFetched(r.Payload)
		if err != nil {
			return nil, err
		}
		first := at
		if at, err = t.inOrder(r.Key, part.Places, at); err != nil {
			return nil, err
		}
		copy(out.U[0].Data[first*weights.Cols:], part.U0.Data)
		copy(out.U[1].Data[first*weights.Cols:], part.U1.Data)
		for k, degree := range part.Degrees {
			out.C.Data[first+k] = float32(1 / (2 + float64(degree)))
		}
	}
	if at != n {
		return nil, fmt.Errorf("%d nodes were fetched, %d asked for", at, n)
	}
	return out, nil
}

// LabelledRows are rows of Â²·pre(X) of labelled nodes, or of its projection where that is propagated.
type LabelledRows struct {
	Labels []int32
	X      *graph.Dense
	nodes  []solved.Number
	rows   []int64 // of the data
}

// inOrder returns the labels in the order of the data, and that order. It moves the rows of x to it.
func (l *LabelledRows) inOrder(x *graph.Dense) (labels, order []int32) {
	order = make([]int32, len(l.rows))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(l.rows[a], l.rows[b]) })
	moved, first := make([]bool, len(order)), make([]float32, x.Cols)
	for start := range order { // a cycle of moves at a time: a copy of all rows may be large
		if moved[start] {
			continue
		}
		copy(first, x.Row(start))
		at := start
		for next := int(order[at]); next != start; at, next = next, int(order[next]) {
			copy(x.Row(at), x.Row(next))
			moved[at] = true
		}
		copy(x.Row(at), first)
		moved[at] = true
	}
	labels = make([]int32, len(order))
	for k, i := range order {
		labels[k] = l.Labels[i]
	}
	return labels, order
}

func (t *Tables) readLabelled(ctx context.Context, from stage.Table) (*LabelledRows, error) {
	index := t.classIndex()
	out := &LabelledRows{X: &graph.Dense{}}
	for r, err := range t.engine.Read(ctx, from) {
		if err != nil {
			return nil, err
		}
		rows, err := solved.ReadLabelled(r.Payload)
		if err != nil {
			return nil, err
		}
		for k, place := range rows.Places {
			out.nodes = append(out.nodes, solved.Number{Block: r.Key, Place: place})
			out.Labels = append(out.Labels, index[rows.Labels[k]])
		}
		out.rows = append(out.rows, rows.Rows...)
		out.X.Cols, out.X.Data = rows.X.Cols, append(out.X.Data, rows.X.Data...)
	}
	out.X.Rows = len(out.nodes)
	return out, nil
}
