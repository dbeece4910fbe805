package features

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/schema"
)

// Auto lets the data choose: l2-center for bags of words, standardize for dense features.
const Auto = "auto"

// targetNorm is the RMS norm of the rows of Â²·pre(X) that the global scale produces, so that weight decays and
// learning rates mean the same for every set (docs/algorithm.md, section 1).
const targetNorm = 5

// blockWidth returns the number of columns of n nodes that are made dense at a time: 64 MiB of them, but at least a
// cache line and at most 128 columns.
func blockWidth(n int) int {
	const line, most, bytes = 16, 128, 64 << 20
	return min(most, max(line, bytes/(4*max(1, n))/line*line))
}

// Check returns an error for an unknown kind of preprocessing.
func Check(kind string) error {
	switch kind {
	case Auto, preprocess.L2Center, preprocess.L1, preprocess.Standardize, preprocess.None:
		return nil
	}
	return fmt.Errorf("preprocess is %q, want %q, %q, %q, %q or %q", kind, Auto, preprocess.L2Center, preprocess.L1,
		preprocess.Standardize, preprocess.None)
}

// Centres reports whether a preprocessing takes the mean off features, so that it becomes 0.
func Centres(kind string) bool { return kind != preprocess.None && kind != preprocess.L1 }

// Fit learns a preprocessing from the raw features of T's nodes (N×d) and Â (N×N). kind is auto, l2-center, l1,
// standardize or none; bagOfWords decides for auto. l1 is for features of 0 or more.
func Fit(kind string, x graph.Features, bagOfWords bool, hat *graph.CSR) (*preprocess.Parameters, error) {
	pre, _, err := fitted(kind, x, bagOfWords, nil, hat, false)
	return pre, err
}

// FitTwoHops does the work of [Fit] and returns its intermediate result too: Â²·pre(X), N×d, if X is dense and the
// preprocessing is not none; else nil.
//
// If the features have a schema, auto standardises them feature by feature ([blockDeviations]).
func FitTwoHops(kind string, x graph.Features, bagOfWords bool, s *schema.Schema,
	hat *graph.CSR) (*preprocess.Parameters,
	*graph.Dense, error) {
	return fitted(kind, x, bagOfWords && s == nil, s, hat, x.Sparse == nil)
}

func fitted(kind string, x graph.Features, bagOfWords bool, s *schema.Schema, hat *graph.CSR,
	keep bool) (*preprocess.Parameters, *graph.Dense, error) {
	if err := Check(kind); err != nil {
		return nil, nil, err
	}
	if kind == Auto {
		kind = preprocess.Standardize
		if bagOfWords {
			kind = preprocess.L2Center
		}
	}
	pre := &preprocess.Parameters{Kind: kind, Scale: 1}
	switch kind {
	case preprocess.None:
		return pre, nil, nil
	case preprocess.L2Center:
		pre.Mean, _ = moments(unitRows(x))
	case preprocess.L1:
		if err := checkNotNegative(x); err != nil {
			return nil, nil, err
		}
	case preprocess.Standardize:
		pre.Mean, pre.Std = moments(x)
		if s != nil {
			_, variance := variances(x)
			ownVariances(variance, x, s)
			blockDeviations(pre.Std, variance, s)
		}
	}
	var kept *graph.Dense
	if keep {
		kept = graph.NewDense(x.Rows(), x.Cols())
	}
	norm := propagatedNorm(Factor(x, pre), hat, kept)
	if norm == 0 {
		return nil, nil, fmt.Errorf("preprocess %q: the propagated features of the original graph do not vary", kind)
	}
	pre.Scale = float32(targetNorm / norm)
	if keep {
		graph.ParallelRows(kept.Rows, len(kept.Data), func(lo, hi int) {
			for k := lo * kept.Cols; k < hi*kept.Cols; k++ {
				kept.Data[k] *= pre.Scale
			}
		})
	}
	return pre, kept, nil
}

// checkNotNegative returns an error that names the first value below 0, with which rows do not sum to their L1
// norm.
func checkNotNegative(x graph.Features) (err error) {
	for i := range x.Rows() {
		x.Each(i, func(c int, v float32) {
			if v < 0 && err == nil {
				err = fmt.Errorf("preprocess %q: feature %d of node %d of the original graph is %v, want 0 or more",
					preprocess.L1, c, i, v)
			}
		})
	}
	return err
}

// rounding is the share of the mean row's norm below which the rest after centring counts as rounding.
const rounding = 1e-6

// propagatedNorm returns the RMS norm of the rows of Â²·pre(X), 0 if they are zero except for rounding. The rows
// themselves are left in kept, N×d, unless that is nil.
func propagatedNorm(f *FactoredFeatures, hat *graph.CSR, kept *graph.Dense) float64 {
	squares, centre := 0.0, 0.0
	f.TwoHops(hat, func(lo int, block *graph.Dense) {
		for i := range block.Rows {
			for _, v := range block.Row(i) {
				squares += float64(v) * float64(v)
			}
			if kept != nil {
				copy(kept.Row(i)[lo:], block.Row(i))
			}
		}
	})
	for _, v := range f.Offset {
		centre += float64(v) * float64(v)
	}
	norm := math.Sqrt(squares / float64(hat.Rows))
	if norm <= rounding*math.Sqrt(centre) {
		return 0
	}
	return norm
}

// moments returns the mean and the deviation of every column; a deviation of 0 becomes 1.
func moments(x graph.Features) (mean, std []float32) {
	mean, variance := variances(x)
	std = make([]float32, len(mean))
	for c, v := range variance {
		if std[c] = 1; v > 0 {
			std[c] = float32(math.Sqrt(v))
		}
	}
	return mean, std
}

// leastNormal is the smallest normal float32.
const leastNormal = 0x1p-126

// variances returns the mean and the variance of every column.
func variances(x graph.Features) (mean []float32, variance []float64) {
	d, n := x.Cols(), float64(x.Rows())
	sum, squares := make([]float64, d), make([]float64, d)
	for i := range x.Rows() {
		x.Each(i, func(c int, v float32) {
			sum[c] += float64(v)
			squares[c] += float64(v) * float64(v)
		})
	}
	mean, variance = make([]float32, d), make([]float64, d)
	for c := range d {
		m := sum[c] / n
		mean[c] = float32(m)
		// The naive variance cancels if the deviation is tiny compared with the mean; below float32's resolution it is 0.
		// So is one below the smallest normal float32, by which nothing can be divided.
		if v := squares[c]/n - m*m; v > 1e-12*squares[c]/n && math.Sqrt(v) >= leastNormal {
			variance[c] = v
		}
	}
	return mean, variance
}
