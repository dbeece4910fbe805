package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/trainer/calibrate"
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
	out := &calibration{kind: infer.PropagateNone, kinds: map[string]*propagation{}, validation: answer.Accuracy(support)}
	validation := calibrate.Support{Logits: answer.Logits, Labels: support.Labels}
	out.temperature = validation.Temperature(0)
	out.confidence = validation.Confidence(infer.Calibration{Temperature: out.temperature}, t.options.Coverage)
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
			accuracy := calibrate.Support{Logits: answer.Logits, F: swept[k], Labels: support.Labels}.Accuracy(c)
			if best == nil || accuracy > best.validation {
				info := artifact.PropagationInfo{Alpha: alpha, Gamma: gamma, Temperature: 1}
				best = &propagation{info: info, validation: accuracy}
			}
		}
	}
	if best.spreading, err = p.spread(kind, best.info.Alpha); err != nil {
		return nil, err
	}
	validation := calibrate.Support{Logits: answer.Logits, Labels: support.Labels}
	run := best.spreading.build(deployed)
	for _, b := range support.Batches {
		validation.F = append(validation.F, run.Propagate(b)) // as it is served, which differs from the sweep's by rounding
	}
	best.info.Temperature = validation.Temperature(best.info.Gamma)
	best.info.Confidence = validation.Confidence(best.calibration(kind), t.options.Coverage)
	return best, nil
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
