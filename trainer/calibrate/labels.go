package calibrate

import (
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/trainer/descent"
	"rivulet/trainer/eval"
)

// fewest is the number of calibrating nodes that have a label, and of those that do not have it, below which the label
// takes the temperature of all labels together: of two nodes that have it the likelihood would ask for any.
const fewest = 10

// Temperatures returns the τ of each label, of the smallest negative log-likelihood on half of the support nodes.
func (s Support) Temperatures() []float32 {
	logits, truth := s.calibrating()
	joint := leastTemperature(func(tau float32) float64 {
		loss := 0.0
		for k := range logits.Cols {
			loss += labelLoss(logits, truth, k, tau)
		}
		return loss
	})
	out := make([]float32, logits.Cols)
	for k := range out {
		has := 0
		for i := range truth.Rows {
			if truth.Row(i)[k] != 0 {
				has++
			}
		}
		if out[k] = joint; min(has, truth.Rows-has) >= fewest {
			out[k] = leastTemperature(func(tau float32) float64 { return labelLoss(logits, truth, k, tau) })
		}
	}
	return out
}

// calibrating returns logits and labels of the half of the nodes that calibrates.
func (s Support) calibrating() (logits, truth *graph.Dense) {
	logits, truth = graph.Stack(s.Logits...), graph.Stack(s.Targets...)
	var nodes []int32
	for i := range logits.Rows {
		if calibrating(i) {
			nodes = append(nodes, int32(i))
		}
	}
	return logits.Take(nodes), truth.Take(nodes)
}

// labelLoss is the sum of −log of the probability of the truth of label k.
func labelLoss(logits, truth *graph.Dense, k int, tau float32) float64 {
	loss := 0.0
	for i := range logits.Rows {
		loss += descent.LabelEntropy(float64(logits.Row(i)[k])/float64(tau), float64(truth.Row(i)[k]))
	}
	return loss
}

// rankLabels says how sure a prediction of labels is, and which share of them is right.
func rankLabels(probabilities, truth []float32) rankedPrediction {
	right := 0.0
	for k, p := range probabilities {
		if target.Has(p) == (truth[k] != 0) {
			right++
		}
	}
	return rankedPrediction{target.Labels.Confidence(probabilities), right / float64(len(truth))}
}

// reliability sorts probabilities into bins: of the predicted classes, or of all labels.
func (s Support) reliability(probabilities []*graph.Dense, keep func(i int) bool) []eval.Bin {
	if s.Targets != nil {
		return eval.LabelReliability(probabilities, s.Targets, keep)
	}
	return eval.Reliability(probabilities, s.Labels, keep)
}
