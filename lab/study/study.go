package study

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/lab/methods"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// Options say which cases a study measures (docs/algorithm.md, section 8): each method at each size with each seed.
type Options struct {
	// Run holds the options that all runs share; its Method, More, Nodes, Ratio and Seed are not read.
	Run     trainer.Options
	Methods []string // at least one
	// Nodes and Ratios are the sizes of S, one of the lists; both empty: one automatic size.
	Nodes  []int
	Ratios []float64
	Seeds  []uint64 // at least one
	// Calibrations are measured in every setting: none, and kinds of propagation.
	Calibrations []string
	// Attachments are measured besides each method's own: joint, frozen.
	Attachments []string
	// Learned are the settings of the methods learned and gcond. Their course goes to Traced.
	Learned methods.Settings
	// Ablations measures the method learned also without L_str, without L_ind, without both (plain) and from a random
	// M.
	Ablations bool
	// Traced gets the course of each run of the method learned or gcond; nil: not wanted.
	Traced func(run trainer.Options, l *methods.Course)
}

// Validate checks ranges and names; an error names the option and its value.
func (o *Options) Validate() error {
	all := trainer.Methods(methods.All(methods.Settings{}))
	switch {
	case len(o.Methods) == 0:
		return errors.New("methods is empty, want at least one of " + strings.Join(all, ", "))
	case len(o.Seeds) == 0:
		return errors.New("seeds is empty, want at least one")
	case len(o.Nodes) > 0 && len(o.Ratios) > 0:
		return fmt.Errorf("both nodes %v and ratios %v are given, want one", o.Nodes, o.Ratios)
	}
	for k, kind := range o.Calibrations {
		if kind != propagation.None && !propagation.Known(kind) {
			return fmt.Errorf("calibrations[%d] is %q, want %s", k, kind, propagation.Choices())
		}
	}
	for k, a := range o.Attachments {
		if a != artifact.AttachJoint && a != artifact.AttachFrozen {
			return fmt.Errorf("attachments[%d] is %q, want joint or frozen", k, a)
		}
	}
	for _, run := range o.runs() {
		if err := run.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// runs returns all runs without their seeds and ablations: method by method, size by size.
func (o *Options) runs() []trainer.Options {
	var out []trainer.Options
	for _, method := range o.Methods {
		at := o.Run
		at.Method, at.More, at.Nodes, at.Ratio = method, methods.All(o.Learned), 0, 0
		at.Models = at.Deployable()
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

// Run measures methods on the test nodes of a data set: a row for each method, size, model, setting, calibration and
// kind of batch, over all seeds. A model that a method does not have is left out of its rows.
func Run(ctx context.Context, d *dataset.Dataset, o Options, progress trainer.Progress) ([]eval.Result, error) {
	rows, err := o.run(ctx, d, progress)
	if err != nil {
		return nil, fmt.Errorf("studying %s: %w", d.Name, err)
	}
	return eval.OverSeeds(rows), nil
}

func (o *Options) run(ctx context.Context, d *dataset.Dataset, progress trainer.Progress) ([]eval.Result, error) {
	if len(d.Test) == 0 {
		return nil, errors.New("it has no test nodes")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	for _, kind := range o.Calibrations {
		if kind != propagation.None {
			if err := d.Task.Require(target.Propagation, kind); err != nil {
				return nil, err
			}
		}
	}
	runs := o.runs()
	series, err := trainer.NewSeries(d, runs[0], progress)
	if err != nil {
		return nil, err
	}
	w := trainer.Measurements{Attachments: o.Attachments, Kinds: []string{}}
	for _, kind := range o.Calibrations {
		if kind != propagation.None {
			w.Kinds = append(w.Kinds, kind)
		}
	}
	plan := schedule{progress: progress, now: time.Now}
	for _, run := range runs {
		for range len(o.Seeds) * len(o.variants(run.Method, series.Labelled())) {
			plan.runs = append(plan.runs, run.Method)
		}
	}
	var rows []eval.Result
	for _, run := range runs {
		for _, seed := range o.Seeds {
			run.Seed = seed
			for _, s := range o.variants(run.Method, series.Labelled()) {
				if o.Traced != nil {
					s.Traced = func(l *methods.Course) { o.Traced(run, l) }
				}
				run.More = methods.All(s)
				plan.next(run, seed)
				more, err := series.Measure(ctx, run, w, progress)
				if err != nil {
					return nil, fmt.Errorf("%s, seed %d: %w", run.Label(), seed, err)
				}
				rows = append(rows, more...)
			}
		}
	}
	return rows, nil
}

// variants returns the settings of a method, and the ablations of the method learned if they are wanted.
func (o *Options) variants(method string, labelled int) []methods.Settings {
	out := []methods.Settings{o.Learned}
	if !o.Ablations || method != methods.Learned {
		return out
	}
	for _, a := range methods.Ablations {
		learn := o.Learned.Of(labelled)
		a.Change(&learn)
		out = append(out, methods.Settings{Learn: &learn, Search: o.Learned.Search})
	}
	return out
}
