package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/original"
	"rivulet/trainer/search"
	"rivulet/trainer/stage"
)

// EvaluateStaged measures an artifact on the test nodes of a data set, or a sample of them, by the stages by which
// [TrainStaged] measures its own: the artifact's model on T, by tables of T that are made anew, and on S with the
// artifact's calibration. The data set is the one of the artifact, or another whose nodes of T have the same ids. It
// is an error if the model that the artifact serves is not attached frozen.
func EvaluateStaged(ctx context.Context, e stage.Engine, d original.RowData, b *artifact.Bundle, batch int,
	progress Progress) ([]eval.Result, error) {
	out, err := evaluateStaged(ctx, e, d, b, batch, progress)
	if err != nil {
		return nil, fmt.Errorf("evaluating %s on %s: %w", b.Manifest.Version, d.Name, err)
	}
	return out, nil
}

func evaluateStaged(ctx context.Context, e stage.Engine, d original.RowData, b *artifact.Bundle, batch int,
	progress Progress) ([]eval.Result, error) {
	info, params, err := servedFrozen(b)
	if err != nil {
		return nil, err
	}
	m, err := infer.Build(params.Name, params.Params)
	if err != nil {
		return nil, err
	}
	if m.Architecture.Relational() {
		return nil, fmt.Errorf("model %s reads directions or types of edges, which stages do not: measure it by methods",
			m.Name())
	}
	o, err := Inherit(&b.Manifest, []Method{{Name: b.Manifest.Method}})
	if err != nil {
		return nil, err
	}
	o.Batch = batch
	d.Classes = b.Manifest.Data.Classes
	o.Propagate = false // T's own tables of propagation are not made
	t, err := original.Read(ctx, e, d, original.Options{Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	if err := t.Matches(d.Schema, b); err != nil {
		return nil, err
	}
	s := &tablesHolder{Tables: t, rows: d, options: o}
	s.Pre = &b.Preprocess
	s.task = s.newTask(s.Data, s.Original)
	s.task.nodes = o.Nodes
	if err := s.Walk(ctx, m); err != nil {
		return nil, err
	}
	if err := s.Pick(ctx); err != nil {
		return nil, err
	}
	c := frozenOf(original.NewFrozen([]infer.Model{m}, []*infer.Tables{params.Tables}))
	if c.M, err = s.RowsOf(ctx, b); err != nil {
		return nil, err
	}
	onS, err := s.task.frozen(c, m)
	if err != nil {
		return nil, err
	}
	onS.Expert, onS.Own = b.Expert(m.Name()), info.Own
	whole := &search.Result{Model: m, WeightDecay: info.WeightDecay}
	r := &recipe{whole: []*search.Result{whole}, served: c, placed: []*deploy.Deployment{onS},
		calibrations: []*deploy.Calibration{deploy.CalibrationOf(info, params)}}
	deployments, err := s.task.deployments(ctx, r, Measurements{}, progress)
	if err != nil {
		return nil, err
	}
	return s.task.evaluate(ctx, deployments, 0, progress)
}

// servedFrozen returns the model that an artifact serves, which must be attached frozen.
func servedFrozen(b *artifact.Bundle) (artifact.ModelInfo, artifact.Model, error) {
	name := b.Manifest.DefaultModel
	i := slices.IndexFunc(b.Manifest.Models, func(m artifact.ModelInfo) bool { return m.Name == name })
	k := slices.IndexFunc(b.Models, func(m artifact.Model) bool { return m.Name == name })
	if i < 0 || k < 0 {
		return artifact.ModelInfo{}, artifact.Model{}, fmt.Errorf("the artifact has no model %q", name)
	}
	info, m := b.Manifest.Models[i], b.Models[k]
	if info.Attachment != artifact.AttachFrozen || m.Tables == nil {
		return info, m, fmt.Errorf("the artifact's attachment is %s, %s %s only", info.Attachment,
			"a run of stages (--engine disk, --sums fixed) evaluates", artifact.AttachFrozen)
	}
	return info, m, nil
}
