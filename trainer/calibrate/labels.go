package calibrate

import (
	"rivulet/graph"
	"rivulet/infer/target"
)

// fewest is the number of nodes that have a label, and of those that do not have it, below which the label takes the
// temperature of all labels together: of two nodes that have it the likelihood would ask for any.
const fewest = 10

// Temperatures returns the τ of each label: first one τ for all of them as [Support.Temperature] fits it, then, near
// that one and by the same rule, one for each label.
func (s Support) Temperatures() []Temperature {
	logits, truth := graph.Stack(s.Logits...), graph.Stack(s.Targets...)
	joint := crossFit(1, func(tau float32) []nodeLoss {
		out := make([]nodeLoss, logits.Rows)
		for k := range logits.Cols {
			for i, v := range labelLosses(logits, truth, k, tau) {
				out[i].truth, out[i].blind = out[i].truth+v.truth, out[i].blind+v.blind
			}
		}
		return out
	})
	out := make([]Temperature, logits.Cols)
	for k := range out {
		has := 0
		for i := range truth.Rows {
			if truth.Row(i)[k] != 0 {
				has++
			}
		}
		out[k] = joint
		if min(has, truth.Rows-has) < fewest {
			continue
		}
		of := crossFit(joint.Value, func(tau float32) []nodeLoss { return labelLosses(logits, truth, k, tau) })
		if of.Value != joint.Value {
			out[k] = of
		}
	}
	return out
}

// Of returns the temperatures that are served, and those of the halves.
func Of(all []Temperature) (value []float32, halves [2][]float32) {
	for _, t := range all {
		value = append(value, t.Value)
		for h, of := range t.Halves {
			halves[h] = append(halves[h], of)
		}
	}
	return value, halves
}

// labelLosses returns the losses of the nodes in label k.
func labelLosses(logits, truth *graph.Dense, k int, tau float32) []nodeLoss {
	losses := make([]nodeLoss, logits.Rows)
	for i := range losses {
		z := float64(logits.Row(i)[k]) / float64(tau)
		losses[i] = nodeLoss{target.LabelEntropy(z, float64(truth.Row(i)[k])), target.LabelEntropy(z, 0.5)}
	}
	return losses
}
