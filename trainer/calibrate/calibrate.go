// Package calibrate chooses what a model's logits become: a temperature, and how sure a prediction must be. It knows
// nothing of graphs: a [Support] is logits, propagated labels and classes (docs/algorithm.md, section 6).
package calibrate

import (
	"cmp"
	"math"
	"slices"

	"rivulet/artifact/baseline"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Support has a model's logits for the support nodes, batch by batch.
type Support struct {
	Logits []*graph.Dense
	F      []*graph.Dense // of propagation; nil without one
	Labels [][]int32
	// Targets are the labels of each node, n×C, of a task of labels; nil: the task is classes.
	Targets []*graph.Dense
}

// Accuracy returns the accuracy in percent of the published probabilities.
func (s Support) Accuracy(c infer.Calibration) float64 {
	right, n := 0, 0
	for b, p := range s.Probabilities(c) {
		for i, y := range s.Labels[b] {
			if infer.ArgMax(p.Row(i)) == int(y) {
				right++
			}
			n++
		}
	}
	return 100 * float64(right) / float64(max(1, n))
}

// calibrating reports whether τ is fitted on support node i, which is every other one. On the rest its quality is
// measured (docs/algorithm.md, section 6).
func calibrating(i int) bool { return i%2 == 0 }

// Temperature returns the τ with which a calibration has the smallest negative log-likelihood of the published
// probabilities on half of the support nodes, by golden section on log τ between 1/20 and 20 (Guo et al., "On
// Calibration of Modern Neural Networks", 2017).
func (s Support) Temperature(c infer.Calibration) float32 {
	return leastTemperature(func(tau float32) float64 {
		c.Temperature = tau
		return s.loss(c)
	})
}

// leastTemperature returns the τ of the smallest loss.
func leastTemperature(of func(tau float32) float64) float32 {
	loss := func(logTau float64) float64 { return of(float32(math.Exp(logTau))) }
	const golden = 0.6180339887498949
	lo, hi := -math.Log(20), math.Log(20)
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := loss(a), loss(b)
	for hi-lo > 1e-3 {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = loss(b)
		}
	}
	return float32(math.Exp((lo + hi) / 2))
}

// loss returns the sum of −log of the probability that is published for the true class, which counts as at least
// 1e-12, over the half of the nodes that calibrates.
func (s Support) loss(c infer.Calibration) float64 {
	total, at := 0.0, 0
	for b, p := range s.Probabilities(c) {
		for i, y := range s.Labels[b] {
			if calibrating(at) {
				total -= math.Log(math.Max(float64(p.Row(i)[y]), 1e-12))
			}
			at++
		}
	}
	return total
}

// Probabilities returns the published probabilities of all batches.
func (s Support) Probabilities(c infer.Calibration) []*graph.Dense {
	out := make([]*graph.Dense, len(s.Logits))
	for b := range out {
		var f *graph.Dense
		if s.F != nil {
			f = s.F[b]
		}
		out[b] = c.Probabilities(s.Logits[b], f)
	}
	return out
}

// coverages are the points of the risk-coverage curve.
var coverages = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1}

// Confidence measures published probabilities on the support nodes: the calibration error on the half that τ was
// not fitted on, before (τ = 1) and after, and on all of them the threshold that answers a share, for the curve and
// for coverage, if that is above 0.
func (s Support) Confidence(c infer.Calibration, coverage float64) baseline.Confidence {
	held := func(i int) bool { return !calibrating(i) }
	ece := func(c infer.Calibration) *float64 {
		e := eval.ECE(s.reliability(s.Probabilities(c), held))
		return &e
	}
	before := c
	before.Temperature, before.Temperatures = 1, nil
	out := baseline.Confidence{ECE: baseline.CalibrationError{ValidationBefore: ece(before),
		ValidationAfter: ece(c)}}
	answers := s.rank(s.Probabilities(c))
	for _, q := range coverages {
		out.Curve = append(out.Curve, pointOf(answers, q))
	}
	if coverage > 0 {
		chosen := pointOf(answers, coverage)
		out.Coverage, out.Threshold = chosen.Coverage, chosen.Threshold
	}
	return out
}

// rankedPrediction is a prediction with its confidence, and whether it is right: 0 or 1, of labels the share of them
// that is right.
type rankedPrediction struct {
	probability float32
	right       float64
}

// rank returns all predictions, the surest first.
func (s Support) rank(probabilities []*graph.Dense) []rankedPrediction {
	var out []rankedPrediction
	for b, p := range probabilities {
		for i, y := range s.Labels[b] {
			if s.Targets != nil {
				out = append(out, rankLabels(p.Row(i), s.Targets[b].Row(i)))
				continue
			}
			c, right := infer.ArgMax(p.Row(i)), 0.0
			if c == int(y) {
				right = 1
			}
			out = append(out, rankedPrediction{p.Row(i)[c], right})
		}
	}
	slices.SortStableFunc(out, func(a, b rankedPrediction) int { return cmp.Compare(b.probability, a.probability) })
	return out
}

// pointOf returns the probability that a share of the predictions, at least one, reaches, and their accuracy in
// percent.
func pointOf(answers []rankedPrediction, share float64) baseline.CoveragePoint {
	n := min(len(answers), max(1, int(math.Ceil(share*float64(len(answers))))))
	right := 0.0
	for _, a := range answers[:n] {
		right += a.right
	}
	return baseline.CoveragePoint{Coverage: share, Threshold: min(1, max(0, answers[n-1].probability)),
		Accuracy: 100 * right / float64(n)}
}
