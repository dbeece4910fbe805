package fit

import (
	"context"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/features"
)

// Perceptron poses the fit of a perceptron with one hidden layer ([perceptron.Perceptron]) to rows of pre(X): that of
// an APPNP with α = 1 on a graph without edges, whose operator is the identity. A row has a class, or where soft (n×C)
// is given a row of probabilities, as the answers of a teacher have (Hinton, Vinyals and Dean, "Distilling the
// knowledge in a neural network", 2015).
func Perceptron(hidden int, x *features.FactoredFeatures, labels []int32, soft *graph.Dense, classes int) GNNProblem {
	n := x.Raw.Rows()
	s := Shape{Model: "appnp", Layers: 2, Hidden: hidden, Alpha: 1, Hops: 1}
	p := OnOriginal(s, &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1)}, x, labels, classes)
	p.Soft = soft
	return p
}

// Regression poses the fit of a perceptron of one layer, which is multinomial logistic regression, to the same rows.
func Regression(x *features.FactoredFeatures, labels []int32, classes int) Problem {
	return Problem{Design: NewInputs(x), Labels: labels, Classes: classes}
}

// FitPerceptron fits the weights of a perceptron with one hidden layer as [GNN] does. validate is given the layers.
func FitPerceptron(ctx context.Context, p GNNProblem, o GNNOptions,
	validate func([]architecture.Layer) float64) ([]architecture.Layer, Trace, error) {
	m, trace, err := GNN(ctx, p, o, func(m infer.Model) (float64, error) { return validate(m.Layers), nil })
	if err != nil {
		return nil, trace, err
	}
	return m.Layers, trace, nil
}
