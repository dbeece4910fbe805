package fit

import (
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/features"
)

// Spread is the covariance of T's labelled rows around the means of their clusters, of all clusters together: Σ = VᵀV +
// diag(s). A fit on N' means alone takes every node for its mean; a fit with the spread knows how far nodes lie from
// it.
type Spread struct {
	Factor *graph.Dense // V, r×d: the principal directions, the widest first, each as long as its standard deviation
	Rest   []float32    // s, d: the variance of each column that V does not have, ≥ 0
}

// Narrow returns the spread with the first r directions; the others go into the rest.
func (s *Spread) Narrow(r int) *Spread {
	if r >= s.Factor.Rows {
		return s
	}
	d := s.Factor.Cols
	out := &Spread{Factor: &graph.Dense{Rows: r, Cols: d, Data: s.Factor.Data[:r*d]}, Rest: make([]float32, d)}
	copy(out.Rest, s.Rest)
	for k := r; k < s.Factor.Rows; k++ {
		for c, v := range s.Factor.Row(k) {
			out.Rest[c] += v * v
		}
	}
	return out
}

// times returns ΣW, d×C.
func (s *Spread) times(w *graph.Dense) *graph.Dense {
	v := gemm.Of(s.Factor)
	out := gemm.Mul(v.T(), gemm.Of(gemm.Mul(v, gemm.Of(w))))
	for k, rest := range s.Rest {
		graph.Axpy(out.Row(k), rest, w.Row(k))
	}
	return out
}

// widen adds ½ (w_c − w_y)ᵀ Σ (w_c − w_y) to logit c of each row of class y, and returns ΣW. The cross-entropy of the
// result bounds the expected one of a Gaussian around each row from above, by Jensen's inequality (Wang et al.,
// "Implicit Semantic Data Augmentation for Deep Networks", 2019).
func (s *Spread) widen(logits *graph.Dense, labels []int32, w *graph.Dense) *graph.Dense {
	sw := s.times(w)
	k := gemm.Mul(gemm.Of(w).T(), gemm.Of(sw))
	for i, y := range labels {
		row, own := logits.Row(i), k.Row(int(y))
		for c := range row {
			row[c] += 0.5 * (own[y] + k.Row(c)[c] - 2*own[c])
		}
	}
	return sw
}

// gradient adds the gradient of widen's part to grad, d×C row by row: with g (n×C) the loss's gradient by the logits
// and R_yc = Σ_{i of class y} g_ic, c ≠ y,
//
//	SW∘(R1 + Rᵀ1)ᵀ − SW(R + Rᵀ)
func (s *Spread) gradient(grad []float64, g *graph.Dense, labels []int32, sw *graph.Dense) {
	classes := sw.Cols
	turn := graph.NewDense(classes, classes) // diag(R1 + Rᵀ1) − (R + Rᵀ)
	for i, y := range labels {
		for c, v := range g.Row(i) {
			if c == int(y) {
				continue
			}
			turn.Row(c)[c] += v
			turn.Row(int(y))[y] += v
			turn.Row(c)[y] -= v
			turn.Row(int(y))[c] -= v
		}
	}
	for k, v := range gemm.Mul(gemm.Of(sw), gemm.Of(turn)).Data {
		grad[k] += float64(v)
	}
}

// Input has the rows that a layer reads of labelled nodes, and their means over the clusters.
type Input struct {
	Rows  Design       // n×d
	Means *graph.Dense // N'×d
}

// deviations are the rows of inputs less the means of their clusters, side by side, each input times its scale. It is a
// [Design].
type deviations struct {
	inputs []Input
	scales []float32
	of     []int32 // n: the cluster of each row
}

// Dims returns the number of rows and of columns.
func (e *deviations) Dims() (rows, columns int) {
	for _, in := range e.inputs {
		columns += in.Means.Cols
	}
	return len(e.of), columns
}

// Forward returns E·W.
func (e *deviations) Forward(w *graph.Dense) *graph.Dense {
	out, at := graph.NewDense(len(e.of), w.Cols), 0
	for k, in := range e.inputs {
		part := &graph.Dense{Rows: in.Means.Cols, Cols: w.Cols, Data: w.Data[at*w.Cols : (at+in.Means.Cols)*w.Cols]}
		at += in.Means.Cols
		rows, means := in.Rows.Forward(part), gemm.Mul(gemm.Of(in.Means), gemm.Of(part))
		for i, c := range e.of {
			graph.Axpy(out.Row(i), e.scales[k], rows.Row(i))
			graph.Axpy(out.Row(i), -e.scales[k], means.Row(int(c)))
		}
	}
	return out
}

