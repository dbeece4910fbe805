package features

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/schema"
)

// KindOf is the preprocessing that [Auto] chooses, or the kind itself.
func KindOf(kind string, bagOfWords bool, s *schema.Schema) string {
	if kind != Auto {
		return kind
	}
	if bagOfWords && s == nil {
		return preprocess.L2Center
	}
	return preprocess.Standardize
}

// Moments returns a preprocessing without its global scale of the means and variances of the columns of X̄ over
// T.
func Moments(kind string, mean []float32, variance []float64, s *schema.Schema) *preprocess.Parameters {
	pre := &preprocess.Parameters{Kind: kind, Scale: 1}
	if pre.Centres() {
		pre.Mean = mean
	}
	if kind != preprocess.Standardize {
		return pre
	}
	pre.Std = make([]float32, len(variance))
	for c, v := range variance {
		if pre.Std[c] = 1; v > 0 {
			pre.Std[c] = float32(math.Sqrt(v))
		}
	}
	if s != nil {
		blockDeviations(pre.Std, variance, s)
	}
	return pre
}

// Vectors are f and o of pre(X) = X̄ diag(f) − 1·oᵀ.
func Vectors(pre *preprocess.Parameters, d int) (factor, offset []float32) {
	f := Factor(graph.Features{Sparse: &graph.CSR{Cols: d, RowPtr: []int{0}}}, pre)
	return f.Factor, f.Offset
}

// GlobalScale returns the scale for rows of Â²·pre(X) of this RMS norm; an error if they vary by rounding only.
func GlobalScale(pre *preprocess.Parameters, norm float64, offset []float32) (float32, error) {
	if pre.Kind == preprocess.None {
		return 1, nil
	}
	centre := 0.0
	for _, v := range offset {
		centre += float64(v) * float64(v)
	}
	if norm <= rounding*math.Sqrt(centre) {
		return 0, fmt.Errorf("preprocess %q: the propagated features of the original graph do not vary", pre.Kind)
	}
	return float32(targetNorm / norm), nil
}
