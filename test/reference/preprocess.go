package reference

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// RMSNorm is the size to which the global scale brings the rows of Â²X.
const RMSNorm = 5

// Preprocess holds fitted parameters of section 1:
//
//	l2-center    Scale (x/‖x‖ − Mean), a zero row stays zero before centring
//	l1           Scale x/max(1, Σ|x|)
//	standardize  Scale (x − Mean)/Std
//	none         x
type Preprocess struct {
	Kind      string
	Mean, Std []float64 // d
	Scale     float64
}

// FitPreprocess fits on T's nodes. Mean and Std (the population's deviation; 0 becomes 1) are taken over all rows, of
// unit norm for l2-center. Scale makes √(mean over rows of the squared L2 norm of the row of Â²X) equal to 5; where Â²X
// is zero but for rounding it is 1. none has neither, l1 has only Scale: its mean is 0.
func FitPreprocess(kind string, graph, x Matrix) Preprocess {
	d := x.Cols()
	p := Preprocess{Kind: kind, Mean: make([]float64, d), Std: make([]float64, d), Scale: 1}
	for k := range p.Std {
		p.Std[k] = 1
	}
	if kind == "none" {
		return p
	}
	switch kind {
	case "l1":
	case "l2-center":
		p.Mean = columnMeans(unitRows(x))
	default:
		p.Mean = columnMeans(x)
		squares := columnMeans(At(len(x), d, func(i, k int) float64 { return (x[i][k] - p.Mean[k]) * (x[i][k] - p.Mean[k]) }))
		for k, v := range squares {
			if v > 1e-18 { // a constant column has rounding errors
				p.Std[k] = math.Sqrt(v)
			}
		}
	}
	op := AHat(graph)
	if norm := RowRMS(op.Mul(op.Mul(p.Apply(x)))); norm > 1e-9 {
		p.Scale = RMSNorm / norm
	}
	return p
}

// RowRMS is √(mean over rows of the squared L2 norm).
func RowRMS(m Matrix) float64 {
	sum := 0.0
	for _, row := range m {
		for _, v := range row {
			sum += v * v / float64(len(m))
		}
	}
	return math.Sqrt(sum)
}

// Apply returns the model's features of raw rows.
func (p Preprocess) Apply(x Matrix) Matrix {
	switch p.Kind {
	case "none":
		return x
	case "l2-center":
		x = unitRows(x)
	case "l1":
		x = sumRows(x)
	case "standardize":
	default:
		panic(fmt.Sprintf("reference: preprocessing %q", p.Kind))
	}
	return At(len(x), x.Cols(), func(i, k int) float64 { return p.Scale * (x[i][k] - p.Mean[k]) / p.Std[k] })
}

// unitRows are x/‖x‖; a row of zeros stays one.
func unitRows(x Matrix) Matrix {
	return divided(x, func(row []float64) float64 { return cmp.Or(mat.Norm(mat.NewVecDense(len(row), row), 2), 1) })
}

// sumRows are x/max(1, Σ|x|).
func sumRows(x Matrix) Matrix {
	return divided(x, func(row []float64) float64 { return max(1, mat.Norm(mat.NewVecDense(len(row), row), 1)) })
}

func divided(x Matrix, by func(row []float64) float64) Matrix {
	out := Matrix{}
	for _, row := range x {
		norm := by(row)
		out = append(out, Each(row, func(v float64) float64 { return v / norm }))
	}
	return out
}

func columnMeans(x Matrix) []float64 {
	means := make([]float64, x.Cols())
	for _, row := range x {
		for k, v := range row {
			means[k] += v / float64(len(x))
		}
	}
	return means
}
