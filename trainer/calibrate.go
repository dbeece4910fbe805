package trainer

import (
	"context"
	"math"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Candidates for the hyperparameters of propagation, among which validation chooses (docs/algorithm.md, section 6).
var (
	alphas = []float32{.1, .3, .5, .7, .9}
	gammas = []float32{0, .1, .25, .5, 1, 2}
)

var propagationKinds = []string{infer.PropagateLabels, infer.PropagateErrors}

// propagationGain is the accuracy in points that propagation must gain on the support nodes to be switched on: less
// is within the noise of their number.
const propagationGain = 0.5

// propagation is one kind of propagation with the hyperparameters that validation chose.
type propagation struct {
	info       artifact.PropagationInfo
	spreading  *propagationTables
	validation float64
}

// calibration returns the choice as a predictor's calibration.
func (p *propagation) calibration(kind string) infer.Calibration {
	return infer.Calibration{Temperature: p.info.Temperature, Kind: kind, Alpha: p.info.Alpha, Gamma: p.info.Gamma}
}

// calibration holds the choices of validation for a deployed model: a temperature, the parameters of propagations,
// and the one that is on.
type calibration struct {
	kind        string
	temperature float32 // τ without propagation; each kind has its own
	confidence  artifact.Confidence
	kinds       map[string]*propagation
	validation  float64 // accuracy without propagation
}

// tables puts the tables of propagations into a model of an artifact.
func (c *calibration) tables(m *artifact.Model) {
	if p := c.kinds[infer.PropagateLabels]; p != nil {
		m.Labels = p.spreading.tables
	}
	if p := c.kinds[infer.PropagateErrors]; p != nil {
		m.Errors = p.spreading.tables
	}
}

// calibrate makes the choices on the support nodes, attached to the graph of the model.
func (t *task) calibrate(ctx context.Context, p *deployedModel, kinds []string) (*calibration, error) {
	support := p.on(t.support)
	answer := eval.Run(p.plain(), support)
	out := &calibration{kind: infer.PropagateNone, kinds: map[string]*propagation{},
		validation: answer.Accuracy(support)}
	out.temperature = bestTemperature(answer.Logits, nil, 0, support.Labels)
	out.confidence = t.confidence(infer.Calibration{Temperature: out.temperature}, answer.Logits, nil,
		support.Labels)
	best := out.validation + propagationGain
	if p.sweep == nil {
		kinds = nil
	}
	for _, kind := range kinds {
		chosen, err := t.choosePropagation(ctx, kind, p, answer, support)
		if err != nil {
			return nil, err
		}
		out.kinds[kind] = chosen
		if chosen.validation >= best && chosen.info.Gamma > 0 {
			out.kind, best = kind, chosen.validation
		}
	}
	return out, ctx.Err()
}

// choosePropagation returns the α and γ of the highest accuracy on the support nodes; at equal accuracy the
// smallest γ. All α are tried on one sequence of hops.
func (t *task) choosePropagation(ctx context.Context, kind string, p *deployedModel, answer *eval.Answer,
	support *eval.Set) (*propagation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	deployed := p.build()
	sweeper, err := p.sweep(kind, deployed)
	if err != nil {
		return nil, err
	}
	var best *propagation
	swept := sweeper.Sweep(support.Batches, alphas)
	for k, alpha := range alphas {
		for _, gamma := range gammas {
			c := infer.Calibration{Temperature: 1, Kind: kind, Alpha: alpha, Gamma: gamma}
			accuracy := mixedAccuracy(c, answer.Logits, swept[k], support.Labels)
			if best == nil || accuracy > best.validation {
				info := artifact.PropagationInfo{Alpha: alpha, Gamma: gamma, Temperature: 1}
				best = &propagation{info: info, validation: accuracy}
			}
		}
	}
	if best.spreading, err = p.spread(kind, best.info.Alpha); err != nil {
		return nil, err
	}
	var of []*graph.Dense // F as it is served, which differs from the sweep's by rounding
	run := best.spreading.build(deployed)
	for _, b := range support.Batches {
		of = append(of, run.Propagate(b))
	}
	best.info.Temperature = bestTemperature(answer.Logits, of, best.info.Gamma, support.Labels)
	best.info.Confidence = t.confidence(best.calibration(kind), answer.Logits, of, support.Labels)
	return best, nil
}

// mixedAccuracy returns the accuracy in percent of s = softmax(logits/τ) + γF.
func mixedAccuracy(c infer.Calibration, logits, f []*graph.Dense, labels [][]int32) float64 {
	right, n := 0, 0
	for b, s := range published(c, logits, f) {
		for i, y := range labels[b] {
			if infer.ArgMax(s.Row(i)) == int(y) {
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

// bestTemperature returns the τ of the smallest negative log-likelihood of the published probabilities on half of
// the support nodes, by golden section on log τ between 1/20 and 20 (Guo et al., "On Calibration of Modern Neural
// Networks", 2017). f may be nil.
func bestTemperature(logits, f []*graph.Dense, gamma float32, labels [][]int32) float32 {
	loss := func(logTau float64) float64 {
		return logLoss(infer.Calibration{Temperature: float32(math.Exp(logTau)), Gamma: gamma}, logits, f, labels)
	}
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

// logLoss returns the sum of −log of the probability that is published for the true class, which counts as at least
// 1e-12, over the half of the nodes that calibrates.
func logLoss(c infer.Calibration, logits, f []*graph.Dense, labels [][]int32) float64 {
	total, at := 0.0, 0
	for b, p := range published(c, logits, f) {
		for i, y := range labels[b] {
			if calibrating(at) {
				total -= math.Log(math.Max(float64(p.Row(i)[y]), 1e-12))
			}
			at++
		}
	}
	return total
}

// published returns the probabilities of all batches; f may be nil.
func published(c infer.Calibration, logits, f []*graph.Dense) []*graph.Dense {
	out := make([]*graph.Dense, len(logits))
	for b := range logits {
		var spread *graph.Dense
		if f != nil {
			spread = f[b]
		}
		out[b] = c.Probabilities(logits[b], spread)
	}
	return out
}
