package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/links"
	"rivulet/trainer/plane"
	"rivulet/trainer/search"
	"rivulet/trainer/watch"
)

type (
	// Progress takes reports of a run's progress.
	Progress = watch.Progress
	// StageProgress shows the epochs of a fit, too.
	StageProgress = watch.StageProgress
	// Silent ignores all reports.
	Silent = watch.Silent
)

// Outcome is the result of a run.
type Outcome struct {
	Bundle  *artifact.Bundle
	Results []eval.Result // empty if the data set has no test nodes
	Seconds float64       // wall clock of fitting, condensation and calibration, without W_S and evaluation
	Choices []ModelChoice // the models among which validation chose; nil where the options name the one to serve
	Answers []Answer      // for some nodes of each role, by the artifact's default model
	// Fits are the models as they were fitted on T, before condensation, in the order of [Options.Models].
	Fits []Fit
	// HeldOut are the edges of a task of links that were held out: of validation nodes to choose by, of test nodes to
	// measure. nil: the task is another one.
	HeldOut *HeldOut
}

// HeldOut are edges that were held out, by the role of their node.
type HeldOut struct{ Validation, Test []links.HeldLink }

// heldOut returns the edges that were held out; nil: the task is another one.
func (t *task) heldOut() *HeldOut {
	if t.links == nil {
		return nil
	}
	return &HeldOut{t.links.HeldOut(t.data.IDs, t.data.Validation), t.links.HeldOut(t.data.IDs, t.data.Test)}
}

// Train runs a method from data to artifact: fit W_O of each model on T, condense T into S and one M for all
// models, calibrate; then fit W_S on S and measure both on the test nodes, on T and on S. now is the artifact's
// time of creation. The same data, options and build give the same bundle, bit for bit, whatever the number of
// processors.
//
// An error names the option or the data that is wrong; ctx ends the run at the next step with its error.
func Train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time, progress Progress) (*Outcome, error) {
	name := d.Name // d itself is not held while training: see newTask
	watch.Begins(progress, preparing)
	if len(d.Validation) == 0 {
		var err error
		if d, o, err = o.unvalidated(ctx, d, progress); err != nil {
			return nil, failed(name, err)
		}
	}
	t, err := newTask(d, o)
	if err != nil {
		return nil, failed(name, err)
	}
	progress.Step(preparing, 1, 1)
	out, err := t.run(ctx, now, progress)
	return out, failed(name, err)
}

// failed says in an error of a run which data it was for.
func failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("training on %s: %w", name, err)
}

// preparing is the stage before the first fit: features encoded, the graph normalised, the preprocessing fitted.
const preparing = "preparing the graph"

// run trains on T, wherever its holder has it: fit, condense, calibrate, evaluate, bundle.
func (t *task) run(ctx context.Context, now time.Time, progress Progress) (*Outcome, error) {
	if err := t.servable(); err != nil {
		return nil, err
	}
	var r *recipe
	var choices []ModelChoice
	var err error
	if t.options.Choose {
		t, r, choices, err = t.chooseModel(ctx, progress)
	} else if r, err = t.condense(ctx, progress); err == nil {
		err = t.calibrateAll(ctx, r, progress)
	}
	if err != nil {
		return nil, err
	}
	deployments, err := t.deployments(ctx, r, Measurements{}, progress)
	if err != nil {
		return nil, err
	}
	results, err := t.evaluate(ctx, deployments, t.seconds+r.seconds, progress)
	if err == nil {
		err = t.measureAlone(ctx, deployments, results, progress)
	}
	if err != nil {
		return nil, err
	}
	bundle, err := t.bundle(ctx, r, results, now, progress)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	answers, err := t.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Outcome{Bundle: bundle, Results: results, Seconds: t.seconds + r.seconds,
		Answers: answers, Choices: choices, Fits: t.fits(r), HeldOut: t.heldOut()}, nil
}

// Fit is a model on T, and what validation says of it, in percent.
type Fit struct {
	Model      string
	Validation float64
	// Majority is what the most frequent class of T's nodes has on the validation nodes; 0: the task has no classes.
	Majority float64
}

func (t *task) fits(r *recipe) (fits []Fit) {
	majority := 0.0
	if t.data != nil && t.data.Task == target.Classes && len(t.data.Validation) > 0 {
		majority = t.majority()
	}
	for _, f := range r.whole {
		fits = append(fits, Fit{f.Model.Name(), f.Validation, majority})
	}
	return fits
}

