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

// condenseChosen condenses T and calibrates the models on S. Where validation chooses the model it condenses T for each
// of the models on its own, keeps the one that is best on validation as it would be served, the first among equals, and
// the run then has this model alone.
func condenseChosen(ctx context.Context, t *T, h *Held, r *Run) (*recipe, []ModelChoice, error) {
	if !r.Choose {
		r.last = true
		p, err := condenseAll(ctx, t, h, r)
		if err == nil {
			err = calibrateAll(ctx, t, h, r, p)
		}
		return p, nil, err
	}
	var best *Run
	var recipes *recipe
	var choices []ModelChoice
	chosen, seconds := -1, 0.0
	for _, name := range r.Models {
		o := r.Options
		o.Models, o.Choose = []string{name}, false
		of, err := newRun(t, h, o, r.known, r.Progress)
		if err != nil {
			return nil, nil, err
		}
		p, err := condenseAll(ctx, t, h, of)
		if err == nil {
			err = calibrateAll(ctx, t, h, of, p)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("choosing a model: %s: %w", name, err)
		}
		seconds += p.seconds
		rows, err := choicesOf(ctx, t, h, of, p)
		if err != nil {
			return nil, nil, err
		}
		at := len(choices) // the row that would be served comes first
		if choices = append(choices, rows...); chosen < 0 || choices[at].Validation > choices[chosen].Validation {
			chosen, best, recipes = at, of, p
		}
	}
	choices[chosen].Chosen, recipes.seconds = true, seconds
	best.seconds, best.last = r.seconds, true
	*r = *best
	r.release(t)
	return recipes, choices, ctx.Err()
}

// choicesOf returns the rows of a model: as it would be served, and where that is with an expert, without it.
func choicesOf(ctx context.Context, t *T, h *Held, r *Run, of *recipe) ([]ModelChoice, error) {
	c, p := of.calibrations[0], of.placed[0]
	out := []ModelChoice{choiceOf(h, r, of, of.predictor(0), p, c)}
	if p.Expert == nil {
		return out, nil
	}
	alone := p.WithoutExpert()
	c, err := deploy.Calibrate(ctx, alone, h.support, r.Coverage, kinds(t, r))
	if err != nil {
		return nil, err
	}
	return append(out, choiceOf(h, r, of, alone.Calibrated(c), alone, c)), nil
}

func choiceOf(h *Held, r *Run, of *recipe, predictor *infer.Predictor, p *deploy.Deployment,
	c *deploy.Calibration) ModelChoice {
	out := ModelChoice{Model: p.Model.Name(), Own: p.Expert != nil, Validation: c.Validation,
		Mapping: of.result.info().Entries}
	if chosen := c.Kinds[c.Kind]; chosen != nil {
		out.Validation = chosen.Validation
	}
	if r.Costs {
		set := p.On(h.support.Apart())
		out.Micros = 1000 * eval.Time(predictor, set) * float64(len(set.Batches)) / float64(max(1, set.Len()))
		out.Bytes = eval.Memory(func() eval.Predictor { return p.Calibrated(c) }, set)
	}
	return out
}
