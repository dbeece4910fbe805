package infer

import "rivulet/graph"

// Predictor is everything that turns an attached batch into what is published: a deployed model, and where the
// calibration says so a propagation.
type Predictor struct {
	Model       Deployment
	Propagation Propagation // nil where Calibration.Kind is none
	Calibration Calibration
}

// Predict returns the raw logits and the published probabilities, both n×C.
func (p *Predictor) Predict(b *Batch) (logits, probabilities *graph.Dense) {
	logits = p.Model.Logits(b)
	var f *graph.Dense
	if p.Propagation != nil {
		f = p.Propagation.Propagate(b)
	}
	return logits, p.Calibration.Probabilities(logits, f)
}

// ArgMax is the column of the largest value of a row; of equal values the first.
func ArgMax(row []float32) int {
	best := 0
	for k, v := range row {
		if v > row[best] {
			best = k
		}
	}
	return best
}
