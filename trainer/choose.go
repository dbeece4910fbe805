package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
)

// Candidates are the models among which validation chooses for a method (`--models auto`), the simplest first.
func (o *Options) Candidates() []string {
	names := architecture.Names()
	if m, _ := o.method(); m.Models != nil {
		names = slices.Clone(m.Models)
	}
	return inFront(names, modelSGC)
}

// ModelChoice is a candidate for the model that is served, on S of its own, with what validation says of it and what a
// prediction costs. There is a row with the expert of own features, and one without it.
type ModelChoice struct {
	Model      string  `json:"model"`
	Own        bool    `json:"own"`
	Validation float64 `json:"validation"`   // percent of the validation nodes, with the propagation that it chooses
	Micros     float64 `json:"microseconds"` // a prediction, in node batches; 0: not measured
	// the deployment in memory, and what a batch allocates, without M; 0: not measured
	Bytes   int64 `json:"bytes"`
	Mapping int   `json:"mapping_entries"` // of M
	Chosen  bool  `json:"chosen"`
}

// chooseModel condenses T for each of the models on its own, and returns the run of the one that is best on validation
// as it would be served, the first among equals.
func (t *task) chooseModel(ctx context.Context, progress Progress) (*task, *recipe, []ModelChoice, error) {
	var best *task
	var recipes *recipe
	var choices []ModelChoice
	chosen, seconds := -1, 0.0
	for _, name := range t.options.Models {
		o := t.options
		o.Models, o.Choose = []string{name}, false
		of, err := t.with(o, t.whole)
		if err != nil {
			return nil, nil, nil, err
		}
		r, err := of.condense(ctx, progress)
		if err == nil {
			err = of.calibrateAll(ctx, r, progress)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("choosing a model: %s: %w", name, err)
		}
		seconds += r.seconds
		rows, err := of.choicesOf(ctx, r)
		if err != nil {
			return nil, nil, nil, err
		}
		at := len(choices) // the row that would be served comes first
		if choices = append(choices, rows...); chosen < 0 || choices[at].Validation > choices[chosen].Validation {
			chosen, best, recipes = at, of, r
		}
	}
	choices[chosen].Chosen, recipes.seconds = true, seconds
	return best, recipes, choices, ctx.Err()
}

// choicesOf returns the rows of a model: as it would be served, and where that is with an expert, without it.
func (t *task) choicesOf(ctx context.Context, r *recipe) ([]ModelChoice, error) {
	c, p := r.calibrations[0], r.placed[0]
	out := []ModelChoice{t.choiceOf(r, r.predictor(0), p, c)}
	if p.Expert == nil {
		return out, nil
	}
	alone := p.WithoutExpert()
	c, err := deploy.Calibrate(ctx, alone, t.support, t.options.Coverage, t.kinds())
	if err != nil {
		return nil, err
	}
	return append(out, t.choiceOf(r, alone.Calibrated(c), alone, c)), nil
}

func (t *task) choiceOf(r *recipe, predictor *infer.Predictor, p *deploy.Deployment,
	c *deploy.Calibration) ModelChoice {
	out := ModelChoice{Model: p.Model.Name(), Own: p.Expert != nil, Validation: c.Validation,
		Mapping: r.served.parts().info().Entries}
	if chosen := c.Kinds[c.Kind]; chosen != nil {
		out.Validation = chosen.Validation
	}
	if t.options.Costs {
		set := p.On(t.support.Apart())
		out.Micros = 1000 * eval.Time(predictor, set) * float64(len(set.Batches)) / float64(max(1, set.Len()))
		out.Bytes = eval.Memory(func() eval.Predictor { return p.Calibrated(c) }, set)
	}
	return out
}
