package fit

import (
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer/target"
)

// A softmax computes loss and gradient of a linear model on rows in memory, in one pass over them: the logits of a few
// rows, their loss and its gradient, and Fᵀ times that while the rows are still in the cache.
//
//	F n×d    W d×C    G = (ω∘(softmax(FW + b) − onehot(y)))/Σω, n×C    ∂W = FᵀG    ∂b = Gᵀ1
//
// Sums are taken over parts of the rows, at most maxParts of them, and added up in order: their bits do not depend on
// the number of processors.
type softmax struct {
	f       *graph.Dense
	labels  []int32
	share   []float32    // n: ω/Σω
	weights *graph.Dense // W, with columns of zeros up to a whole number of vectors
	bias    []float32    // b
	parts   []part
}

// part holds the sums over some rows.
type part struct {
	lo, hi   int
	loss     float64
	gradient *graph.Dense // FᵀG, as wide as W
	bias     []float64    // Gᵀ1
}

const (
	maxParts = 32
	// cached is the number of rows that are worked on at a time: of 602 features they take 0.6 MB.
	cached = 256
	// vector divides the width of a product whose kernels leave no lane idle.
	vector = 16
)

func newSoftmax(p *Problem, f *graph.Dense, share []float32) *softmax {
	width := (p.Classes + vector - 1) / vector * vector
	s := &softmax{f: f, labels: p.Labels, share: share, weights: graph.NewDense(f.Cols, width),
		bias: make([]float32, p.Classes)}
	s.parts = make([]part, max(1, min(maxParts, f.Rows/cached)))
	for k := range s.parts {
		s.parts[k] = part{lo: k * f.Rows / len(s.parts), hi: (k + 1) * f.Rows / len(s.parts),
			gradient: graph.NewDense(f.Cols, width), bias: make([]float64, p.Classes)}
	}
	return s
}

// evaluate returns the loss at W (row-major) and b, one after the other in x, and writes its gradient to grad.
func (s *softmax) evaluate(x, grad []float64) (loss float64) {
	classes, d := len(s.bias), s.f.Cols
	for k := range d {
		row := s.weights.Row(k)[:classes]
		for c := range row {
			row[c] = float32(x[k*classes+c])
		}
	}
	for c := range s.bias {
		s.bias[c] = float32(x[d*classes+c])
	}
	graph.ParallelRows(len(s.parts), len(s.f.Data)*classes, func(lo, hi int) {
		logits := graph.NewDense(min(cached, s.f.Rows), s.weights.Cols)
		for k := lo; k < hi; k++ {
			s.sum(&s.parts[k], logits)
		}
	})
	graph.ParallelRows(d, len(s.parts)*d*classes, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			row := grad[k*classes : (k+1)*classes]
			clear(row)
			for p := range s.parts {
				for c, v := range s.parts[p].gradient.Row(k)[:classes] {
					row[c] += float64(v)
				}
			}
		}
	})
	clear(grad[d*classes:])
	for k := range s.parts {
		loss += s.parts[k].loss
		for c, v := range s.parts[k].bias {
			grad[d*classes+c] += v
		}
	}
	return loss
}

// sum computes the sums of a part, a few rows after the other in the memory of logits.
func (s *softmax) sum(p *part, logits *graph.Dense) {
	p.loss = 0
	clear(p.gradient.Data)
	clear(p.bias)
	for lo := p.lo; lo < p.hi; lo += cached {
		rows := min(cached, p.hi-lo)
		f := gemm.Of(&graph.Dense{Rows: rows, Cols: s.f.Cols, Data: s.f.Data[lo*s.f.Cols : (lo+rows)*s.f.Cols]})
		g := &graph.Dense{Rows: rows, Cols: logits.Cols, Data: logits.Data[:rows*logits.Cols]}
		clear(g.Data)
		gemm.AddAlone(g, 1, f, gemm.Of(s.weights))
		for r := range rows {
			row := g.Row(r)[:len(s.bias)]
			graph.Add(row, s.bias)
			p.loss += float64(s.share[lo+r]) * target.SoftmaxLoss(row, int(s.labels[lo+r]), s.share[lo+r])
			clear(g.Row(r)[len(s.bias):])
			for c, v := range row {
				p.bias[c] += float64(v)
			}
		}
		gemm.AddAlone(p.gradient, 1, f.T(), gemm.Of(g))
	}
}
