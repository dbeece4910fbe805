package infer

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
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
	kind := p.Calibration.Kind
	if wants := kind == PropagateLabels || kind == PropagateErrors; wants != (p.Propagation != nil) {
		panic(fmt.Sprintf("infer: calibration %q with propagation %T", kind, p.Propagation))
	}
	logits = p.Model.Logits(b)
	p.Expert.Add(logits, b)
	var f *graph.Dense
	if p.Propagation != nil {
		f = p.Propagation.Propagate(b)
	}
	return logits, p.Calibration.run(logits, f, b.Dense(logits.Rows, logits.Cols))
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

// Pass is a model on a graph that keeps only the graph, its features and the weights from batch to batch: a batch is
// one forward pass over the whole graph with the batch in it, from the features to the logits of all its nodes. The
// paper times Whole this way, and calling a model of PyTorch Geometric on the whole graph does the same. Products are
// taken in the cheapest order, weights before hops. The logits are those of [Network.Joint], bit for bit.
type Pass struct {
	Model      Model
	Adj        *graph.CSR        // m×m
	X          preprocess.Inputs // m×d
	Preprocess *preprocess.Parameters
}

// Nodes is m.
func (p *Pass) Nodes() int { return p.Adj.Rows }

// Logits returns the arrivals' logits, n×C.
func (p *Pass) Logits(b *attach.Batch) *graph.Dense {
	_, arrivals := newJoint(p.Model, p.Adj, p.X, p.Preprocess).everywhere(b)
	return arrivals
}