// Adjoint returns Eᵀ·G.
func (e *deviations) Adjoint(g *graph.Dense) *graph.Dense {
	_, columns := e.Dims()
	out, at := graph.NewDense(columns, g.Cols), 0
	for k, in := range e.inputs {
		sums := graph.NewDense(in.Means.Rows, g.Cols) // of each cluster
		for i, c := range e.of {
			graph.Add(sums.Row(int(c)), g.Row(i))
		}
		part := in.Rows.Adjoint(g)
		gemm.Add(part, -1, gemm.Of(in.Means).T(), gemm.Of(sums))
		graph.Axpy(out.Data[at*g.Cols:(at+part.Rows)*g.Cols], e.scales[k], part.Data)
		at += part.Rows
	}
	return out
}

// squares returns the mean square of each column.
func (e *deviations) squares() []float32 {
	const width = 256
	n, columns := e.Dims()
	out := make([]float32, columns)
	for lo := 0; lo < columns; lo += width {
		pick := graph.NewDense(columns, min(width, columns-lo))
		for k := range pick.Cols {
			pick.Row(lo + k)[k] = 1
		}
		sums := make([]float64, pick.Cols)
		rows := e.Forward(pick)
		for i := range rows.Rows {
			for k, v := range rows.Row(i) {
				sums[k] += float64(v) * float64(v)
			}
		}
		for k, v := range sums {
			out[lo+k] = float32(v / float64(n))
		}
	}
	return out
}

// Spreads measures the spread of inputs of labelled nodes around the means of their clusters, with up to rank
// directions that they share: a node far from its mean in one input is so in the others. Each input counts by its own
// variance. There are no random numbers in it.
func Spreads(inputs []Input, of []int32, rank int) []*Spread {
	e := &deviations{inputs: inputs, scales: slices.Repeat([]float32{1}, len(inputs)), of: of}
	squares := e.squares()
	at := 0
	if len(inputs) > 1 {
		for k, in := range inputs {
			sum := 0.0
			for _, v := range squares[at : at+in.Means.Cols] {
				sum += float64(v)
			}
			if at += in.Means.Cols; sum > 0 {
				e.scales[k] = float32(1 / math.Sqrt(sum))
			}
		}
		at = 0
	}
	factor := principal(e, rank)
	out := make([]*Spread, len(inputs))
	for k, in := range inputs {
		s := &Spread{Factor: factor.Columns(at, at+in.Means.Cols), Rest: squares[at : at+in.Means.Cols : at+in.Means.Cols]}
		at += in.Means.Cols
		graph.Scale(s.Factor.Data, 1/e.scales[k])
		for r := range s.Factor.Rows {
			for c, v := range s.Factor.Row(r) {
				s.Rest[c] -= v * v
			}
		}
		for c, v := range s.Rest {
			s.Rest[c] = max(0, v)
		}
		out[k] = s
	}
	return out
}

// Subspace iteration (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011): the number of columns
// computed beyond the rank, and of passes over the rows. It starts from sums of rows in place of random numbers.
const (
	oversampling = 10
	passes       = 2
)

// principal returns the first principal directions of the rows of a design, each times its standard deviation, the
// widest first: V with VᵀV ≈ EᵀE/n, at most rank×d.
func principal(e Design, rank int) *graph.Dense {
	n, d := e.Dims()
	start := graph.NewDense(n, min(rank+oversampling, d, n))
	for i := range n {
		start.Row(i)[i%start.Cols] = float32(1 - 2*(i/start.Cols%2)) // the sum of all deviations is 0
	}
	q, _ := span(e.Adjoint(start))
	for range passes {
		q, _ = span(e.Adjoint(e.Forward(q)))
	}
	values, vectors := eigen(e.Forward(q))
	v := gemm.Mul(gemm.Of(vectors).T(), gemm.Of(q).T())
	out := graph.NewDense(min(rank, v.Rows), d)
	for k := range out.Rows {
		graph.Axpy(out.Row(k), float32(math.Sqrt(values[k]/float64(n))), v.Row(k))
	}
	return out
}

// negligible is the share of the largest eigenvalue below which a direction is left out: it is rounding errors.
const negligible = 1e-7

// span returns an orthonormal basis of the columns of y, d×q, and the combinations of them that it is: basis = y·by.
func span(y *graph.Dense) (basis, by *graph.Dense) {
	values, vectors := eigen(y)
	q := 0
	for q < len(values) && values[q] > negligible*values[0] {
		q++
	}
	by = vectors.Columns(0, q)
	for i := range by.Rows {
		for k := range by.Row(i) {
			by.Row(i)[k] *= float32(1 / math.Sqrt(values[k]))
		}
	}
	return gemm.Mul(gemm.Of(y), gemm.Of(by)), by
}

// eigen returns the eigenvalues of yᵀy, the largest first, and the eigenvectors as columns.
func eigen(y *graph.Dense) (values []float64, vectors *graph.Dense) {
	columns, values := features.GramEigen(y)
	vectors = graph.NewDense(y.Cols, y.Cols)
	for k := range values {
		values[k] = max(0, values[k])
		for i := range vectors.Rows {
			vectors.Row(i)[k] = float32(columns.At(i, k))
		}
	}
	return values, vectors
}