// majority returns the share of the validation nodes of the most frequent class of T, in percent.
func (t *task) majority() float64 {
	count := make([]int, t.classes())
	for _, i := range t.labelled {
		count[t.original.Labels[i]]++
	}
	best, right := 0, 0
	for c := range count {
		if count[c] > count[best] {
			best = c
		}
	}
	for _, i := range t.data.Validation {
		if int(t.data.Labels[i]) == best {
			right++
		}
	}
	return 100 * float64(right) / float64(len(t.data.Validation))
}

// Unweighted fits the first model to the same data without the weights of edges, and returns what validation says of it
// in percent. It is for a comparison with [Outcome.Fits].
func Unweighted(ctx context.Context, d *dataset.Dataset, o Options, progress Progress) (float64, error) {
	plain, adj := *d, *d.Adj
	adj.Val = nil
	plain.Adj = &adj
	of := &plain
	if len(d.Validation) == 0 {
		var err error
		if of, o, err = o.unvalidated(ctx, of, watch.Silent{}); err != nil {
			return 0, failed(d.Name, err)
		}
	}
	t, err := newTask(of, o)
	if err != nil {
		return 0, failed(d.Name, err)
	}
	f, err := t.holder.fit(ctx, t.options.Models[0], watch.Silent{})
	if err != nil {
		return 0, failed(d.Name, err)
	}
	progress.Step("fitting without weights of edges", 1, 1)
	return f.Validation, nil
}

// recipe holds the results of a run before its evaluation.
type recipe struct {
	whole  []*search.Result // W_O of each model
	served condensation
	// W_O of each model on S, in the method's attachment; nil if the method deploys on T only
	placed       []*deploy.Deployment
	calibrations []*deploy.Calibration // of placed, for the artifact; nil if no artifact is made
	seconds      float64               // wall clock of these steps, with the fits of W_O
}

// condense fits W_O of each model, makes S and M, and puts the models onto S.
func (t *task) condense(ctx context.Context, progress Progress) (*recipe, error) {
	r := &recipe{}
	for _, name := range t.options.Models {
		f, err := t.holder.fit(ctx, name, progress)
		if err != nil {
			return nil, err
		}
		r.whole = append(r.whole, f)
		r.seconds += f.Seconds
	}
	var err error
	start := time.Now()
	defer func() { r.seconds += time.Since(start).Seconds() }()
	if r.served, err = t.holder.condense(ctx, r.whole, progress); err != nil {
		return nil, err
	}
	attachment := r.served.parts().Attachment
	if !r.served.parts().has(attachment) {
		return r, nil
	}
	for _, f := range r.whole {
		watch.Begins(progress, "putting "+f.Model.Name()+" onto the synthetic graph")
		p, err := t.place(r.served, f.Model, attachment)
		if err != nil {
			return nil, err
		}
		r.placed = append(r.placed, p)
	}
	t.twoHops = nil // as large as T's features, and not read any more
	return r, t.chooseExperts(ctx, r, progress)
}

func models(all []*search.Result) []infer.Model {
	out := make([]infer.Model, len(all))
	for k, f := range all {
		out[k] = f.Model
	}
	return out
}

// calibrateAll makes the choices of validation for each model on S.
func (t *task) calibrateAll(ctx context.Context, r *recipe, progress Progress) error {
	start := time.Now()
	const what = "choosing calibration and propagation"
	for k, p := range r.placed {
		progress.Step(what, k, len(r.placed))
		c, err := t.calibrate(ctx, p, t.kinds())
		if err != nil {
			return err
		}
		if t.options.OfferPropagation {
			c.Kind = propagation.None
		}
		r.calibrations = append(r.calibrations, c)
	}
	progress.Step(what, len(r.placed), len(r.placed))
	r.seconds += time.Since(start).Seconds()
	return nil
}

// calibrate makes the choices of validation for a deployment, none without validation nodes.
func (t *task) calibrate(ctx context.Context, p *deploy.Deployment, kinds []string) (*deploy.Calibration, error) {
	if t.options.noValidation {
		return deploy.Uncalibrate(t.data.Task, t.classes()), ctx.Err()
	}
	return deploy.Calibrate(ctx, p, t.support, t.options.Coverage, kinds)
}

