package condense

import (
	"math"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/trainer/features"
	"rivulet/trainer/product"
)

// operator is how one architecture passes messages, as [artifact.OperatorMeans] has it.
type operator struct {
	// in and out scale what a node of a degree sends and the sum that it receives; the degree counts edges.
	in, out func(degree float64) float64
	loops   bool // a node is its own neighbour
}

var operators = map[string]operator{
	"gcn":   {in: power(1, 0.5), out: power(1, 0.5), loops: true},
	"sage":  {in: func(float64) float64 { return 1 }, out: inverse(1)},
	"cheby": {in: inverse(0.5), out: inverse(0.5)},
}

// inverse is degree^-p, 0 where the degree is.
func inverse(p float64) func(degree float64) float64 {
	return func(degree float64) float64 {
		if degree == 0 {
			return 0
		}
		return math.Pow(degree, -p)
	}
}

// Means are what an artifact keeps of T for models that come later (docs/algorithm.md, section 5, last part): the means of
// [artifact.Means] over the nodes of each cluster, weighted by w (N). Features are never propagated or made dense: the means
// go through the operator instead.
func Means(adj *graph.CSR, x *features.Factored, c *Clusters, w []float32) *artifact.Means {
	g, degrees := c.weightedMembership(w), adj.RowSums()
	out := &artifact.Means{X: x.Combine(g), Operators: make(map[string]artifact.OperatorMeans, len(operators))}
	for name, op := range operators {
		in, scaled, back := make([]float32, len(degrees)), make([]float32, len(degrees)), make([]float32, len(degrees))
		for j, degree := range degrees {
			met := float64(degree) + 1
			in[j], scaled[j], back[j] = float32(op.in(float64(degree))), float32(op.in(met)), float32(op.in(met)*op.out(met))
		}
		out.Operators[name] = artifact.OperatorMeans{
			PX:     x.Combine(product.Of(g, op.received(adj, in, scaled, degrees))),
			Scaled: x.Combine(scaleColumns(g, scaled)),
			Scale:  times1(g, scaled),
			Back:   times1(g, back),
		}
	}
	return out
}

// received is diag(out)·(B·diag(in) [+ diag(met)]), N×N, of nodes that have met one neighbour more: what they receive of
// the features of others as they are and, where there are self-loops, of their own as they have become.
func (op operator) received(adj *graph.CSR, in, met, degrees []float32) *graph.CSR {
	n := adj.Rows
	out := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), ColIdx: make([]int32, 0, adj.NNZ()+n), Val: make([]float32, 0, adj.NNZ()+n)}
	for j := range n {
		scale := float32(op.out(float64(degrees[j]) + 1))
		cols, _ := adj.Row(j)
		for _, k := range cols {
			out.ColIdx, out.Val = append(out.ColIdx, k), append(out.Val, scale*in[k])
		}
		if op.loops {
			out.ColIdx, out.Val = append(out.ColIdx, int32(j)), append(out.Val, scale*met[j])
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
