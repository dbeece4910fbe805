package condense

import (
	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/trainer/features"
	"rivulet/trainer/product"
)

// Means are the means of T that an artifact keeps for models added later (docs/algorithm.md, section 5, last part): the
// means of [artifact.Means] over the nodes of each cluster, weighted by w (N). Features are never propagated or made
// dense: the means go through the operator instead.
func Means(adj *graph.CSR, x *features.FactoredFeatures, c *Clusters, w []float32) *artifact.Means {
	g, degrees := c.weightedMembership(w), adj.RowSums()
	out := &artifact.Means{X: x.Combine(g), Operators: map[string]artifact.OperatorMeans{}}
	for _, op := range architecture.Operators() {
		in, _ := op.All(degrees, 0)
		scaled, sums := op.All(degrees, 1)
		back := make([]float32, len(degrees))
		for j, degree := range degrees {
			sent, received := op.Scales(float64(degree) + 1)
			back[j] = float32(sent * received)
		}
		var loops []float32
		if op.Loops {
			loops = scaled
		}
		// Nodes that have met one neighbour more receive the other nodes' features unchanged, and by self-loops their own
		// changed ones.
		received := graph.Scaled(adj, sums, in, loops)
		out.Operators[op.Name] = artifact.OperatorMeans{PX: x.Combine(product.Of(g, received)),
			Scaled: x.Combine(scaleColumns(g, scaled)), Scale: times1(g, scaled), Back: times1(g, back)}
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
