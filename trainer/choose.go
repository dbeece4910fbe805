package trainer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Candidates are the models among which validation chooses for a method (`--models auto`), the simplest first.
func (o *Options) Candidates() []string {
	names := infer.Names()
	if m, _ := o.method(); m.Models != nil {
		names = slices.Clone(m.Models)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch modelSGC {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return names
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
	if p.expert == nil {
		return out, nil
	}
	alone := p.withoutExpert()
	c, err := t.calibrate(ctx, alone, t.options.kinds())
	if err != nil {
		return nil, err
	}
	return append(out, t.choiceOf(r, alone.served(c), alone, c)), nil
}

func (t *task) choiceOf(r *recipe, predictor *infer.Predictor, p *deployedModel, c *calibration) ModelChoice {
	out := ModelChoice{Model: p.model.Name(), Own: p.expert != nil, Validation: c.validation,
		Mapping: r.served.parts().info().Entries}
	if chosen := c.kinds[c.kind]; chosen != nil {
		out.Validation = chosen.validation
	}
	if t.options.Costs {
		set := p.on(t.support.Apart())
		out.Micros = 1000 * eval.Time(predictor, set) * float64(len(set.Batches)) / float64(max(1, set.Len()))
		out.Bytes = eval.Memory(func() eval.Predictor { return p.served(c) }, set)
	}
	return out
}

// WriteChoices writes candidates as a table.
func WriteChoices(w io.Writer, choices []ModelChoice) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tmodel\town features\tvalidation %\tµs a prediction\tMB without M\tentries of M\t\n")
	for _, c := range choices {
		mark, own := "", ""
		if c.Chosen {
			mark = eval.Mark
		}
		if c.Own {
			own = "beside it"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t\n", mark, c.Model, own, c.Validation, c.Micros,
			float64(c.Bytes)/1e6, c.Mapping)
	}
	return t.Flush()
}
