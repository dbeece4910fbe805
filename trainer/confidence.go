package trainer

import (
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// coverages are the points of the risk-coverage curve.
var coverages = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1}

// confidence measures published probabilities on the support nodes: the calibration error on the half that τ was
// not fitted on, before (τ = 1) and after, and on all of them the threshold that answers a share, for the curve and
// for Options.Coverage.
func (t *task) confidence(c infer.Calibration, logits, f []*graph.Dense, labels [][]int32) artifact.Confidence {
	held := func(i int) bool { return !calibrating(i) }
	ece := func(c infer.Calibration) *float64 {
		e := eval.ECE(eval.Reliability(published(c, logits, f), labels, held))
		return &e
	}
	before := c
	before.Temperature = 1
	out := artifact.Confidence{ECE: artifact.CalibrationError{ValidationBefore: ece(before),
		ValidationAfter: ece(c)}}
	answers := ranked(published(c, logits, f), labels)
	for _, q := range coverages {
		out.Curve = append(out.Curve, pointOf(answers, q))
	}
	if t.options.Coverage > 0 {
		chosen := pointOf(answers, t.options.Coverage)
		out.Coverage, out.Threshold = chosen.Coverage, chosen.Threshold
	}
	return out
}

// rankedPrediction is a prediction with the probability of its class.
type rankedPrediction struct {
	probability float32
	right       bool
}

// ranked returns all predictions, the most probable first.
func ranked(probabilities []*graph.Dense, labels [][]int32) []rankedPrediction {
	var out []rankedPrediction
	for b, p := range probabilities {
		for i, y := range labels[b] {
			c := infer.ArgMax(p.Row(i))
			out = append(out, rankedPrediction{p.Row(i)[c], c == int(y)})
		}
	}
	slices.SortStableFunc(out, func(a, b rankedPrediction) int {
		switch {
		case a.probability > b.probability:
			return -1
		case a.probability < b.probability:
			return 1
		}
		return 0
	})
	return out
}

// pointOf returns the probability that a share of the predictions, at least one, reaches, and their accuracy in
// percent.
func pointOf(answers []rankedPrediction, share float64) artifact.CoveragePoint {
	n := min(len(answers), max(1, int(math.Ceil(share*float64(len(answers))))))
	right := 0
	for _, a := range answers[:n] {
		if a.right {
			right++
		}
	}
	return artifact.CoveragePoint{Coverage: share, Threshold: min(1, max(0, answers[n-1].probability)),
		Accuracy: 100 * float64(right) / float64(n)}
}

// tested adds the calibration error on the test nodes, in node batches, to a model's confidence in the artifact.
func tested(c *artifact.Confidence, results []eval.Result, model, attachment, kind string, own bool) {
	for _, r := range results {
		if r.Model == model && r.Setting == eval.OtoS && r.Attachment == attachment && r.Batch == NodeBatch &&
			r.Calibration == kind && r.Own == own {
			before, after := r.ECEBefore.Mean, r.ECE.Mean
			c.ECE.TestBefore, c.ECE.TestAfter = &before, &after
		}
	}
}
