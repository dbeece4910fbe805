package infer

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/propagation"
)

// Predictor turns an attached batch into published probabilities: by a deployed model and, if the calibration has one,
// a propagation.
type Predictor struct {
	Model       Deployment
	Expert      *perceptron.Expert // of own features; nil: the model answers alone
	Propagation Propagation        // nil where Calibration.Kind is none
	Calibration Calibration
}

// Predict returns the raw logits, with the expert's part, and the published probabilities, both n×C, which may be in
// the batch's memory. A calibration that names a propagation without one to run, or the reverse, is a programming error
// and panics.
func (p *Predictor) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	if propagation.Known(p.Calibration.Kind) != (p.Propagation != nil) {
		panic(fmt.Sprintf("infer: calibration %q with propagation %T", p.Calibration.Kind, p.Propagation))
	}
	logits = p.Model.Logits(b)
	p.Expert.Add(logits, b)
	var f *graph.Dense
	if p.Propagation != nil {
		f = p.Propagation.Propagate(b)
	}
	return logits, p.Calibration.run(logits, f, b.Dense(logits.Rows, logits.Cols))
}
