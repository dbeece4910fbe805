package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/infer/attach"
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
func heldOut(t *T, h *Held) *HeldOut {
	if t.links == nil {
		return nil
	}
	return &HeldOut{t.links.HeldOut(h.data.IDs, h.data.Validation), t.links.HeldOut(h.data.IDs, h.data.Test)}
}

// Train runs a method from data to artifact: fit W_O of each model on T, condense T into S and one M for all
// models, calibrate; then fit W_S on S and measure both on the test nodes, on T and on S. now is the artifact's
// time of creation. The same data, options and build give the same bundle, bit for bit, whatever the number of
// processors.
//
// An error names the option or the data that is wrong; ctx ends the run at the next step with its error.
func Train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time, progress Progress) (*Outcome, error) {
	name := d.Name // d itself is not held while training: see prepare
	watch.Begins(progress, preparing)
	if len(d.Validation) == 0 {
		var err error
		if d, o, err = o.unvalidated(ctx, d, progress); err != nil {
			return nil, failed(name, err)
		}
	}
	t, h, r, err := prepare(d, o, progress)
	if err != nil {
		return nil, failed(name, err)
	}
	progress.Step(preparing, 1, 1)
	out, err := train(ctx, t, h, r, now)
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

// train is a run, on a T wherever its holder has it.
func train(ctx context.Context, t *T, h *Held, r *Run, now time.Time) (*Outcome, error) {
	if err := r.checkArtifact(); err != nil {
		return nil, err
	}
	p, choices, err := condenseChosen(ctx, t, h, r) // W_O of each model, S and M, W_O on S
	if err != nil {
		return nil, err
	}
	rows, err := deployments(ctx, t, h, r, p, Measurements{}) // W_S; O→O, O→S, S→O and S→S, calibrated
	if err != nil {
		return nil, err
	}
	results, err := evaluate(ctx, t, h, r, rows, r.seconds+p.seconds)
	if err == nil {
		err = measureAlone(ctx, t, h, r, rows, results)
	}
	if err != nil {
		return nil, err
	}
	b, err := bundle(ctx, t, h, r, p, results, now)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	answers, err := answer(ctx, h, r, p)
	if err != nil {
		return nil, err
	}
	return &Outcome{Bundle: b, Results: results, Seconds: r.seconds + p.seconds, Answers: answers, Choices: choices,
		Fits: fits(t, h, p), HeldOut: heldOut(t, h)}, nil
}

// Fit is a model on T, and what validation says of it, in percent.
type Fit struct {
	Model      string
	Validation float64
	// Majority is what the most frequent class of T's nodes has on the validation nodes; 0: the task has no classes.
	Majority float64
}

func fits(t *T, h *Held, p *recipe) (fits []Fit) {
	most := 0.0
	if t.task.Can(target.Comparison) && len(h.data.Validation) > 0 {
		most = majority(t, h)
	}
	for _, f := range p.whole {
		fits = append(fits, Fit{f.Model.Name(), f.Validation, most})
	}
	return fits
}

// majority returns the share of the validation nodes of the most frequent class of T, in percent.
func majority(t *T, h *Held) float64 {
	count := make([]int, t.Classes())
	for _, i := range t.labelled {
		count[t.Labels[i]]++
	}
	best, right := 0, 0
	for c := range count {
		if count[c] > count[best] {
			best = c
		}
	}
	for _, i := range h.data.Validation {
		if int(h.data.Labels[i]) == best {
			right++
		}
	}
	return 100 * float64(right) / float64(len(h.data.Validation))
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
	_, _, r, err := prepare(of, o, watch.Silent{})
	if err != nil {
		return 0, failed(d.Name, err)
	}
	f, err := r.holder.fit(ctx, r.Models[0])
	if err != nil {
		return 0, failed(d.Name, err)
	}
	progress.Step("fitting without weights of edges", 1, 1)
	return f.Validation, nil
}

// recipe holds the results of a run before its evaluation.
type recipe struct {
	whole  []*search.Result // W_O of each model
	result *Result
	// W_O of each model on S, in the method's attachment; nil if the method deploys on T only
	placed       []*deploy.Deployment
	calibrations []*deploy.Calibration // of placed, for the artifact; nil if no artifact is made
	seconds      float64               // wall clock of these steps, with the fits of W_O
}

// condenseAll fits W_O of each model, makes S and M, and puts the models onto S.
func condenseAll(ctx context.Context, t *T, h *Held, r *Run) (*recipe, error) {
	p := &recipe{}
	for _, name := range r.Models {
		f, err := r.holder.fit(ctx, name)
		if err != nil {
			return nil, err
		}
		p.whole = append(p.whole, f)
		p.seconds += f.Seconds
	}
	var err error
	start := time.Now()
	defer func() { p.seconds += time.Since(start).Seconds() }()
	if p.result, err = r.holder.condense(ctx, p.whole); err != nil {
		return nil, err
	}
	if !p.result.has(p.result.Attachment) {
		return p, nil
	}
	for _, f := range p.whole {
		watch.Begins(r.Progress, "putting "+f.Model.Name()+" onto the synthetic graph")
		d, err := place(t, r, p.result, f.Model, p.result.Attachment)
		if err != nil {
			return nil, err
		}
		p.placed = append(p.placed, d)
	}
	r.release(t)
	return p, chooseExperts(ctx, t, h, r, p.placed)
}

func models(all []*search.Result) []infer.Model {
	out := make([]infer.Model, len(all))
	for k, f := range all {
		out[k] = f.Model
	}
	return out
}

// calibrateAll makes the choices of validation for each model on S.
func calibrateAll(ctx context.Context, t *T, h *Held, r *Run, p *recipe) error {
	start := time.Now()
	const what = "choosing calibration and propagation"
	for k, d := range p.placed {
		r.Progress.Step(what, k, len(p.placed))
		c, err := calibrateOn(ctx, t, h, r, d, kinds(t, r))
		if err != nil {
			return err
		}
		if r.OfferPropagation {
			c.Kind = propagation.None
		}
		p.calibrations = append(p.calibrations, c)
	}
	r.Progress.Step(what, len(p.placed), len(p.placed))
	p.seconds += time.Since(start).Seconds()
	return nil
}

// calibrateOn makes the choices of validation for a deployment, none without validation nodes.
func calibrateOn(ctx context.Context, t *T, h *Held, r *Run, p *deploy.Deployment,
	kinds []string) (*deploy.Calibration, error) {
	if h.again {
		return deploy.Uncalibrate(t.task, t.Classes()), ctx.Err()
	}
	return deploy.Calibrate(ctx, p, h.support, r.Coverage, kinds)
}

// bundle returns the artifact of all models' W_O on S.
func bundle(ctx context.Context, t *T, h *Held, r *Run, p *recipe, results []eval.Result,
	now time.Time) (*artifact.Bundle, error) {
	const what = "making the artifact"
	r.Progress.Step(what, 0, 1)
	s := p.result
	b := &artifact.Bundle{Slots: t.slots, Manifest: manifest(t, h, r, p, results, now), Preprocess: *t.Preprocess,
		Synthetic: s.Synthetic, Schema: t.schema, Growth: growthOf(t, s)}
	if t.links != nil {
		b.Candidates = &artifact.Candidates{IDs: t.links.IDs(t.IDs), Vectors: t.links.Vectors}
	}
	if r.Spread {
		var err error
		if b.Spread, err = s.clusters.spread(ctx); err != nil {
			return nil, err
		}
	}
	for k, d := range p.placed {
		if d.Expert != nil {
			b.Own = d.Expert.Layers()
		}
		m := artifact.Model{Name: d.Model.Name(), Params: d.Model.Params(), Tables: d.Tables}
		p.calibrations[k].Tables(&m)
		if m.Tables == nil && infer.Freezable(d.Model) == nil {
			var err error
			if m.Tables, err = s.Tables(d.Model); err != nil {
				return nil, err
			}
		}
		if s.Features != nil && r.Representation && d.Model.Architecture.Linear() {
			var err error
			if m.Features, err = s.Features(d.Model); err != nil {
				return nil, err
			}
		}
		b.Models = append(b.Models, m)
	}
	r.Progress.Step(what, 1, 1)
	if r.Map {
		if err := draw(b, t, r, s); err != nil {
			return nil, err
		}
	}
	return b, storeMapping(b, t, s)
}

// storeMapping puts M into the bundle: whole, or where it lies in tables and is large, as parts that are read when the
// bundle is written.
func storeMapping(b *artifact.Bundle, t *T, c *Result) error {
	if c.rows == nil {
		b.Mapping = &artifact.Mapping{IDs: t.IDs, Rows: c.M}
		return nil
	}
	b.Parts = func(yield func(*artifact.Mapping, error) bool) {
		for r, err := range c.rows {
			if !yield(r.Mapping, err) {
				return
			}
		}
	}
	if c.size.Rows > artifact.PartRows {
		return nil
	}
	return b.LoadMapping()
}

// draw adds the map of S to the bundle.
func draw(b *artifact.Bundle, t *T, r *Run, c *Result) (err error) {
	const what = "laying out the map"
	r.Progress.Step(what, 0, 1)
	b.Map, err = plane.Of(b, c.eachRow(t), r.MapIDs, r.rng(purposeMap))
	r.Progress.Step(what, 1, 1)
	return err
}

func manifest(t *T, h *Held, r *Run, p *recipe, results []eval.Result, now time.Time) artifact.Manifest {
	m := artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: r.Label(), Seed: r.Seed,
		Data:           t.facts,
		Task:           t.task,
		SyntheticNodes: r.size,
		Mapping:        p.result.info(),
		Preprocess:     artifact.PreprocessInfo{Kind: t.Preprocess.Kind, Scale: t.Preprocess.Scale},
		DefaultModel:   p.whole[0].Model.Name(),
		Reference:      referenceOf(t, h, r, p),
		Metrics:        eval.Metrics(results),
	}
	for k, d := range p.placed {
		m.Models = append(m.Models, p.calibrations[k].Info(d, p.whole[k].WeightDecay, p.whole[k].Read, results))
		if _, given := r.Weights[d.Model.Name()]; !given {
			m.Models[k].Hidden = d.Model.Hidden()
			m.Models[k].Layers, m.Models[k].Hops = d.Model.Choices()
		}
	}
	return m
}

// referenceOf returns the figures of the validation nodes, each alone, and of the served models' predictions for them.
func referenceOf(t *T, h *Held, r *Run, p *recipe) baseline.Reference {
	if h.again {
		return baseline.Reference{}
	}
	support := h.set(h.data.Validation, attach.Node)
	out := eval.Reference(h.data, support, r.Keep)
	if t.task.Regression() { // no classes and no confidence
		return out
	}
	for k, d := range p.placed {
		set := d.On(support)
		out.Models[d.Model.Name()] = eval.Run(p.predictor(k), set).Reference(set, t.Classes())
	}
	return out
}
