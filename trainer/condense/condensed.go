package condense

import (
	"math"

	"rivulet/graph"
	"rivulet/trainer/features"
)

// Input is what a method condenses.
type Input struct {
	Adj    *graph.CSR         // A of T, N×N symmetric 0/1
	X      *features.Factored // pre(X) of T, N×d
	Points *graph.Dense       // N×p: Â²·pre(X), or a random projection of it
	Labels []int32            // N: class, −1 where unknown
	Share  []int              // C: synthetic nodes of each class, as Budget gives them; N' in all
}

// Condensed is what a method gives.
type Condensed struct {
	Adj        *graph.CSR   // A', N'×N' symmetric ≥ 0, zero diagonal
	X          *graph.Dense // X', N'×d, preprocessed
	Labels     []int32      // Y', N', ascending
	M          *graph.CSR   // M, N×N'; nil: deploys on T only
	Attachment string       // what M was made for, as the artifact has it: "joint" or "frozen"
}

// MembershipMapping is M of the cluster method, N×N': 1 at each node's cluster, the rows of nodes in none empty.
func MembershipMapping(c *Clusters) *graph.CSR {
	return c.mapping(func(int) float32 { return 1 })
}

// mapping is an M with one entry value(j) at the cluster of each node j.
func (c *Clusters) mapping(value func(j int) float32) *graph.CSR {
	m := &graph.CSR{Rows: len(c.Of), Cols: len(c.Size), RowPtr: make([]int, len(c.Of)+1)}
	for j, k := range c.Of {
		if k >= 0 {
			m.ColIdx, m.Val = append(m.ColIdx, k), append(m.Val, value(j))
		}
		m.RowPtr[j+1] = len(m.ColIdx)
	}
	return m
}

// weightedMembership is Iᵀ with rows of weighted mean weights, N'×N: row c has w_j/Σw at the nodes j of cluster c.
func (c *Clusters) weightedMembership(weights []float32) *graph.CSR {
	m := c.Membership()
	for k := range m.Rows {
		nodes, vals := m.Row(k)
		total := 0.0
		for _, j := range nodes {
			total += float64(weights[j])
		}
		for p, j := range nodes {
			vals[p] = float32(float64(weights[j]) / total)
		}
	}
	return m
}

// through returns g·op, n×N for g n×N and op N×N, row by row (Gustavson, 1978): it takes as many multiplications as there
// are ways from a row of g through op. Means over clusters stay sparse by it for a hop or two, and features never have to
// be propagated.
func through(g, op *graph.CSR) *graph.CSR {
	out := &graph.CSR{Rows: g.Rows, Cols: op.Cols, RowPtr: make([]int, g.Rows+1)}
	rows := make([]sparseRow, g.Rows)
	graph.ParallelRows(g.Rows, g.NNZ()*(1+op.NNZ()/max(1, op.Rows)), func(lo, hi int) {
		acc := make([]float32, op.Cols)
		for i := lo; i < hi; i++ {
			rows[i] = rowThrough(acc, g, op, i)
		}
	})
	for i, r := range rows {
		out.ColIdx, out.Val = append(out.ColIdx, r.cols...), append(out.Val, r.vals...)
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}

type sparseRow struct {
	cols []int32
	vals []float32
}

// rowThrough computes row i of g·op; acc is zero before and after.
func rowThrough(acc []float32, g, op *graph.CSR, i int) sparseRow {
	nodes, weights := g.Row(i)
	for p, j := range nodes {
		cols, vals := op.Row(int(j))
		for q, c := range cols {
			acc[c] += weights[p] * vals[q]
		}
	}
	var r sparseRow
	for c, v := range acc {
		if v != 0 {
			r.cols, r.vals = append(r.cols, int32(c)), append(r.vals, v)
			acc[c] = 0
		}
	}
	return r
}

// invSqrtDegrees are 1/√D_j, D_j the degree of j including its self-loop.
func invSqrtDegrees(adj *graph.CSR) []float32 {
	out := adj.RowSums()
	for j, d := range out {
		out[j] = float32(1 / math.Sqrt(float64(d)+1))
	}
	return out
}
