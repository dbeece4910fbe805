package tables

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/features"
)

// Features gives S the frozen tables of pre(X) itself, by which a frozen linear model gives embeddings: the tables of
// [infer.HopTables] on T (section 2 with Z = pre(X)), fitted as [Fitter.Fit] does. The tables of T, N×(K·d+…) and dense
// whatever X is, are never made: they are linear in X, and so are the right sides of the normal equations,
//
//	MᵀwU0 = (Mᵀw n)·X    MᵀwU1 = (Mᵀw n²(B D^-½ + n))·X    n_j = (D_j+1)^-½
//
// and so on, and the factor in brackets is computed row by row (N), for one node of S after the other. Edges are as of
// [infer.Network.Tables].
func (f *Fitter) Features(adj *graph.CSR, x *features.FactoredFeatures, count int, edges ...float32) (*infer.Tables,
	error) {
	return ofSlots(edges, func(edge float32) (*infer.Tables, error) { return f.features(adj, x, count, edge) })
}

// features are Features for the edges of a weight.
func (f *Fitter) features(adj *graph.CSR, x *features.FactoredFeatures, count int, edge float32) (*infer.Tables,
	error) {
	h := newHops(adj, float64(edge))
	out := &infer.Tables{}
	byNode := f.m.Transpose() // N'×N: a synthetic node's nodes of T
	for hop := range count {
		solved, err := f.solve(rightSides(byNode, f.w, x, func(sums []float64) { h.through(sums, hop) }))
		if err != nil {
			return nil, err
		}
		out.U = append(out.U, solved)
	}
	// The rest of the tables does not depend on the features.
	ways := infer.HopTables(adj, graph.NewDense(adj.Rows, 0), count, edge).C
	var err error
	out.C, err = f.Table(ways)
	return out, err
}

// hops are the scales of a graph whose nodes have met one neighbour more.
type hops struct {
	adj      *graph.CSR
	inv, met []float64 // N: D^-½ and n = (D+w)^-½
}

func newHops(adj *graph.CSR, edge float64) *hops {
	h := &hops{adj, make([]float64, adj.Rows), make([]float64, adj.Rows)}
	for j, degree := range adj.RowSums() {
		h.inv[j] = 1 / math.Sqrt(1+float64(degree))
		h.met[j] = 1 / math.Sqrt(1+edge+float64(degree))
	}
	return h
}

// through takes sums of the rows of a table, by the table's nodes, to sums of the rows of X: met are sums of Z̃^t,
// plain sums of Z^t; it goes from n Z̃^t to Z̃⁰ = Z⁰ = X by
//
//	Z̃^{t+1}_j = n_j(Σ_k B_jk Z^t_k/√D_k + n_j Z̃^t_j)        Z^{t+1} = Â Z^t
func (h *hops) through(sums []float64, hop int) {
	for j := range sums {
		sums[j] *= h.met[j]
	}
	var plain []float64
	for range hop {
		next := make([]float64, len(sums))
		for j, v := range sums {
			own := 0.0
			if plain != nil {
				own = plain[j] * h.inv[j]
			}
			if sent := v*h.met[j] + own; sent != 0 {
				cols, vals := h.adj.Row(j)
				for p, k := range cols {
					weight := 1.0
					if vals != nil {
						weight = float64(vals[p])
					}
					next[k] += sent * weight * h.inv[k]
				}
			}
			next[j] += own * h.inv[j]
			sums[j] = v * h.met[j] * h.met[j]
		}
		plain = next
	}
	for j, v := range plain {
		sums[j] += v
	}
}

// rightSides are Mᵀw·op·pre(X), N'×d, in float64 as the normal equations are; through turns sums of rows of op·pre(X)
// into sums of rows of pre(X).
func rightSides(byNode *graph.CSR, w []float32, x *features.FactoredFeatures, through func(sums []float64)) *mat.Dense {
	n, d := byNode.Cols, len(x.Factor)
	right := mat.NewDense(byNode.Rows, d, nil)
	graph.ParallelRows(byNode.Rows, byNode.NNZ()*(1+d), func(lo, hi int) {
		sums := make([]float64, n)
		for c := lo; c < hi; c++ {
			clear(sums)
			nodes, vals := byNode.Row(c)
			for p, j := range nodes {
				sums[j] = float64(w[j])
				if vals != nil {
					sums[j] *= float64(vals[p])
				}
			}
			through(sums)
			x.AddSums(right.RawRowView(c), sums)
		}
	})
	return right
}
