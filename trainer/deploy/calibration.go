package deploy

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/trainer/calibrate"
	"rivulet/trainer/eval"
)

// Alphas and Gammas are the candidates for the hyperparameters of propagation, among which validation chooses
// (docs/algorithm.md, section 6).
var (
	Alphas = []float32{.1, .3, .5, .7, .9}
	Gammas = []float32{0, .1, .25, .5, 1, 2}
)

// propagationGain is the accuracy in points that propagation must gain on the support nodes to be switched on: less
// is within the noise of their number.
const propagationGain = 0.5

// Choice is one kind of propagation with the hyperparameters that validation chose.
type Choice struct {
	Info       artifact.PropagationInfo
	Spreading  *Propagation
	Validation float64
}

// Calibration returns the choice as a predictor's calibration.
func (p *Choice) Calibration(kind string) infer.Calibration {
	return infer.Calibration{Temperature: p.Info.Temperature, Kind: kind, Alpha: p.Info.Alpha, Gamma: p.Info.Gamma}
}

// Calibration holds the choices of validation for a deployed model: a temperature, the parameters of propagations,
// and the one that is on.
type Calibration struct {
	Kind        string
	Temperature float32 // τ without propagation; each kind has its own
	confidence  baseline.Confidence
	Kinds       map[string]*Choice
	Validation  float64 // the task's score without propagation ([eval.Answer.Score])
	Task        target.Task
	// Radius is half the width of the interval of each output, of a task of numbers; nil: the task is another one.
	Radius []float64
	// Temperatures are the τ of each label, of a task of labels; nil: the task is another one.
	Temperatures []float32
}

// plain is the calibration without propagation.
func (c *Calibration) plain() infer.Calibration {
	return infer.Calibration{Task: c.Task, Temperature: c.Temperature, Temperatures: c.Temperatures,
		Kind: propagation.None}
}

// fits make the choices without propagation, by what a task asks validation for.
var fits = map[target.Fit]func(c *Calibration, answer *eval.Answer, support *eval.Set, coverage float64) error{
	target.OneTemperature: func(c *Calibration, answer *eval.Answer, support *eval.Set, coverage float64) error {
		c.Temperature, c.confidence = fitted(supportOf(answer, support), c.plain(), coverage)
		return nil
	},
	target.TemperatureEach: (*Calibration).fitEach,
	target.IntervalEach: func(c *Calibration, answer *eval.Answer, support *eval.Set, _ float64) (err error) {
		c.Radius, err = answer.Radius(support)
		return err
	},
	target.NoFit: func(*Calibration, *eval.Answer, *eval.Set, float64) error { return nil },
}

func supportOf(answer *eval.Answer, support *eval.Set) calibrate.Support {
	return calibrate.Support{Task: support.Task, Logits: answer.Logits, Labels: support.Labels, Targets: support.Targets}
}

// fitEach fits a temperature to each output.
func (c *Calibration) fitEach(answer *eval.Answer, support *eval.Set, coverage float64) error {
	of := supportOf(answer, support)
	var halves [2]infer.Calibration
	values, by := calibrate.Of(of.Temperatures())
	c.Temperatures = values
	for h := range halves {
		halves[h] = c.plain()
		halves[h].Temperatures = by[h]
	}
	c.confidence = of.Confidence(c.plain(), halves, coverage)
	return nil
}

// Tables puts the tables of propagations into a model of an artifact.
func (c *Calibration) Tables(m *artifact.Model) {
	for kind, p := range c.Kinds {
		m.SetPropagation(kind, p.Spreading.Tables)
	}
}

// Calibrate makes the choices on nodes, such as the support nodes, attached to the graph of the model. coverage is the
// share of arrivals to answer; 0: all.
func Calibrate(ctx context.Context, p *Deployment, nodes *eval.Set, coverage float64,
	kinds []string) (*Calibration, error) {
	support := p.On(nodes)
	plain := p.Plain()
	answer := eval.Run(plain, support)
	if err := answer.Finite(plain, support, "validation", eval.Squared); err != nil {
		return nil, err
	}
	out := &Calibration{Kind: propagation.None, Kinds: map[string]*Choice{}, Validation: answer.Score(support),
		Task: support.Task, Temperature: 1}
	fit, ok := fits[out.Task.Fitted()]
	if !ok {
		panic(fmt.Sprintf("deploy: nothing fits what task %s asks of validation", out.Task))
	}
	if err := fit(out, answer, support, coverage); err != nil {
		return nil, err
	}
	best := out.Validation + propagationGain
	if p.Sweep == nil || !out.Task.Can(target.Propagation) {
		kinds = nil
	}
	for _, kind := range kinds {
		chosen, err := choosePropagation(ctx, kind, p, answer, support, coverage)
		if err != nil {
			return nil, err
		}
		out.Kinds[kind] = chosen
		if chosen.Validation >= best && chosen.Info.Gamma > 0 {
			out.Kind, best = kind, chosen.Validation
		}
	}
	return out, ctx.Err()
}

