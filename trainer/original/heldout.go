package original

import (
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
)

// heldOutNodes are the held-out nodes, or a sample of them, and the nodes of T that they read.
type heldOutNodes struct {
	nodes    []solved.HeldNode
	x        graph.Features // their raw features
	original []solved.Number
}

// stagedJudges and stagedTest are the most nodes that are held out of the tables. They are the same for every engine,
// and so are the samples.
const (
	stagedJudges = 5000
	stagedTest   = 10000
)

// holdOut brings the validation and test nodes, or a sample of them, and makes them a data set with the nodes of T that
// they read.
func (t *Tables) holdOut(ctx context.Context) error {
	g := t.Graph
	roles := g.Summary.Roles
	o := solved.HeldOptions{Validation: solved.SampleOf(t.options.Seed, roles[partition.Validation], stagedJudges),
		Test: solved.SampleOf(t.options.Seed, roles[partition.Test], stagedTest)}
	made, err := t.run(ctx, stage.NewSpec(solved.StageHeld, o, nil, 1), g.Names, g.HeldFeatures, g.Held)
	if err != nil {
		return err
	}
	t.held = &heldOutNodes{}
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
