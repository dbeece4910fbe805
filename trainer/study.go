package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/mcond"
)

// StudyOptions say which cases a study measures (docs/algorithm.md, section 8): each method at each size with each
// seed.
type StudyOptions struct {
	// Run holds the options that all runs share; its Method, Nodes, Ratio and Seed are not read.
	Run     Options
	Methods []string // at least one
	// Nodes and Ratios are the sizes of S, one of the lists; both empty: one automatic size.
	Nodes  []int
	Ratios []float64
	Seeds  []uint64 // at least one
	// Calibrations are those measured in every setting: none, lp and ep.
	Calibrations []string
	// Attachments are measured besides each method's own: joint, frozen.
	Attachments []string
	// Ablations measures the method learned also without L_str, without L_ind, without both (plain) and from a random
	// M.
	Ablations bool
	// Traced gets the course of each run of the method learned or gcond; nil: not wanted.
	Traced func(run Options, l *LearnedCourse)
}

// ablation is the method learned without a part of it.
type ablation struct {
	label  string
	change func(o *mcond.Options)
}

// ablations of the method learned (the paper's Table V).
var ablations = []ablation{
	{"learned plain", func(o *mcond.Options) { o.NoStructure, o.NoInductive = true, true }},
	{"learned without L_str", func(o *mcond.Options) { o.NoStructure = true }},
	{"learned without L_ind", func(o *mcond.Options) { o.NoInductive = true }},
	{"learned random M", func(o *mcond.Options) { o.RandomStart = true }},
}

// label returns the name of a method in results: an ablation of learned is named after the part that it leaves out.
func (o Options) label() string {
	if o.Method != MethodLearned || o.Learn == nil {
		return o.Method
	}
	for _, v := range ablations {
		var of mcond.Options
		v.change(&of)
		if o.Learn.NoStructure == of.NoStructure && o.Learn.NoInductive == of.NoInductive &&
			o.Learn.RandomStart == of.RandomStart {
			return v.label
		}
	}
	return o.Method
}

// Validate checks ranges and names; an error names the option and its value.
func (o *StudyOptions) Validate() error {
	switch {
	case len(o.Methods) == 0:
		return errors.New("methods is empty, want at least one of " + strings.Join(Methods(), ", "))
	case len(o.Seeds) == 0:
		return errors.New("seeds is empty, want at least one")
	case len(o.Nodes) > 0 && len(o.Ratios) > 0:
		return fmt.Errorf("both nodes %v and ratios %v are given, want one", o.Nodes, o.Ratios)
	}
	for k, kind := range o.Calibrations {
		if kind != infer.PropagateNone && !slices.Contains(propagationKinds, kind) {
			return fmt.Errorf("calibrations[%d] is %q, want none, lp or ep", k, kind)
		}
	}
	for k, a := range o.Attachments {
		if a != artifact.AttachJoint && a != artifact.AttachFrozen {
			return fmt.Errorf("attachments[%d] is %q, want joint or frozen", k, a)
		}
	}
	for _, run := range o.runs() {
		if !slices.Contains(Methods(), run.Method) {
			return run.Validate()
		}
		run.Models = run.deployable()
		if err := run.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// runs returns all runs without their seeds and ablations: method by method, size by size.
func (o *StudyOptions) runs() []Options {
	var out []Options
	for _, method := range o.Methods {
		at := o.Run
		at.Method, at.Nodes, at.Ratio = method, 0, 0
		if method != MethodLearned {
			at.Search = nil
		}
		if len(o.Nodes)+len(o.Ratios) == 0 {
			out = append(out, at)
		}
		for _, n := range o.Nodes {
			at.Nodes = n
			out = append(out, at)
		}
		for _, r := range o.Ratios {
			at.Ratio = r
			out = append(out, at)
		}
	}
	return out
}

// Study measures methods on the test nodes of a data set: a row for each method, size, model, setting, calibration
// and kind of batch, over all seeds. Results that depend on T alone, W_O and the rows of O→O, are made once for
// each seed. A model that a method does not have is left out of its rows.
func Study(ctx context.Context, d *dataset.Dataset, o StudyOptions, progress Progress) ([]eval.Result, error) {
	if len(d.Test) == 0 {
		return nil, fmt.Errorf("studying %s: it has no test nodes", d.Name)
	}
	rows, err := study(ctx, d, o, progress)
	if err != nil {
		return nil, fmt.Errorf("studying %s: %w", d.Name, err)
	}
	return eval.OverSeeds(rows), nil
}

func study(ctx context.Context, d *dataset.Dataset, o StudyOptions, progress Progress) ([]eval.Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	first := o.runs()[0]
	first.Models = first.deployable()
	begins(progress, preparing)
	base, err := newTask(d, first)
	if err != nil {
		return nil, err
	}
	progress.Step(preparing, 1, 1)
	var rows []eval.Result
	bySeed := map[uint64]*memo{}
	for _, run := range o.runs() {
		for _, seed := range o.Seeds {
			run.Seed = seed
			if bySeed[seed] == nil {
				bySeed[seed] = base.whole.seeded()
			}
			for _, at := range o.variants(run, base) {
				more, err := base.studied(ctx, at, bySeed[seed], &o, progress)
				if err != nil {
					return nil, fmt.Errorf("%s, seed %d: %w", at.label(), seed, err)
				}
				rows = append(rows, more...)
			}
			base.whole = bySeed[seed].seeded()
		}
	}
	return rows, nil
}

// deployable returns the models that the run's method can deploy, or all of them if it can deploy none, which
// becomes an error later.
func (o Options) deployable() []string {
	m, _ := methodOf(o.Method)
	only := m.models
	if only == nil || !slices.ContainsFunc(o.Models, func(name string) bool { return slices.Contains(only, name) }) {
		return o.Models
	}
	return slices.DeleteFunc(slices.Clone(o.Models), func(name string) bool { return !slices.Contains(only, name) })
}

// variants returns a run, and the ablations of the method learned if they are wanted.
func (o *StudyOptions) variants(run Options, t *task) []Options {
	run.Models = run.deployable()
	out := []Options{run}
	if !o.Ablations || run.Method != MethodLearned {
		return out
	}
	for _, v := range ablations {
		learn := mcond.Defaults(len(t.labelled))
		if run.Learn != nil {
			learn = *run.Learn
		}
		v.change(&learn)
		at := run
		at.Learn = &learn
		out = append(out, at)
	}
	return out
}

// studied measures one run with one seed.
func (t *task) studied(ctx context.Context, run Options, known *memo, o *StudyOptions,
	progress Progress) ([]eval.Result, error) {
	t, err := t.with(run, known)
	if err != nil {
		return nil, err
	}
	r, err := t.condense(ctx, progress)
	if err != nil {
		return nil, err
	}
	if trace := r.served.parts().trace; o.Traced != nil && trace != nil {
		o.Traced(t.options, trace)
	}
	kinds := slices.DeleteFunc(slices.Clone(o.Calibrations), func(k string) bool { return k == infer.PropagateNone })
	deployments, err := t.deployments(ctx, r, measurements{kinds: append([]string{}, kinds...),
		attachments: o.Attachments}, progress)
	if err != nil {
		return nil, err
	}
	return t.evaluate(ctx, deployments, t.seconds+r.seconds, progress)
}
