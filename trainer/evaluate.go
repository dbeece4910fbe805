package trainer

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/trainer/calibrate"
	"rivulet/trainer/eval"
)

// deployment is one row of the results before it is measured.
type deployment struct {
	*deployedModel
	setting     string
	sharedM     bool
	weightDecay float64
	calibration infer.Calibration
	spreading   *propagationTables // nil: without propagation
	served      bool               // consumers serve it where nothing else is said
}

// Measurements lists the Measurements besides a method's own deployments.
type Measurements struct {
	// Kinds of propagation, lp and ep, in every setting; nil: only in O→S, whose parameters the artifact holds.
	Kinds []string
	// Attachments besides the method's own and, on T, joint.
	Attachments []string
}

// deployments returns the deployments of docs/algorithm.md, sections 5 to 7, for each model: O→O, O→S, S→O and S→S if
// the method has them. If W_S has an M of its own, S→S is also deployed through W_O's M.
func (t *task) deployments(ctx context.Context, r *recipe, w Measurements, progress Progress) ([]deployment, error) {
	var out []deployment
	calibrated := func(setting string, f *fitResult, shared bool, p *deployedModel, kinds []string) error {
		begins(progress, "calibrating "+f.model.Name()+", "+setting)
		c, err := t.calibrate(ctx, p, kinds)
		out = append(out, rows(deployment{deployedModel: p, setting: setting, sharedM: shared,
			weightDecay: cmp.Or(p.decay, f.weightDecay), served: r.serves(t, setting, f, p)}, c)...)
		return err
	}
	add := func(setting string, f *fitResult, shared bool, p *deployedModel) error {
		return calibrated(setting, f, shared, p, w.Kinds)
	}
	for k, whole := range r.whole {
		begins(progress, "putting "+whole.model.Name()+" onto the original graph")
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
		if slices.Contains(w.Attachments, artifact.AttachFrozen) && infer.Freezable(whole.model) == nil {
			frozen, err := t.frozen(t.itself(), whole.model)
			if err != nil {
				return nil, err
			}
			if err := add(eval.OtoO, whole, false, frozen); err != nil {
				return nil, err
			}
		}
		if r.placed != nil && w.Kinds == nil { // calibrated already, for the artifact
			out = append(out, rows(deployment{deployedModel: r.placed[k], setting: eval.OtoS, weightDecay: whole.weightDecay,
				served: r.serves(t, eval.OtoS, whole, r.placed[k])}, r.calibrations[k])...)
			if r.placed[k].expert != nil { // beside it, what it gains
				if err := calibrated(eval.OtoS, whole, false, r.placed[k].withoutExpert(), nil); err != nil {
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
func (r *recipe) serves(t *task, setting string, f *fitResult, p *deployedModel) bool {
	return !t.method.Comparison && setting == eval.OtoS && f == r.whole[0] &&
		p.attachment == r.served.parts().Attachment && p.expert == r.expertOf(f)
}

// expertOf returns the expert that answers beside a model on S; nil: none does.
func (r *recipe) expertOf(f *fitResult) *infer.Expert {
	for k, p := range r.placed {
		if r.whole[k] == f {
			return p.expert
		}
	}
	return nil
}

// deployOnS adds the deployments of one model that involve S.
func (t *task) deployOnS(ctx context.Context, r *recipe, whole *fitResult, w Measurements, progress Progress,
	add func(setting string, f *fitResult, shared bool, p *deployedModel) error) error {
	c := r.served.parts()
	onS := func(setting string, f *fitResult, shared bool, c condensation, attachments []string) error {
		for _, attachment := range attachments {
			p, err := t.place(c, f.model, attachment)
			if err == nil {
				err = add(setting, f, shared, p)
			}
			if expert := r.expertOf(whole); err == nil && expert != nil && setting == eval.OtoS {
				with := *p
				with.expert = expert
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
	if !ok {
		return nil
	}
	small, err := onto.fit(ctx, whole.model.Name(), progress)
	if err != nil {
		return err
	}
	if err := add(eval.StoO, small, false, t.jointOnT(small.model)); err != nil || c.M == nil {
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
	taught, err := of.fitLabels(ctx, whole.model.Name(), progress)
	if err != nil {
		return err
	}
	if own, err = again.renew(ctx, taught, progress); err != nil {
		return err
	}
	return onS(eval.StoSLabels, taught, false, own, named)
}

// rows returns a deployment without propagation and with each kind that was calibrated. If consumers serve it, they
// serve the kind that validation chose.
func rows(d deployment, c *calibration) []deployment {
	if c == nil {
		return nil
	}
	d.calibration = infer.Calibration{Temperature: c.temperature, Kind: infer.PropagateNone}
	served := d.served
	d.served = served && c.kind == infer.PropagateNone
	out := []deployment{d}
	for _, kind := range propagationKinds {
		if p := c.kinds[kind]; p != nil {
			d.calibration, d.spreading, d.served = p.calibration(kind), p.spreading, served && c.kind == kind
			out = append(out, d)
		}
	}
	return out
}

// evaluate measures every deployment on the test nodes, in graph and in node batches; nothing if there are none.
// The deployments of a model begin with O→O, with which the others are compared.
func (t *task) evaluate(ctx context.Context, deployments []deployment, seconds float64,
	progress Progress) ([]eval.Result, error) {
	const what = "evaluating on the test nodes"
	var results []eval.Result
	if len(t.data.Test) == 0 {
		return nil, ctx.Err()
	}
	total := len(deployments) * len(modes)
	for _, mode := range modes {
		progress.Step(what, len(results), total)
		again := t.regroup(mode)
		for _, d := range deployments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			progress.Step(what, len(results), total)
			r := t.measure(d, mode, again)
			r.TrainSeconds = seconds
			results = append(results, r)
		}
	}
	progress.Step(what, total, total)
	return results, nil
}

// shuffledBatches holds the test nodes in other batches.
type shuffledBatches struct {
	set   *eval.Set
	order []int // place of each node among the test nodes
}

// regroup shuffles the test nodes into batches of a tenth of the size. Nodes for two batches are enough.
func (t *task) regroup(mode string) *shuffledBatches {
	order := rand.New(rand.NewPCG(regroupSeed, 0)).Perm(len(t.data.Test))
	g := &shuffledBatches{order: order[:min(len(order), 2*t.options.Batch)]}
	g.set = eval.Attach(t.data, t.original, dataset.Batches(take(t.data.Test, g.order), max(1, t.options.Batch/10)),
		mode == GraphBatch)
	return g
}

// regroupSeed is the same for all runs: the other batches are the same for every method, seed and size.
const regroupSeed = 1

// changed returns the share of the regrouped nodes whose class differs from that in the usual batches, in percent.
func (g *shuffledBatches) changed(d deployment, p *infer.Predictor, classes []int32) float64 {
	answer := eval.Run(p, d.on(g.set))
	return 100 - eval.Equal(answer.Class, take(classes, g.order))
}

// quick returns a predictor with the same bits as predictor's, sooner where nothing has to know all logits.
func (d *deployment) quick() *infer.Predictor {
	if d.spreading != nil {
		return d.predictor(d.calibration, d.spreading)
	}
	return &infer.Predictor{Model: d.quickest(), Expert: d.expert, Calibration: d.calibration}
}

func (t *task) measure(d deployment, mode string, again *shuffledBatches) eval.Result {
	r := eval.Result{Method: t.label, Model: d.model.Name(), Setting: d.setting, SharedM: d.sharedM,
		Attachment: d.attachment, Batch: mode,
		Calibration: d.calibration.Kind, SyntheticNodes: t.nodes, Ratio: float64(t.nodes) / float64(t.facts.Nodes),
		Seeds: []uint64{t.options.Seed}, WeightDecay: d.weightDecay, WeightDecays: []float64{d.weightDecay},
		KeptBytes: d.kept, Served: d.served, Own: d.expert != nil}
	if known, ok := t.whole.row(&r); ok {
		return known
	}
	set := d.on(t.test()[mode])
	predictor := d.quick()
	answer := eval.Run(predictor, set)
	// of a graph that is too large, Whole is frozen
	first := d.attachment == artifact.AttachJoint || t.whole.classes(&r) == nil
	if r.Setting == eval.OtoO && first && d.spreading == nil {
		t.whole.keepClasses(&r, answer.Class)
	} else {
		r.VersusWhole = eval.Pair(answer.Class, t.whole.classes(&r), set)
	}
	r.Confusion = answer.Confusion(set, t.classes())
	r.Reliability = eval.Reliability(answer.Probabilities, set.Labels, nil)
	r.ReliabilityBefore = eval.Reliability(uncalibrated(predictor, answer, set), set.Labels, nil)
	for of, value := range map[*eval.Spread]float64{
		&r.Accuracy: answer.Accuracy(set), &r.MacroF1: eval.MacroF1(r.Confusion),
		&r.Agreement:         eval.Equal(answer.Class, t.whole.classes(&r)),
		&r.ChangedByBatching: again.changed(d, predictor, answer.Class),
		&r.ECE:               eval.ECE(r.Reliability),
		&r.ECEBefore:         eval.ECE(r.ReliabilityBefore),
	} {
		of.Mean = value
	}
	if t.options.Costs && !t.whole.costs(&r) {
		d.costs(&r, answer, set, t.footprint(d.deployedModel))
	}
	t.whole.keepRow(r)
	return r
}

// costs measures the time of a batch and the memory of inference. For the neighbourhood alone it takes the time of the
// answer, if that took enough batches.
func (d *deployment) costs(r *eval.Result, quick *eval.Answer, set *eval.Set, keep footprint) {
	predictor := d.predictor(d.calibration, d.spreading)
	r.MsPerBatch = eval.Time(predictor, set)
	if d.pass != nil {
		whole := *predictor
		whole.Model = d.pass()
		r.MsPerBatchKept, r.MsPerBatch = r.MsPerBatch, eval.Time(&whole, set)
	}
	if d.spreading != nil {
		r.PropagationMs = eval.Time(alonePropagation{predictor.Propagation}, set)
	}
	r.HeldBytes, r.StoredBytes = keep.memory, keep.stored
	r.InferenceBytes = eval.Memory(func() eval.Predictor { return d.predictor(d.calibration, d.spreading) }, set)
	if d.through == nil {
		r.InferenceBytes = max(0, r.InferenceBytes-d.kept) // T's own tables, or classes, stand for M, and are counted there
	}
	if d.near != nil && d.spreading == nil {
		if r.MsPerBatchNear = quick.MsPerBatch; r.MsPerBatchNear == 0 {
			r.MsPerBatchNear = eval.Time(plain(d.near()), set)
		}
	}
}

// uncalibrated returns the probabilities of an answer at temperature 1.
func uncalibrated(p *infer.Predictor, answer *eval.Answer, set *eval.Set) []*graph.Dense {
	before := *p
	before.Calibration.Temperature = 1
	if p.Propagation == nil {
		return calibrate.Support{Logits: answer.Logits}.Probabilities(before.Calibration)
	}
	return eval.Run(&before, set).Probabilities
}

// alonePropagation is label or error propagation without the model.
type alonePropagation struct{ infer.Propagation }

// Predict returns F, n×C, twice.
func (p alonePropagation) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	f := p.Propagate(b)
	return f, f
}
