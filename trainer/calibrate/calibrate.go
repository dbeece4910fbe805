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
	"rivulet/infer/target"
	"rivulet/trainer/eval"
)

// Support has a model's logits for the support nodes, batch by batch.
type Support struct {
	Task   target.Task
	Logits []*graph.Dense
	F      []*graph.Dense // of propagation; nil without one
	Labels [][]int32
	// Targets are the labels or numbers of each node, n×C; nil: nodes have classes alone.
	Targets []*graph.Dense
}

// Accuracy returns the accuracy in percent of the published probabilities.
func (s Support) Accuracy(c infer.Calibration) float64 {
	right, n := 0, 0
	for b, p := range s.Probabilities(c) {
		for i, y := range s.Labels[b] {
			if graph.ArgMax(p.Row(i)) == int(y) {
				right++
			}
			n++
		}
	}
	return 100 * float64(right) / float64(max(1, n))
}

// Temperature is the τ that is served, with what it was fitted to.
type Temperature struct {
	Value float32
	// Halves are the τ of two fits, each to the nodes of one half ([half]): by the other one a node's probability is
	// measured, which has not seen its class. All are 1 where Value is 1.
	Halves [2]float32
}

// half says to which half a support node belongs: every other one is in the same.
func half(i int) int { return i % 2 }

// deviation is σ, the standard deviation of the prior of ln τ.
const deviation = 0.5

// Temperature fits τ to the published probabilities of a calibration (Guo et al., "On Calibration of Modern Neural
// Networks", 2017), which of few nodes needs more than the likelihood: where these are all right it has no maximum, and
// asks for a τ of 0. So τ is the least of
//
//	Σ_i −ln p_i(y_i; τ) + max(0, U(τ) − U(1)) + (ln τ)²/2σ²        U(τ) = mean_i 1/C Σ_c −ln p_i(c; τ)
//
// by golden section on ln τ: the prior is ln τ ~ N(0, σ²), and U is one more node, whose class is as likely to be any.
// It counts where τ makes probabilities sharper (Laplace's rule of succession). The fit to one half of the nodes must
// be better than τ = 1 on the other half, both ways in sum; else τ is 1. What is served is fitted to all of them.
func (s Support) Temperature(c infer.Calibration) Temperature {
	return crossFit(1, func(tau float32) []nodeLoss {
		c.Temperature = tau
		return s.losses(c)
	})
}

// nodeLoss is −ln of a node's probability: of what is true, and in the mean over everything that could be.
type nodeLoss struct{ truth, blind float64 }

// crossFit fits τ to the losses of nodes, near a τ that holds where the halves do not gain by each other's fit.
func crossFit(near float32, losses func(tau float32) []nodeLoss) Temperature {
	out := Temperature{Value: near, Halves: [2]float32{near, near}}
	of := [2]func(i int) bool{func(i int) bool { return half(i) == 0 }, func(i int) bool { return half(i) == 1 }}
	halves, gain := [2]float32{}, 0.0
	for h := range halves {
		halves[h] = leastTemperature(near, losses, of[h])
		before, _ := sumLosses(losses(near), of[1-h])
		after, _ := sumLosses(losses(halves[h]), of[1-h])
		gain += before - after
	}
	if gain > 0 {
		out.Halves = halves
		out.Value = leastTemperature(near, losses, func(int) bool { return true })
	}
	return out
}

// sumLosses returns the sum of the losses of some nodes, and U of them.
func sumLosses(of []nodeLoss, keep func(i int) bool) (truth, blind float64) {
	n := 0
	for i, v := range of {
		if keep(i) {
			truth, blind, n = truth+v.truth, blind+v.blind, n+1
		}
	}
	return truth, blind / float64(max(1, n))
}

// leastTemperature returns the τ of the least sum for some of the nodes.
func leastTemperature(near float32, losses func(tau float32) []nodeLoss, keep func(i int) bool) float32 {
	_, usual := sumLosses(losses(near), keep)
	of := func(shift float64) float64 {
		truth, blind := sumLosses(losses(near*float32(math.Exp(shift))), keep)
		return truth + max(0, blind-usual) + shift*shift/(2*deviation*deviation)
	}
	const golden = 0.6180339887498949
	lo, hi := -math.Log(20), math.Log(20)
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := of(a), of(b)
	for hi-lo > 1e-3 {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = of(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = of(b)
		}
	}
	if least := (lo + hi) / 2; of(least) < of(0) {
		return near * float32(math.Exp(least))
	}
	return near
}

// losses returns the losses of the nodes. A probability counts as at least 1e-12.
func (s Support) losses(c infer.Calibration) []nodeLoss {
	var out []nodeLoss
	for b, p := range s.Probabilities(c) {
		for i, y := range s.Labels[b] {
			loss, row := nodeLoss{}, p.Row(i)
			for k, v := range row {
				one := -math.Log(math.Max(float64(v), 1e-12))
				if k == int(y) {
					loss.truth = one
				}
				loss.blind += one / float64(len(row))
			}
			out = append(out, loss)
		}
	}
	return out
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

// Confidence measures published probabilities on the support nodes: their calibration error before (τ = 1) and after,
// for which each half has the τ that was fitted to the other one (halves), and the threshold that answers a share, for
// the curve and for coverage, if that is above 0.
func (s Support) Confidence(c infer.Calibration, halves [2]infer.Calibration, coverage float64) baseline.Confidence {
	ece := func(p []*graph.Dense) *float64 {
		e := eval.ECE(eval.Reliability(s.Task, p, s.Labels, s.Targets))
		return &e
	}
	before := c
	before.Temperature, before.Temperatures = 1, nil
	out := baseline.Confidence{ECE: baseline.CalibrationError{ValidationBefore: ece(s.Probabilities(before)),
		ValidationAfter: ece(s.crossed(halves))}}
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

// crossed returns the probabilities of each node by the calibration of the half that it is not in.
func (s Support) crossed(halves [2]infer.Calibration) []*graph.Dense {
	out, other, at := s.Probabilities(halves[0]), s.Probabilities(halves[1]), 0
	for b := range out {
		for i := range out[b].Rows {
			if half(at) == 0 {
				copy(out[b].Row(i), other[b].Row(i))
			}
			at++
		}
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
			var truth []float32
			if s.Targets != nil {
				truth = s.Targets[b].Row(i)
			}
			out = append(out, rankedPrediction{s.Task.Confidence(p.Row(i)), s.Task.Right(p.Row(i), y, truth)})
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
