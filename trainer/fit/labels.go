package fit

import (
	"context"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer/architecture"
)

// SoftLabels are the labels by which S teaches a linear model: rows of Means that sum to 1, and rows of the spread's
// directions that sum to 0. A direction is a pair of nodes on both sides of the means in effect: its row says by how
// much the logits differ along it.
type SoftLabels struct {
	Means  *graph.Dense // Y', N'×C
	Spread *graph.Dense // Γ, r×C
}

// LabelSolve chooses soft labels of S with which a fit on S alone gives what a fit on T's labelled rows gives within
// the span of S. It fits W = Q·Ω to these rows, Q an orthonormal basis of [μ − c0; V], c0 the mean of the N' means, and
// writes the result into labels. With W = (μ − c0)ᵀα + Vᵀγ, the gradient of
//
//	Σ_k ω_k CE(μ_k W + b, Y'_k) − ⟨Γ, V W⟩ + wd ‖W‖²
//
// is 0 there for Y'_k = softmax(μ_k W + b) + 2 wd (α_k − ᾱ)/ω_k and Γ = 2 wd γ. The loss is convex, so a fit ends
// there.
type LabelSolve struct {
	means, factor *graph.Dense // μ − c0, V
	weights       []float32    // ω of the means
	basis, by     *graph.Dense
	rows          Problem
}

// NewLabelSolve projects T's labelled rows onto the span of S. weights are the numbers of labelled nodes of the
// clusters, factor (r×d) the directions of the spread.
func NewLabelSolve(rows Problem, means, factor *graph.Dense, weights []float32) *LabelSolve {
	centre := graph.NewDense(1, means.Cols) // c0
	for k := range means.Rows {
		graph.Axpy(centre.Data, 1/float32(means.Rows), means.Row(k))
	}
	s := &LabelSolve{means: means.Clone(), factor: factor, weights: weights, rows: rows}
	for k := range means.Rows {
		graph.Axpy(s.means.Row(k), -1, centre.Data)
	}
	s.basis, s.by = span(graph.Stack(s.means, factor).Transposed())
	x := rows.Design.Forward(s.basis)
	shift := gemm.Mul(gemm.Of(centre), gemm.Of(s.basis))
	for i := range x.Rows {
		graph.Axpy(x.Row(i), -1, shift.Data)
	}
	s.rows.Design = Explicit{X: x}
	return s
}

// Labels fits within the span with a weight decay, from start or where that is nil from zeros, and returns the labels
// and the layer Ω, b, from which a fit with a smaller weight decay may start.
func (s *LabelSolve) Labels(ctx context.Context, decay float64, start *architecture.Layer) (*SoftLabels,
	*architecture.Layer, error) {
	layer, err := SGC(ctx, s.rows, decay, Final, start)
	if err != nil {
		return nil, nil, err
	}
	alpha := gemm.Mul(gemm.Of(s.by), gemm.Of(layer.Self))
	centreRows(alpha)
	n, classes := s.means.Rows, alpha.Cols
	total, mean := float32(0), make([]float32, classes)
	for k := range n {
		total += s.weights[k]
		graph.Axpy(mean, 1/float32(n), alpha.Row(k))
	}
	out := &SoftLabels{Spread: graph.NewDense(s.factor.Rows, classes)}
	out.Means = gemm.Mul(gemm.Of(gemm.Mul(gemm.Of(s.means), gemm.Of(s.basis))),
		gemm.Of(layer.Self)).AddRow(layer.Bias)
	for k := range n {
		row := out.Means.Row(k)
		graph.Softmax(row, row, 1)
		by := 2 * float32(decay) * total / s.weights[k]
		graph.Axpy(row, by, alpha.Row(k))
		graph.Axpy(row, -by, mean)
	}
	graph.Axpy(out.Spread.Data, 2*float32(decay), alpha.Data[n*classes:])
	return out, layer, nil
}

// centreRows subtracts its mean from each row.
func centreRows(m *graph.Dense) {
	for i := range m.Rows {
		sum := float32(0)
		for _, v := range m.Row(i) {
			sum += v
		}
		for c := range m.Row(i) {
			m.Row(i)[c] -= sum / float32(m.Cols)
		}
	}
}
