package fit

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
	"rivulet/graph/gemm"
)

// copies is the number of draws of a synthetic node in an epoch.
const copies = 8

// Neighbourhood describes how T's nodes lie around the synthetic ones for a model with hidden layers.
type Neighbourhood struct {
	Propagated, Self *Spread   // of P·pre(X) and, where it is read, pre(X), with directions that they share
	Shared           float32   // ρ: the part of a node's deviation that its neighbours have, too
	Own              []float32 // N': the mean weight of a node in its own row of P
	// Logits (N'×C) and Along (r×C) are a linear model's logits of the means, and its weights along the directions. Its
	// probabilities are half of the target of each draw, the class of the node is the other. nil: the class is all.
	Logits, Along *graph.Dense
}

// Around returns the problem of W_S with draws around the means of synthetic nodes in place of the means, drawn anew in
// each epoch: ε ~ N(0, I_r) of a draw is the same in all that the layers read, and what the directions do not have is
// drawn by signs. Where h̄ are means of h over draws of a node, a later layer reads
//
//	P'h̄ + ρP'(h − h̄) + diag(own)(h − h̄)
func (p GNNProblem) Around(s Neighbourhood) GNNProblem {
	n := len(p.Labels)
	out := p
	out.Labels, out.Weights = nil, nil
	for range copies {
		out.Labels, out.Weights = append(out.Labels, p.Labels...), append(out.Weights, p.Weights...)
	}
	out.Hop = hopOfDraws(p.Hop, s.Own, s.Shared)
	repeat := func(x *graph.Dense) *graph.Dense {
		all := graph.NewDense(copies*n, x.Cols)
		for b := range copies {
			copy(all.Data[b*len(x.Data):], x.Data)
		}
		return all
	}
	means := [2]*graph.Dense{repeat(p.Propagated.(Explicit).X), repeat(p.Self.(Explicit).X)}
	out.Propagated, out.Self = Explicit{X: means[0]}, Explicit{X: means[1]}
	if s.Logits != nil {
		out.Soft = repeat(s.Logits) // of the means until they are drawn
	}
	out.draw = func(seed uint64) (inputs [2]Design, soft *graph.Dense) {
		rng := rand.New(rand.NewPCG(seed, 0))
		noise := graph.NewDense(copies*n, s.Propagated.Factor.Rows)
		for k := range noise.Data {
			noise.Data[k] = float32(rng.NormFloat64())
		}
		for k, of := range []*Spread{s.Propagated, s.Self} {
			if of == nil {
				continue
			}
			x := means[k].Clone()
			gemm.Add(x, 1, gemm.Of(noise), gemm.Of(of.Factor))
			of.scatter(x, mix(seed+uint64(k)+1))
			inputs[k] = Explicit{X: x}
		}
		if s.Logits == nil {
			return inputs, nil
		}
		soft = repeat(s.Logits)
		gemm.Add(soft, 1, gemm.Of(noise), gemm.Of(s.Along))
		drawn := GNNProblem{Soft: soft, Labels: out.Labels}
		drawn.soften()
		return inputs, soft
	}
	return out
}

// soften makes soft labels of logits: half the labels and half the probabilities of the logits.
func (p *GNNProblem) soften() {
	for i := range p.Soft.Rows {
		row := p.Soft.Row(i)
		graph.Softmax(row, row, 1)
		graph.Scale(row, 0.5)
		row[p.Labels[i]] += 0.5
	}
}

// scatter adds ±√s to the columns of each row, by signs that follow from the seed.
func (s *Spread) scatter(x *graph.Dense, seed uint64) {
	width := make([]float32, x.Cols)
	for k, v := range s.Rest {
		width[k] = float32(math.Sqrt(float64(v)))
	}
	graph.ParallelRows(x.Rows, 2*len(x.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			bits := uint64(0)
			for k := range width {
				if k%64 == 0 {
					bits = mix(seed + golden*uint64(i*x.Cols+k))
				}
				x.Row(i)[k] += width[k] * float32(1-2*int(bits>>(k%64)&1))
			}
		}
	})
}

// hopOfDraws is the hop of draws, a draw of all nodes after the other.
func hopOfDraws(hop *graph.CSR, own []float32, shared float32) *graph.CSR {
	n := hop.Rows
	var entries []graph.Edge
	for b := range copies {
		for c := range copies {
			same := float32(0)
			if b == c {
				same = 1
			}
			add := func(i int, j int32, v float32) {
				entries = append(entries, graph.Edge{Row: int32(b*n + i), Col: int32(c*n) + j, Val: v})
			}
			for i := range n {
				if own[i] != 0 {
					add(i, int32(i), own[i]*(same-1.0/copies))
				}
				cols, vals := hop.Row(i)
				for k, j := range cols {
					add(i, j, vals[k]*(same*shared+(1-shared)/copies))
				}
			}
		}
	}
	return graph.NewCSR(copies*n, copies*n, entries)
}

// SharedDeviation returns ρ = ⟨Pe, e⟩/⟨e, e⟩: the part of a deviation that a node's neighbours have, too. e (N×r) is
// how far T's nodes lie along directions (r×d) from the means of the clusters that they are of.
func SharedDeviation(op *graph.CSR, in Input, of []int32, directions *graph.Dense) float32 {
	along := directions.Transposed()
	e, means := in.Rows.Forward(along), graph.MulDense(in.Means, along)
	for i, k := range of {
		graph.Axpy(e.Row(i), -1, means.Row(int(k)))
	}
	with, all := 0.0, 0.0
	pe := graph.Mul(op, e)
	for k, v := range e.Data {
		with += float64(v) * float64(pe.Data[k])
		all += float64(v) * float64(v)
	}
	return float32(min(1, max(0, with/max(all, math.SmallestNonzeroFloat64))))
}
