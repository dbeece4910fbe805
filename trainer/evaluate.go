package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/search"
	"rivulet/trainer/watch"
)

// Measurements lists the Measurements besides a method's own deployments.
type Measurements struct {
	// Kinds of propagation in every setting; nil: only in O→S, whose parameters the artifact holds.
	Kinds []string
	// Attachments besides the method's own and, on T, joint.
	Attachments []string
}

// cell is a model in one setting: fitted on T or S, and placed on T or S.
type cell struct {
	setting string
	fit     *search.Result
	shared  bool // W_S through the M of W_O
	*deploy.Deployment
	kinds       []string            // of propagation to choose among
	calibration *deploy.Calibration // known already; nil: chosen by validation
}

// cells returns the settings of one model, k of the run (docs/algorithm.md, sections 5 to 7). Those that the method
// does not have are left out, and each attachment that is asked for is a cell:
//
//	            placed on T    placed on S
//	W_O (T)     O→O            O→S
//	W_S (S)     S→O            S→S, through an M of its own, and through the M of W_O (shared)
func cells(ctx context.Context, t *T, h *Held, r *Run, p *recipe, k int, w Measurements) ([]cell, error) {
	var out []cell
	var failure error
	add := func(setting string, f *search.Result, shared bool, d *deploy.Deployment, err error) {
		failure = cmp.Or(failure, err)
		out = append(out, cell{setting: setting, fit: f, shared: shared, Deployment: d, kinds: w.Kinds})
	}
	whole, s := p.whole[k], p.result
	expert := p.expertOf(whole)
	onS := func(setting string, f *search.Result, shared bool, c *Result, attachments []string) {
		for _, attachment := range attachments {
			d, err := place(t, r, c, f.Model, attachment)
			if add(setting, f, shared, d, err); err == nil && expert != nil && setting == eval.OtoS {
				with := *d
				with.Expert = expert
				add(setting, f, shared, &with, nil)
			}
		}
	}
	more := slices.DeleteFunc(slices.Clone(w.Attachments), func(a string) bool { return a == s.Attachment || !s.has(a) })
	named := append([]string{s.Attachment}, more...)

	watch.Begins(r.Progress, "putting "+whole.Model.Name()+" onto the original graph")
	onT, kinds, err := r.holder.deploy(whole)
	if add(eval.OtoO, whole, false, onT, err); w.Kinds == nil {
		out[0].kinds = kinds
	}
	if slices.Contains(w.Attachments, artifact.AttachFrozen) && infer.Freezable(whole.Model) == nil {
		d, err := frozen(t, t.itself(), whole.Model)
		add(eval.OtoO, whole, false, d, err)
	}
	first := named
	if w.Kinds == nil {
		first = more
	}
	if p.placed != nil && w.Kinds == nil { // calibrated already, for the artifact
		out = append(out, cell{setting: eval.OtoS, fit: whole, Deployment: p.placed[k], calibration: p.calibrations[k]})
		if p.placed[k].Expert != nil { // beside it, what it gains
			out = append(out, cell{setting: eval.OtoS, fit: whole, Deployment: p.placed[k].WithoutExpert()})
		}
	}
	if s.has(s.Attachment) {
		onS(eval.OtoS, whole, false, s, first)
	}
	if failure != nil || !s.fitsOnS() || t.slots.Relational() || t.links != nil || t.groups.Several() { // not fitted on S
		return out, failure
	}
	small, err := fitOnS(ctx, t, h, r, s, whole.Model.Name())
	if err != nil {
		return nil, err
	}
	if add(eval.StoO, small, false, t.joint(small.Model), nil); s.M == nil {
		return out, nil
	}
	if s.clusters == nil {
		onS(eval.StoS, small, false, s, named)
		return out, failure
	}
	own, err := renew(ctx, s.clusters, small)
	if err != nil {
		return nil, err
	}
	onS(eval.StoS, small, false, own, named)
	onS(eval.StoS, small, true, s, named)
	if r.Spread {
		taught, err := s.clusters.fitLabels(ctx, whole.Model.Name())
		if err != nil {
			return nil, err
		}
		if own, err = renew(ctx, s.clusters, taught); err != nil {
			return nil, err
		}
		onS(eval.StoSLabels, taught, false, own, named)
	}
	return out, failure
}