// bundle returns the artifact of all models' W_O on S.
func (t *task) bundle(ctx context.Context, r *recipe, results []eval.Result, now time.Time,
	progress Progress) (*artifact.Bundle, error) {
	const what = "making the artifact"
	progress.Step(what, 0, 1)
	b := &artifact.Bundle{Bins: t.bins, Manifest: t.manifest(r, results, now), Preprocess: *t.pre,
		Synthetic: r.served.parts().Synthetic, Schema: t.schema}
	if c, ok := r.served.(growable); ok && !t.related() && !t.groups.Several() { // rows of arrivals have neither
		b.Growth = c.growth()
	}
	if t.links != nil {
		b.Candidates = &artifact.Candidates{IDs: t.links.IDs(t.original.IDs), Vectors: t.links.Vectors}
	}
	if t.options.Spread {
		var err error
		if b.Spread, err = r.served.(spreader).spread(ctx, progress); err != nil {
			return nil, err
		}
	}
	for k, p := range r.placed {
		if p.Expert != nil {
			b.Own = p.Expert.Layers()
		}
		m := artifact.Model{Name: p.Model.Name(), Params: p.Model.Params(), Tables: p.Tables}
		r.calibrations[k].Tables(&m)
		if m.Tables == nil && infer.Freezable(p.Model) == nil {
			var err error
			if m.Tables, err = r.served.tables(p.Model); err != nil {
				return nil, err
			}
		}
		if c, ok := r.served.(featureTables); ok && t.options.Representation && p.Model.Architecture.Linear() {
			var err error
			if m.Features, err = c.features(p.Model); err != nil {
				return nil, err
			}
		}
		b.Models = append(b.Models, m)
	}
	progress.Step(what, 1, 1)
	if t.options.Map {
		if err := t.draw(b, r.served.parts(), progress); err != nil {
			return nil, err
		}
	}
	return b, t.storeMapping(b, r.served.parts())
}

// storeMapping puts M into the bundle: whole, or where it lies in tables and is large, as parts that are read when the
// bundle is written.
func (t *task) storeMapping(b *artifact.Bundle, m *graphParts) error {
	if m.stored == nil {
		b.Mapping = &artifact.Mapping{IDs: t.original.IDs, Rows: m.M}
		return nil
	}
	b.Parts = func(yield func(*artifact.Mapping, error) bool) {
		for r, err := range m.stored {
			if !yield(r.Mapping, err) {
				return
			}
		}
	}
	if m.size.Rows > artifact.PartRows {
		return nil
	}
	return b.LoadMapping()
}

// draw adds the map of S to the bundle.
func (t *task) draw(b *artifact.Bundle, m *graphParts, progress Progress) (err error) {
	const what = "laying out the map"
	progress.Step(what, 0, 1)
	b.Map, err = plane.Of(b, m.rows(t.original), t.options.MapIDs, t.rng(purposeMap))
	progress.Step(what, 1, 1)
	return err
}

func (t *task) manifest(r *recipe, results []eval.Result, now time.Time) artifact.Manifest {
	m := artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: t.label, Seed: t.options.Seed,
		Data:           t.facts,
		Task:           t.data.Task,
		SyntheticNodes: t.nodes,
		Mapping:        r.served.parts().info(),
		Preprocess:     artifact.PreprocessInfo{Kind: t.pre.Kind, Scale: t.pre.Scale},
		DefaultModel:   r.whole[0].Model.Name(),
		Reference:      t.reference(r),
		Metrics:        eval.Metrics(results),
	}
	for k, p := range r.placed {
		m.Models = append(m.Models, r.calibrations[k].Info(p, r.whole[k].WeightDecay, r.whole[k].Read, results))
		if _, given := t.options.Weights[p.Model.Name()]; !given {
			m.Models[k].Hidden = p.Model.Hidden()
			m.Models[k].Layers, m.Models[k].Hops = p.Model.Choices()
		}
	}
	return m
}

// reference returns the figures of the validation nodes, each alone, and of the served models' predictions for them.
func (t *task) reference(r *recipe) baseline.Reference {
	if t.options.noValidation {
		return baseline.Reference{}
	}
	support := t.set(t.data.Validation, NodeBatch)
	out := eval.Reference(t.data, support, t.options.Keep)
	if t.data.Task.Regression() { // no classes and no confidence
		return out
	}
	for k, p := range r.placed {
		set := p.On(support)
		out.Models[p.Model.Name()] = eval.Run(r.predictor(k), set).Reference(set, t.classes())
	}
	return out
}
