package tables

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/features"
)

// Features gives S the frozen tables of pre(X) itself, by which a frozen SGC gives embeddings: those of
// [infer.FeatureTables] on T (section 2 with Z = pre(X)), fitted as [Fitter.Fit] does. The tables of T, N×(2d+1) and dense
// whatever X is, are never made: they are linear in X, so the right sides of the normal equations are as well,
//
//	MᵀwU0 = (Mᵀw n)·X    MᵀwU1 = (Mᵀw n²(B D^-½ + n))·X    n_j = (D_j+1)^-½
//
// and the factor in brackets is computed row by row (N), for one node of S after the other.
func (f *Fitter) Features(adj *graph.CSR, x *features.Factored) (*infer.Tables, error) {
	h := newHops(adj)
	back := graph.NewDense(adj.Rows, 1)
	for j, met := range h.met {
		back.Data[j] = float32(met * met)
	}
	out := &infer.Tables{}
	byNode := f.m.Transpose() // N'×N: who is mapped to a node of S
	for _, through := range []func(sums []float64, j int, weight float64){h.own, h.neighbours} {
		solved, err := f.solve(rightSides(byNode, f.w, x, through))
		if err != nil {
			return nil, err
		}
		out.U = append(out.U, solved)
	}
	var err error
	out.C, err = f.table(back)
	return out, err
}

// hops are the scales of a graph whose nodes have met one neighbour more.
type hops struct {
	adj      *graph.CSR
	inv, met []float64 // N: D^-½ and n = (D+1)^-½
}

func newHops(adj *graph.CSR) *hops {
	h := &hops{adj, make([]float64, adj.Rows), make([]float64, adj.Rows)}
	for j, degree := range adj.RowSums() {
		h.inv[j] = 1 / math.Sqrt(1+float64(degree))
		h.met[j] = 1 / math.Sqrt(2+float64(degree))
	}
	return h
}

// own adds a multiple of row j of U0's operator to sums.
func (h *hops) own(sums []float64, j int, weight float64) { sums[j] += weight * h.met[j] }

// neighbours adds a multiple of row j of U1's operator to sums.
func (h *hops) neighbours(sums []float64, j int, weight float64) {
	weight *= h.met[j] * h.met[j]
	sums[j] += weight * h.met[j]
	cols, vals := h.adj.Row(j)
	for p, k := range cols {
		v := 1.0
		if vals != nil {
			v = float64(vals[p])
		}
		sums[k] += weight * v * h.inv[k]
	}
}

// rightSides are Mᵀw·op·pre(X), N'×d, in float64 as the normal equations are; through adds a multiple of a row of op.
func rightSides(byNode *graph.CSR, w []float32, x *features.Factored, through func(sums []float64, j int, weight float64)) *mat.Dense {
	n, d := byNode.Cols, len(x.Factor)
	right := mat.NewDense(byNode.Rows, d, nil)
	graph.ParallelRows(byNode.Rows, byNode.NNZ()*(1+d), func(lo, hi int) {
		sums := make([]float64, n)
		for c := lo; c < hi; c++ {
			clear(sums)
			nodes, vals := byNode.Row(c)
			for p, j := range nodes {
				weight := float64(w[j])
				if vals != nil {
					weight *= float64(vals[p])
				}
				through(sums, int(j), weight)
			}
			x.AddSums(right.RawRowView(c), sums)
		}
	})
	return right
}