// deployments returns the rows of the results before they are measured: each cell of each model, calibrated.
func deployments(ctx context.Context, t *T, h *Held, r *Run, p *recipe, w Measurements) ([]deploy.Row, error) {
	if t.slots.Relational() { // nothing is fitted on S (S→O, S→S), and there is one attachment and no propagation
		r.Progress.Step("models that read directions or types are measured in O→O and O→S, and are not fitted on S", 1, 1)
		if w.Attachments = nil; w.Kinds != nil {
			w.Kinds = []string{}
		}
	}
	if t.links != nil { // vectors of candidates are in tables alone
		w.Attachments = nil
	}
	var out []deploy.Row
	for k := range p.whole {
		all, err := cells(ctx, t, h, r, p, k, w)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.calibration == nil {
				watch.Begins(r.Progress, "calibrating "+c.fit.Model.Name()+", "+c.setting)
				if c.calibration, err = calibrateOn(ctx, t, h, r, c.Deployment, c.kinds); err != nil {
					return nil, err
				}
			}
			out = append(out, deploy.Rows(deploy.Row{Deployment: c.Deployment, Setting: c.setting, SharedM: c.shared,
				WeightDecay: cmp.Or(c.Decay, c.fit.WeightDecay), Served: p.serves(r, c)}, c.calibration)...)
		}
	}
	return out, nil
}

// serves reports whether consumers of this run's artifact serve a cell: the first model, fitted on T, on S in the
// method's attachment, with the expert if there is one. Methods for comparison make no artifact.
func (p *recipe) serves(r *Run, c cell) bool {
	return !r.method.Comparison && c.setting == eval.OtoS && c.fit == p.whole[0] &&
		c.Attachment == p.result.Attachment && c.Expert == p.expertOf(c.fit)
}

// expertOf returns the expert that answers beside a model on S; nil: none does.
func (p *recipe) expertOf(f *search.Result) *perceptron.Expert {
	for k, d := range p.placed {
		if p.whole[k] == f {
			return d.Expert
		}
	}
	return nil
}

// evaluate measures every deployment on the test nodes, in graph and in node batches; nothing if there are none.
// The deployments of a model begin with O→O, with which the others are compared.
func evaluate(ctx context.Context, t *T, h *Held, r *Run, deployments []deploy.Row,
	seconds float64) ([]eval.Result, error) {
	const what = "evaluating on the test nodes"
	var results []eval.Result
	if len(h.data.Test) == 0 {
		return nil, ctx.Err()
	}
	total := len(deployments) * len(t.modes())
	for _, mode := range t.modes() {
		r.Progress.Step(what, len(results), total)
		again := eval.Regroup(h.data, t.Original, r.Batch, mode)
		for _, d := range deployments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.Progress.Step(what, len(results), total)
			row, err := measure(t, h, r, d, mode, again)
			if err != nil {
				return nil, err
			}
			row.TrainSeconds = seconds
			results = append(results, row)
		}
	}
	r.Progress.Step(what, total, total)
	return results, nil
}

func measure(t *T, h *Held, run *Run, d deploy.Row, mode *attach.Mode, again *eval.Regrouped) (eval.Result, error) {
	r := eval.Result{Task: t.task, Method: run.Label(), Model: d.Model.Name(), Setting: d.Setting,
		SharedM: d.SharedM, Batch: mode.Name, Attachment: d.Attachment, Calibration: d.Calibration.Kind,
		SyntheticNodes: run.size, Own: d.Expert != nil,
		Ratio: float64(run.size) / float64(t.facts.Nodes), Seeds: []uint64{run.Seed}, Served: d.Served,
		WeightDecay: d.WeightDecay, WeightDecays: []float64{d.WeightDecay}, KeptBytes: d.Kept}
	if known, ok := run.known.Row(&r); ok {
		return known, nil
	}
	set := d.On(h.test()[mode.Name])
	predictor := d.Quick()
	answer := eval.Run(predictor, set)
	if err := answer.Finite(predictor, set, "test", math.MaxFloat32); err != nil {
		return r, fmt.Errorf("measuring %s: %w", d.Model.Name(), err)
	}
	d.Judge(&r, predictor, answer, set)
	if t.task.Can(target.Comparison) {
		compare(&r, run, d, predictor, answer, set, again)
	}
	if run.Costs && !run.known.Costs(&r) {
		d.Costs(&r, answer, set, footprint(t, run, d.Deployment))
	}
	run.known.Keep(r)
	return r, nil
}

// compare compares an answer's classes with those of Whole, and with those in other batches.
func compare(r *eval.Result, run *Run, d deploy.Row, predictor *infer.Predictor, answer *eval.Answer, set *eval.Set,
	again *eval.Regrouped) {
	// of a graph that is too large, Whole is frozen
	first := d.Attachment == artifact.AttachJoint || run.known.Classes(r) == nil
	if r.Setting == eval.OtoO && first && d.Spreading == nil {
		run.known.KeepClasses(r, answer.Class)
	} else {
		r.VersusWhole = eval.Pair(answer.Class, run.known.Classes(r), set)
	}
	r.Confusion = answer.Confusion(set)
	r.Agreement.Mean = eval.Equal(answer.Class, run.known.Classes(r))
	r.ChangedByBatching.Mean = again.Changed(predictor, d.On, answer.Class)
}
