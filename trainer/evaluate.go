package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/infer"
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

// deployments returns the deployments of docs/algorithm.md, sections 5 to 7, for each model: O→O, O→S, S→O and S→S if
// the method has them. If W_S has an M of its own, S→S is also deployed through W_O's M.
func (t *task) deployments(ctx context.Context, r *recipe, w Measurements, progress Progress) ([]deploy.Row, error) {
	var out []deploy.Row
	calibrated := func(setting string, f *search.Result, shared bool, p *deploy.Deployment, kinds []string) error {
		watch.Begins(progress, "calibrating "+f.Model.Name()+", "+setting)
		if t.data.Task != target.Classes {
			kinds = nil
		}
		c, err := t.calibrate(ctx, p, kinds)
		out = append(out, deploy.Rows(deploy.Row{Deployment: p, Setting: setting, SharedM: shared,
			WeightDecay: cmp.Or(p.Decay, f.WeightDecay), Served: r.serves(t, setting, f, p)}, c)...)
		return err
	}
	add := func(setting string, f *search.Result, shared bool, p *deploy.Deployment) error {
		return calibrated(setting, f, shared, p, w.Kinds)
	}
	if t.related() { // S→O and S→S are left out, as nothing is fitted on S; there is one attachment and no propagation
		progress.Step("models that read directions or types are measured in O→O and O→S, and are not fitted on S", 1, 1)
		if w.Attachments = nil; w.Kinds != nil {
			w.Kinds = []string{}
		}
	}
	if t.links != nil { // vectors of candidates are in tables alone
		w.Attachments = nil
	}
	for k, whole := range r.whole {
		watch.Begins(progress, "putting "+whole.Model.Name()+" onto the original graph")
		onT, kinds, err := t.holder.deploy(whole)
		if err != nil {
			return nil, err
		}
		if w.Kinds != nil {
			kinds = w.Kinds
		}
		if err := calibrated(eval.OtoO, whole, false, onT, kinds); err != nil {
			return nil, err
		}
		if slices.Contains(w.Attachments, artifact.AttachFrozen) && infer.Freezable(whole.Model) == nil {
			frozen, err := t.frozen(t.itself(), whole.Model)
			if err != nil {
				return nil, err
			}
			if err := add(eval.OtoO, whole, false, frozen); err != nil {
				return nil, err
			}
		}
		if r.placed != nil && w.Kinds == nil { // calibrated already, for the artifact
			out = append(out, deploy.Rows(deploy.Row{Deployment: r.placed[k], Setting: eval.OtoS, WeightDecay: whole.WeightDecay,
				Served: r.serves(t, eval.OtoS, whole, r.placed[k])}, r.calibrations[k])...)
			if r.placed[k].Expert != nil { // beside it, what it gains
				if err := calibrated(eval.OtoS, whole, false, r.placed[k].WithoutExpert(), nil); err != nil {
					return nil, err
				}
			}
		}
		if err := t.deployOnS(ctx, r, whole, w, progress, add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// serves reports whether consumers of this run's artifact serve a deployment: the first model, fitted on T, on S in the
// method's attachment, with the expert if there is one. Methods for comparison make no artifact.
func (r *recipe) serves(t *task, setting string, f *search.Result, p *deploy.Deployment) bool {
	return !t.method.Comparison && setting == eval.OtoS && f == r.whole[0] &&
		p.Attachment == r.served.parts().Attachment && p.Expert == r.expertOf(f)
}

// expertOf returns the expert that answers beside a model on S; nil: none does.
func (r *recipe) expertOf(f *search.Result) *perceptron.Expert {
	for k, p := range r.placed {
		if r.whole[k] == f {
			return p.Expert
		}
	}
	return nil
}

// deployOnS adds the deployments of one model that involve S.
func (t *task) deployOnS(ctx context.Context, r *recipe, whole *search.Result, w Measurements, progress Progress,
	add func(setting string, f *search.Result, shared bool, p *deploy.Deployment) error) error {
	c := r.served.parts()
	onS := func(setting string, f *search.Result, shared bool, c condensation, attachments []string) error {
		for _, attachment := range attachments {
			p, err := t.place(c, f.Model, attachment)
			if err == nil {
				err = add(setting, f, shared, p)
			}
			if expert := r.expertOf(whole); err == nil && expert != nil && setting == eval.OtoS {
				with := *p
				with.Expert = expert
				err = add(setting, f, shared, &with)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	more := slices.DeleteFunc(slices.Clone(w.Attachments), func(a string) bool { return a == c.Attachment || !c.has(a) })
	named := append([]string{c.Attachment}, more...)
	first := more
	if w.Kinds != nil {
		first = named
	}
	if c.has(c.Attachment) {
		if err := onS(eval.OtoS, whole, false, r.served, first); err != nil {
			return err
		}
	}
	onto, ok := r.served.(modelFitter)
	if !ok || t.related() || t.links != nil || t.groups.Several() { // they are not fitted on S
		return nil
	}
	small, err := onto.fit(ctx, whole.Model.Name(), progress)
	if err != nil {
		return err
	}
	if err := add(eval.StoO, small, false, t.jointOnT(small.Model)); err != nil || c.M == nil {
		return err
	}
	again, ok := r.served.(mappingRenewer)
	if !ok {
		return onS(eval.StoS, small, false, r.served, named)
	}
	own, err := again.renew(ctx, small, progress)
	if err != nil {
		return err
	}
	if err := onS(eval.StoS, small, false, own, named); err != nil {
		return err
	}
	if err := onS(eval.StoS, small, true, r.served, named); err != nil {
		return err
	}
	of, ok := r.served.(labelFitter)
	if !ok || !t.options.Spread {
		return nil
	}
	taught, err := of.fitLabels(ctx, whole.Model.Name(), progress)
	if err != nil {
		return err
	}
	if own, err = again.renew(ctx, taught, progress); err != nil {
		return err
	}
	return onS(eval.StoSLabels, taught, false, own, named)
}

// evaluate measures every deployment on the test nodes, in graph and in node batches; nothing if there are none.
// The deployments of a model begin with O→O, with which the others are compared.
func (t *task) evaluate(ctx context.Context, deployments []deploy.Row, seconds float64,
	progress Progress) ([]eval.Result, error) {
	const what = "evaluating on the test nodes"
	var results []eval.Result
	if len(t.data.Test) == 0 {
		return nil, ctx.Err()
	}
	total := len(deployments) * len(t.modes())
	for _, mode := range t.modes() {
		progress.Step(what, len(results), total)
		again := eval.Regroup(t.data, t.original, t.options.Batch, mode == GraphBatch)
		for _, d := range deployments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			progress.Step(what, len(results), total)
			r, err := t.measure(d, mode, again)
			if err != nil {
				return nil, err
			}
			r.TrainSeconds = seconds
			results = append(results, r)
		}
	}
	progress.Step(what, total, total)
	return results, nil
}

func (t *task) measure(d deploy.Row, mode string, again *eval.Regrouped) (eval.Result, error) {
	r := eval.Result{Method: t.label, Model: d.Model.Name(), Setting: d.Setting, SharedM: d.SharedM, Batch: mode,
		Attachment: d.Attachment, Calibration: d.Calibration.Kind, SyntheticNodes: t.nodes, Own: d.Expert != nil,
		Ratio: float64(t.nodes) / float64(t.facts.Nodes), Seeds: []uint64{t.options.Seed}, Served: d.Served,
		WeightDecay: d.WeightDecay, WeightDecays: []float64{d.WeightDecay}, KeptBytes: d.Kept}
	if known, ok := t.whole.Row(&r); ok {
		return known, nil
	}
	set := d.On(t.test()[mode])
	predictor := d.Quick()
	answer := eval.Run(predictor, set)
	if err := answer.Finite(predictor, set, "test", math.MaxFloat32); err != nil {
		return r, fmt.Errorf("measuring %s: %w", d.Model.Name(), err)
	}
	if t.data.Task != target.Classes {
		d.Judge(&r, predictor, answer, set)
		if t.options.Costs {
			d.Costs(&r, answer, set, t.footprint(d.Deployment))
		}
		t.whole.Keep(r)
		return r, nil
	}
	// of a graph that is too large, Whole is frozen
	first := d.Attachment == artifact.AttachJoint || t.whole.Classes(&r) == nil
	if r.Setting == eval.OtoO && first && d.Spreading == nil {
		t.whole.KeepClasses(&r, answer.Class)
	} else {
		r.VersusWhole = eval.Pair(answer.Class, t.whole.Classes(&r), set)
	}
	r.Confusion = answer.Confusion(set, t.classes())
	r.Reliability = eval.Reliability(answer.Probabilities, set.Labels)
	r.ReliabilityBefore = eval.Reliability(deploy.Uncalibrated(predictor, answer, set), set.Labels)
	for of, value := range map[*eval.Spread]float64{
		&r.Accuracy: answer.Accuracy(set), &r.MacroF1: eval.MacroF1(r.Confusion),
		&r.Agreement:         eval.Equal(answer.Class, t.whole.Classes(&r)),
		&r.ChangedByBatching: again.Changed(predictor, d.On, answer.Class),
		&r.ECE:               eval.ECE(r.Reliability),
		&r.ECEBefore:         eval.ECE(r.ReliabilityBefore),
	} {
		of.Mean = value
	}
	if t.options.Costs && !t.whole.Costs(&r) {
		d.Costs(&r, answer, set, t.footprint(d.Deployment))
	}
	t.whole.Keep(r)
	return r, nil
}