// Uncalibrate is a calibration without choices: all temperatures are 1.
func Uncalibrate(task target.Task, outputs int) *Calibration {
	out := &Calibration{Kind: propagation.None, Temperature: 1, Kinds: map[string]*Choice{}, Task: task}
	if n := task.Fitted().List(target.TemperatureEach, outputs); n > 0 {
		out.Temperatures = slices.Repeat([]float32{1}, n)
	}
	return out
}

// choosePropagation returns the α and γ of the highest accuracy on the support nodes; at equal accuracy the
// smallest γ. All α are tried on one sequence of hops.
func choosePropagation(ctx context.Context, kind string, p *Deployment, answer *eval.Answer,
	support *eval.Set, coverage float64) (*Choice, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	deployed := p.Build()
	sweeper, err := p.Sweep(kind, deployed)
	if err != nil {
		return nil, err
	}
	var best *Choice
	swept := sweeper.Sweep(support.Batches, Alphas)
	for k, alpha := range Alphas {
		for _, gamma := range Gammas {
			c := infer.Calibration{Temperature: 1, Kind: kind, Alpha: alpha, Gamma: gamma}
			accuracy := calibrate.Support{Logits: answer.Logits, F: swept[k], Labels: support.Labels}.Accuracy(c)
			if best == nil || accuracy > best.Validation {
				info := artifact.PropagationInfo{Alpha: alpha, Gamma: gamma, Temperature: 1}
				best = &Choice{Info: info, Validation: accuracy}
			}
		}
	}
	if best.Spreading, err = p.Spread(kind, best.Info.Alpha); err != nil {
		return nil, err
	}
	validation := supportOf(answer, support)
	run := best.Spreading.build(deployed)
	for _, b := range support.Batches {
		validation.F = append(validation.F, run.Propagate(b)) // as it is served, which differs from the sweep's by rounding
	}
	best.Info.Temperature, best.Info.Confidence = fitted(validation, best.Calibration(kind), coverage)
	return best, nil
}

// fitted returns the temperature of a calibration, and the confidence with it.
func fitted(s calibrate.Support, c infer.Calibration, coverage float64) (float32, baseline.Confidence) {
	t := s.Temperature(c)
	halves := [2]infer.Calibration{c, c}
	for h := range halves {
		halves[h].Temperature = t.Halves[h]
	}
	c.Temperature = t.Value
	return t.Value, s.Confidence(c, halves, coverage)
}

// Info returns the manifest's entry of a model.
func (c *Calibration) Info(p *Deployment, weightDecay float64, sample int, results []eval.Result) artifact.ModelInfo {
	out := artifact.ModelInfo{Name: p.Model.Name(), Attachment: p.Attachment, FittedOn: "O", WeightDecay: weightDecay,
		Sample:      sample,
		Calibration: artifact.CalibrationInfo{Kind: c.Kind, Temperature: c.Temperature, Confidence: c.confidence},
		Propagation: map[string]artifact.PropagationInfo{}, Own: p.Own, Radius: c.Radius, Temperatures: c.Temperatures}
	if c.Task.Regression() { // it has no confidence
		return out
	}
	tested(&out.Calibration.Confidence, results, out.Name, p.Attachment, propagation.None, p.Expert != nil)
	for kind, of := range c.Kinds {
		info := of.Info
		tested(&info.Confidence, results, out.Name, p.Attachment, kind, p.Expert != nil)
		out.Propagation[kind] = info
	}
	return out
}

// tested adds the calibration error on the test nodes, in node batches, to a model's confidence in the artifact.
func tested(c *baseline.Confidence, results []eval.Result, model, attachment, kind string, own bool) {
	for _, r := range results {
		if r.Model == model && r.Setting == eval.OtoS && r.Attachment == attachment && r.Batch == eval.NodeBatch &&
			r.Calibration == kind && r.Own == own {
			before, after := r.ECEBefore.Mean, r.ECE.Mean
			c.ECE.TestBefore, c.ECE.TestAfter = &before, &after
		}
	}
}
