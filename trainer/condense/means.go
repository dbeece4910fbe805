package condense

import (
	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/features"
	"rivulet/trainer/product"
)

// Means are what an artifact keeps of T for models that come later (docs/algorithm.md, section 5, last part): the means of
// [artifact.Means] over the nodes of each cluster, weighted by w (N). Features are never propagated or made dense: the means
// go through the operator instead.
func Means(adj *graph.CSR, x *features.Factored, c *Clusters, w []float32) *artifact.Means {
	g, degrees := c.weightedMembership(w), adj.RowSums()
	out := &artifact.Means{X: x.Combine(g), Operators: map[string]artifact.OperatorMeans{}}
	for _, op := range infer.Operators() {
		in, _ := op.All(degrees, 0)
		scaled, sums := op.All(degrees, 1)
		back := make([]float32, len(degrees))
		for j, degree := range degrees {
			sent, received := op.Scales(float64(degree) + 1)
			back[j] = float32(sent * received)
		}
		out.Operators[op.Name] = artifact.OperatorMeans{
			PX:     x.Combine(product.Of(g, received(op, adj, in, scaled, sums))),
			Scaled: x.Combine(scaleColumns(g, scaled)),
			Scale:  times1(g, scaled),
			Back:   times1(g, back),
		}
	}
	return out
}

// received is diag(sums)·(B·diag(in) [+ diag(met)]), N×N, of nodes that have met one neighbour more: what they receive of
// the features of others as they are and, where there are self-loops, of their own as they have become.
func received(op *infer.Operator, adj *graph.CSR, in, met, sums []float32) *graph.CSR {
	n := adj.Rows
	out := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, adj.NNZ()+n), Val: make([]float32, 0, adj.NNZ()+n)}
	for j := range n {
		cols, _ := adj.Row(j)
		for _, k := range cols {
			out.ColIdx, out.Val = append(out.ColIdx, k), append(out.Val, sums[j]*in[k])
		}
		if op.Loops {
			out.ColIdx, out.Val = append(out.ColIdx, int32(j)), append(out.Val, sums[j]*met[j])
		}
		out.RowPtr[j+1] = len(out.ColIdx)
	}
	return out
}

// scaleColumns is g·diag(v).
func scaleColumns(g *graph.CSR, v []float32) *graph.CSR {
	out := &graph.CSR{Rows: g.Rows, Cols: g.Cols, RowPtr: g.RowPtr, ColIdx: g.ColIdx, Val: make([]float32, len(g.Val))}
	for p, j := range g.ColIdx {
		out.Val[p] = g.Val[p] * v[j]
	}
	return out
}

// times1 is g·v.
func times1(g *graph.CSR, v []float32) []float32 {
	return graph.Mul(g, &graph.Dense{Rows: len(v), Cols: 1, Data: v}).Data
}
