package target

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
)

// IntervalShare is the share of nodes, in percent, whose number is to lie within the interval of its prediction.
const IntervalShare = 90

// number is the task of one number or several, the outputs.
type number struct{}

func (number) name() string              { return "number" }
func (number) outputs() string           { return "outputs" }
func (number) group() string             { return "numbers" }
func (number) truth() Truth              { return NumberEach }
func (number) fitted() Fit               { return IntervalEach }
func (number) regression() bool          { return true }
func (number) class(row []float32) int   { return graph.ArgMax(row) }
func (number) groups(present, _ int) int { return present }

func (number) units(targets *graph.Dense) []float64 { return UnitsOf(targets).Deviation }

func (number) loss(logits, targets *graph.Dense, share []float32) float64 {
	return squaredLoss(logits, targets, share)
}

func (number) probabilities(dst, logits []float32, _ float32, _ []float32) { copy(dst, logits) }

func (number) decode(a *Answer, row []float32, radius []float64) {
	*a = Answer{Class: -1, Numbers: a.Numbers[:0]}
	for k, v := range row {
		half := 0.0
		if radius != nil {
			half = radius[k]
		}
		a.Numbers = append(a.Numbers, Interval{v, float32(float64(v) - half), float32(float64(v) + half)})
	}
}

func (number) events([]float32, int32, []float32, func(float32, bool)) {}
func (number) right([]float32, int32, []float32) float64               { return 0 }
func (number) shares([]float64, []*graph.Dense) float64                { return 0 }

func (number) metrics() []Metric {
	return []Metric{
		// The share of the numbers' variance that predictions explain, in percent, the mean over the outputs: 100 is
		// perfect, 0 is no better than the mean of the nodes that are measured, and worse is below 0. Where the numbers of
		// these nodes do not vary it is 0 if an answer is wrong, and 100 if all are right.
		{Name: "r2", Title: "R² %", Long: "R² (percent)", Behind: "R²", Stored: true},
		// The mean absolute error of each output, in its own unit.
		{Name: "mae", Title: "node MAE", Show: Plain, Each: true},
		// The share of numbers that lie in their interval, in percent, over all outputs; 0: there are no intervals.
		{Name: "covered", Title: "in interval %", Show: Together},
	}
}

func (t number) score(a *Answers) []Score {
	truth, said := graph.Stack(a.Targets...), graph.Stack(a.Logits...)
	n, outputs := float64(max(1, truth.Rows)), truth.Cols
	r2, within, errors := 0.0, 0.0, make([]float64, outputs)
	for k := range outputs {
		mean, total, left, covered := 0.0, 0.0, 0.0, 0
		for i := range truth.Rows {
			mean += float64(truth.Row(i)[k]) / n
		}
		for i := range truth.Rows {
			y, e := float64(truth.Row(i)[k]), float64(truth.Row(i)[k])-float64(said.Row(i)[k])
			total += (y - mean) * (y - mean)
			left += e * e
			errors[k] += math.Abs(e) / n
			if a.Radius != nil && math.Abs(e) <= a.Radius[k] {
				covered++
			}
		}
		if varies(truth, k) {
			r2 += 100 * (1 - left/total) / float64(outputs)
		} else if left == 0 {
			r2 += 100 / float64(outputs)
		}
		within += 100 * float64(covered) / n / float64(outputs)
	}
	out := valued(t.metrics(), r2, 0, within)
	out[1].Values = errors
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

// Halves returns half the width of the interval of each output by split conformal prediction (Lei et al.,
// "Distribution-Free Predictive Inference for Regression", 2018): of n absolute errors the ⌈(n+1)·share⌉-th smallest,
// so that new nodes like these lie within it with at least this probability. An error says that they are too few.
func (a *Answers) Halves() ([]float64, error) {
	truth, said := graph.Stack(a.Targets...), graph.Stack(a.Logits...)
	at := int(math.Ceil(float64(truth.Rows+1) * IntervalShare / 100))
	if at > truth.Rows {
		return nil, fmt.Errorf("%d validation nodes are too few for intervals of %d%%, want at least %d", truth.Rows,
			IntervalShare, IntervalShare/(100-IntervalShare))
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

func (number) summary(s *Summary) string {
	onS, whole := s.percent("r2")
	covered, coveredByWhole := s.percent("covered")
	errors, errorsOfWhole := Find(s.Scores, "mae"), Find(s.Whole, "mae")
	return fmt.Sprintf("R² on the test nodes: %.1f%% on %d synthetic nodes; %s, %.1f%%; mean absolute error %s and %s; "+
		"%.1f%% and %.1f%% of the numbers lie in their interval", onS, s.Nodes, s.Joined, whole, errors.Text(),
		errorsOfWhole.Text(), covered, coveredByWhole)
}
