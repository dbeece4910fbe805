package infer

import (
	"math"

	"rivulet/graph"
)

// joined is the graph with a batch in it, 𝔸 = [[B, Rᵀ], [R, ã]] (paper's Eq. 11), never assembled: its operator
// Â(𝔸) is applied block by block. D̃ are the row sums of 𝔸+I, weights of R included.
type joined struct {
	adj  *graph.CSR // m×m
	r    *graph.CSR // n×m
	rt   *graph.CSR // m×n
	at   *graph.CSR // n×n ã or nil
	invG []float32  // m: D̃^-½ of the graph's nodes
	invB []float32  // n: D̃^-½ of the arrivals
}

func newJoined(adj *graph.CSR, b *Batch) *joined {
	j := &joined{adj: adj, r: b.R, rt: b.R.Transpose(), at: b.Adj}
	fromGraph, fromBatch := adj.RowSums(), j.rt.RowSums()
	j.invG = make([]float32, adj.Rows)
	for i := range j.invG {
		j.invG[i] = float32(1 / math.Sqrt(1+float64(fromGraph[i])+float64(fromBatch[i])))
	}
	j.invB = b.jointInverses()
	return j
}

// jointInverses are D̃^-½ of the arrivals joined to a graph: D̃ counts the weights of R.
func (b *Batch) jointInverses() []float32 {
	inv := b.R.RowSums()
	for i, d := range inv {
		if b.Adj != nil {
			d += float32(b.Adj.RowLen(i))
		}
		inv[i] = float32(1 / math.Sqrt(1+float64(d)))
	}
	return inv
}

// scaled returns diag(inv)·z.
func scaled(inv []float32, z *graph.Dense) *graph.Dense {
	out := graph.NewDense(z.Rows, z.Cols)
	for i := range z.Rows {
		graph.Axpy(out.Row(i), inv[i], z.Row(i))
	}
	return out
}

// finish sets dst = diag(inv)(dst + own + more).
func finish(dst *graph.Dense, inv []float32, own, more *graph.Dense) {
	for i := range dst.Rows {
		out := dst.Row(i)
		graph.Add(out, own.Row(i))
		if more != nil {
			graph.Add(out, more.Row(i))
		}
		for k := range out {
			out[k] *= inv[i]
		}
	}
}

// hop returns the two blocks of Â(𝔸)[zg; zb]; the graph's block only where it is wanted.
func (j *joined) hop(zg, zb *graph.Dense, wantGraph bool) (g, b *graph.Dense) {
	sg, sb := scaled(j.invG, zg), scaled(j.invB, zb)
	b = graph.Mul(j.r, sg)
	var amongArrivals *graph.Dense
	if j.at != nil {
		amongArrivals = graph.Mul(j.at, sb)
	}
	finish(b, j.invB, sb, amongArrivals)
	if wantGraph {
		g = graph.Mul(j.adj, sg)
		finish(g, j.invG, sg, graph.Mul(j.rt, sb))
	}
	return g, b
}

// propagate returns the arrivals' rows of Â(𝔸)^hops [zg; zb].
func (j *joined) propagate(zg, zb *graph.Dense, hops int) *graph.Dense {
	for t := range hops {
		zg, zb = j.hop(zg, zb, t+1 < hops)
	}
	return zb
}

// nodes returns the graph's rows of Â(𝔸)^hops [zg; zb].
func (j *joined) nodes(zg, zb *graph.Dense, hops int) *graph.Dense {
	for range hops {
		zg, zb = j.hop(zg, zb, true)
	}
	return zg
}

// restart runs F ← α Â F + (1−α) F0 with F0 = [f0; 0] for the given steps and returns the arrivals' rows (section 6).
func (j *joined) restart(f0 *graph.Dense, alpha float32, steps int) *graph.Dense {
	g, b := f0, graph.NewDense(j.r.Rows, f0.Cols)
	for range steps {
		g, b = j.hop(g, b, true)
		for k := range g.Data {
			g.Data[k] = alpha*g.Data[k] + (1-alpha)*f0.Data[k]
		}
		for k := range b.Data {
			b.Data[k] *= alpha
		}
	}
	return b
}
