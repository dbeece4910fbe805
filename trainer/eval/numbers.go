package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/graph"
	"rivulet/infer/target"
)

// Numbers are the scores of predictions of numbers.
type Numbers struct {
	// R2 is the share of the numbers' variance that predictions explain, in percent, the mean over the outputs: 100 is
	// perfect, 0 is no better than the mean of the nodes that are measured, and worse is below 0. Where the numbers of
	// these nodes do not vary it is 0 if an answer is wrong, and 100 if all are right.
	R2 Spread `json:"r2"`
	// MAE is the mean absolute error of each output, in its own unit.
	MAE []float64 `json:"mae"`
	// Covered is the share of numbers that lie in their interval, in percent, over all outputs; intervals are made for
	// [target.Interval] percent. 0: there are none.
	Covered Spread `json:"covered"`
}

// Numbers scores an answer. radius is half the width of each output's interval; nil: there are none.
func (a *Answer) Numbers(s *Set, radius []float64) *Numbers {
	truth, said := graph.Stack(s.Targets...), graph.Stack(a.Logits...)
	n, outputs := float64(max(1, truth.Rows)), truth.Cols
	out := &Numbers{MAE: make([]float64, outputs)}
	for k := range outputs {
		mean, total, left, covered := 0.0, 0.0, 0.0, 0
		for i := range truth.Rows {
			mean += float64(truth.Row(i)[k]) / n
		}
		for i := range truth.Rows {
			y, e := float64(truth.Row(i)[k]), float64(truth.Row(i)[k])-float64(said.Row(i)[k])
			total += (y - mean) * (y - mean)
			left += e * e
			out.MAE[k] += math.Abs(e) / n
			if radius != nil && math.Abs(e) <= radius[k] {
				covered++
			}
		}
		if varies(truth, k) {
			out.R2.Mean += 100 * (1 - left/total) / float64(outputs)
		} else if left == 0 {
			out.R2.Mean += 100 / float64(outputs)
		}
		out.Covered.Mean += 100 * float64(covered) / n / float64(outputs)
	}
	return out
}

// varies reports whether a column has two values. The sum of squares around the mean does not tell: the mean of equal
// numbers is rounded, and the sum then above 0.
func varies(m *graph.Dense, k int) bool {
	for i := range m.Rows {
		if m.Row(i)[k] != m.Row(0)[k] {
			return true
		}
	}
	return false
}

// Radius returns half the width of the interval of each output by split conformal prediction (Lei et al.,
// "Distribution-Free Predictive Inference for Regression", 2018): of n absolute errors the ⌈(n+1)·share⌉-th smallest,
// so that new nodes like these lie within it with at least this probability. An error says that they are too few.
func (a *Answer) Radius(s *Set) ([]float64, error) {
	truth, said := graph.Stack(s.Targets...), graph.Stack(a.Logits...)
	at := int(math.Ceil(float64(truth.Rows+1) * target.Interval / 100))
	if at > truth.Rows {
		return nil, fmt.Errorf("%d validation nodes are too few for intervals of %d%%, want at least %d", truth.Rows,
			target.Interval, target.Interval/(100-target.Interval))
	}
	out := make([]float64, truth.Cols)
	for k := range out {
		errs := make([]float64, truth.Rows)
		for i := range errs {
			errs[i] = math.Abs(float64(truth.Row(i)[k]) - float64(said.Row(i)[k]))
		}
		slices.SortFunc(errs, cmp.Compare)
		out[k] = errs[at-1]
	}
	return out, nil
}

// spreads are the scores with a deviation, in the order of tables.
func (n *Numbers) spreads() []*Spread { return []*Spread{&n.R2, &n.Covered} }

// joinedNumbers are the scores over seeds.
func joinedNumbers(rows []Result) *Numbers {
	out := &Numbers{MAE: make([]float64, len(rows[0].Numbers.MAE))}
	joinSpreads(rows, out.spreads(), func(r *Result) []*Spread { return r.Numbers.spreads() })
	for k := range out.MAE {
		out.MAE[k] = SpreadOf(values(rows, func(r *Result) float64 { return r.Numbers.MAE[k] })).Mean
	}
	return out
}

// Errors writes the mean absolute errors of the outputs.
func (n *Numbers) Errors() string {
	text := make([]string, len(n.MAE))
	for k, v := range n.MAE {
		text[k] = fmt.Sprintf("%.4g", v)
	}
	return strings.Join(text, " ")
}
