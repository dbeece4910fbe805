package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer/target"
	"rivulet/internal/cli"
	"rivulet/lab/study"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/stage"
)

// artifactMeasurement says whether eval measures an artifact, and where.
type artifactMeasurement struct {
	artifact string
	engine   *engineFlags
	flags    *pflag.FlagSet
}

func newMeasuring(flags *pflag.FlagSet) *artifactMeasurement {
	m := &artifactMeasurement{flags: flags}
	flags.StringVar(&m.artifact, "artifact", "",
		"directory of an artifact to measure in place of methods, by --engine disk, --engine spark or --sums fixed")
	m.engine = newEngineFlags(flags)
	return m
}

// ofMethods are flags of eval that do not apply to an artifact.
var ofMethods = []string{"methods", "models", "hidden", "layers", "hops", "weight-decays", "entries", "own",
	"spread", "preprocess", "costs", "ratios", "nodes", "seeds", "calibrations", "attachments", "ablations", "search",
	"feature", "missing", "min-count", "buckets"}

// check returns an error for flags that do not go together.
func (m *artifactMeasurement) check() error {
	if err := m.engine.checkFlags(m.artifact); err != nil {
		return err
	}
	switch {
	case m.artifact == "" && m.engine.staged():
		const only = "a run of stages (--engine disk, --sums fixed) evaluates an artifact that exists"
		return errors.New(only + ": want --artifact")
	case m.artifact != "" && !m.engine.staged():
		return fmt.Errorf("--artifact is for --engine %s, --engine %s and --sums %s", engineDisk, engineSpark, sumsFixed)
	}
	for _, name := range append(ofMethods, learnNames...) {
		if flag := m.flags.Lookup(name); m.artifact != "" && flag != nil && flag.Changed {
			return fmt.Errorf("--%s is for methods, not for an --artifact", name)
		}
	}
	return nil
}

// leaveOutClasses turns off defaults that are for classes alone. A flag that is given stays.
func (f *studyFlags) leaveOutClasses(flags *pflag.FlagSet) {
	if !flags.Changed("calibrations") {
		f.o.Calibrations = nil
	}
	f.o.Run.Spread = f.o.Run.Spread && flags.Changed("spread")
}

// results makes the measurements of the flags. If an artifact is measured, the data set has only a name and classes.
func (m *artifactMeasurement) results(ctx context.Context, f *studyFlags) (*dataset.Dataset, []eval.Result, error) {
	if err := m.check(); err != nil {
		return nil, nil, err
	}
	if m.artifact == "" {
		d, err := f.open()
		if err != nil {
			return nil, nil, err
		}
		if d.Task != target.Classes {
			f.leaveOutClasses(m.flags)
		}
		results, err := study.Run(ctx, d, f.o, cli.Stderr())
		return d, results, err
	}
	b, err := artifact.Read(m.artifact)
	if err != nil {
		return nil, nil, err
	}
	if err := b.Manifest.Task.Require("eval --artifact"); err != nil {
		return nil, nil, err
	}
	f.fingerprint, f.o.Seeds = b.Manifest.Data.Fingerprint, []uint64{b.Manifest.Seed}
	o := f.o.Run
	o.Keep = b.Schema
	if _, _, _, err := m.engine.byURL(f.data, o); err != nil { // before the engine is opened
		return nil, nil, err
	}
	d := &dataset.Dataset{Classes: b.Manifest.Data.Classes}
	progress := cli.Stderr()
	outcome, err := m.engine.stages(ctx, progress, func(e stage.Engine) (*trainer.Outcome, error) {
		rows, err := m.engine.rows(ctx, e, f.data, o)
		if err != nil {
			return nil, err
		}
		d.Name = rows.Name
		results, err := trainer.EvaluateStaged(ctx, e, rows, b, o.Batch, progress)
		return &trainer.Outcome{Results: results}, err
	})
	if err != nil {
		return nil, nil, err
	}
	return d, outcome.Results, nil
}
