package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/plane"
)

// Outcome is the result of a run.
type Outcome struct {
	Bundle  *artifact.Bundle
	Results []eval.Result // empty if the data set has no test nodes
	Seconds float64       // wall clock of fitting, condensation and calibration, without W_S and evaluation
	Learned *Learned      // of method learned; nil otherwise
}

// Train runs a method from data to artifact: fit W_O of each model on T, condense T into S and one M for all
// models, calibrate; then fit W_S on S and measure both on the test nodes, on T and on S. now is the artifact's
// time of creation. The same data, options and build give the same bundle, bit for bit, whatever the number of
// processors.
//
// An error names the option or the data that is wrong; ctx ends the run at the next step with its error.
func Train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time,
	progress Progress) (*Outcome, error) {
	name := d.Name // d itself is not held while training: see newTask
	out, err := train(ctx, d, o, now, progress)
	if err != nil {
		return nil, fmt.Errorf("training on %s: %w", name, err)
	}
	return out, nil
}

// preparing is the stage before the first fit: features encoded, the graph normalised, the preprocessing fitted.
const preparing = "preparing the graph"

func train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time,
	progress Progress) (*Outcome, error) {
	begins(progress, preparing)
	fingerprint := d.Fingerprint() // of the columns, if features have names
	d, s, err := Encode(d, o)
	if err != nil {
		return nil, err
	}
	o.Keep = s // X is of its positions
	t, err := newTask(d, o)
	if err != nil {
		return nil, err
	}
	if t.method.comparison {
		return nil, fmt.Errorf("method %s has no S and M to serve and makes no artifact: it is measured by eval", o.Method)
	}
	progress.Step(preparing, 1, 1)
	r, err := t.condense(ctx, progress)
	if err != nil {
		return nil, err
	}
	t.twoHops = nil
	start := time.Now()
	const what = "choosing calibration and propagation"
	for k, p := range r.placed {
		progress.Step(what, k, len(r.placed))
		c, err := t.calibrate(ctx, p, o.kinds())
		if err != nil {
			return nil, err
		}
		r.calibrations = append(r.calibrations, c)
	}
	progress.Step(what, len(r.placed), len(r.placed))
	r.seconds += time.Since(start).Seconds()
	deployments, err := t.deployments(ctx, r, wanted{}, progress)
	if err != nil {
		return nil, err
	}
	results, err := t.evaluate(ctx, deployments, t.seconds+r.seconds, progress)
	if err != nil {
		return nil, err
	}
	const making = "making the artifact"
	progress.Step(making, 0, 1)
	bundle, err := t.bundle(r, results, fingerprint, now)
	if err != nil {
		return nil, err
	}
	progress.Step(making, 1, 1)
	if o.Map {
		t.draw(bundle, progress)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Outcome{Bundle: bundle, Results: results, Seconds: t.seconds + r.seconds,
		Learned: r.served.parts().trace}, nil
}

// recipe holds the results of a run before its evaluation.
type recipe struct {
	whole        []*fitted // W_O of each model
	served       condensed
	placed       []*placed      // W_O of each model on S, in the method's attachment; nil if the method deploys on T only
	calibrations []*calibration // of those, for the artifact; nil if no artifact is made
	seconds      float64        // wall clock of all that, the fits of W_O too
}

// condense fits W_O of each model, makes S and M, and puts the models onto S.
func (t *task) condense(ctx context.Context, progress Progress) (*recipe, error) {
	r := &recipe{}
	for _, name := range t.options.Models {
		f, err := t.whole.fit(ctx, t, name, progress)
		if err != nil {
			return nil, err
		}
		r.whole = append(r.whole, f)
		r.seconds += f.seconds
	}
	var err error
	start := time.Now()
	defer func() { r.seconds += time.Since(start).Seconds() }()
	if r.served, err = t.method.condense(t, ctx, r.whole, progress); err != nil {
		return nil, err
	}
	attachment := r.served.parts().Attachment
	if !r.served.parts().has(attachment) {
		return r, nil
	}
	for _, f := range r.whole {
		begins(progress, "putting "+f.model.Name()+" onto the synthetic graph")
		p, err := t.place(r.served, f.model, attachment)
		if err != nil {
			return nil, err
		}
		r.placed = append(r.placed, p)
	}
	return r, nil
}

func models(all []*fitted) []infer.Model {
	out := make([]infer.Model, len(all))
	for k, f := range all {
		out[k] = f.model
	}
	return out
}

// bundle returns the artifact of all models' W_O on S.
func (t *task) bundle(r *recipe, results []eval.Result, fingerprint string,
	now time.Time) (*artifact.Bundle, error) {
	b := &artifact.Bundle{
		Manifest:   t.manifest(r, results, fingerprint, now),
		Preprocess: *t.pre,
		Synthetic:  r.served.parts().Synthetic,
		Schema:     t.schema,
		Mapping:    &artifact.Mapping{IDs: t.original.IDs, Rows: r.served.parts().M},
	}
	if c, ok := r.served.(keeping); ok {
		b.Growth = c.growth()
		if t.options.Means {
			b.Means = c.means()
		}
	}
	for k, p := range r.placed {
		m := artifact.Model{Name: p.model.Name(), Params: p.model.Params(), Tables: p.tables}
		r.calibrations[k].tables(&m)
		if m.Tables == nil && infer.Freezable(p.model) == nil {
			var err error
			if m.Tables, err = r.served.tables(p.model); err != nil {
				return nil, err
			}
		}
		if c, ok := r.served.(featured); ok && t.options.Representation && p.model.Architecture.Linear() {
			var err error
			if m.Features, err = c.features(p.model); err != nil {
				return nil, err
			}
		}
		b.Models = append(b.Models, m)
	}
	return b, nil
}

// draw adds the map of S to the bundle.
func (t *task) draw(b *artifact.Bundle, progress Progress) {
	const what = "laying out the map"
	progress.Step(what, 0, 1)
	b.Map = plane.Of(b, t.original.Labels, t.options.MapIDs, t.rng(purposeMap))
	progress.Step(what, 1, 1)
}

func (t *task) manifest(r *recipe, results []eval.Result, fingerprint string, now time.Time) artifact.Manifest {
	rows := r.served.parts().M
	m := artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: t.label, Seed: t.options.Seed,
		Data: artifact.Data{Name: t.data.Name, Fingerprint: fingerprint, Nodes: t.original.Adj.Rows,
			Edges: t.original.Adj.NNZ() / 2, Features: t.original.X.Cols(), Classes: t.data.Classes},
		SyntheticNodes: t.nodes,
		Mapping:        artifact.MappingInfo{Rows: rows.Rows, Entries: rows.NNZ(), MaxPerRow: longestRow(rows)},
		Preprocess:     artifact.PreprocessInfo{Kind: t.pre.Kind, Scale: t.pre.Scale},
		DefaultModel:   r.whole[0].model.Name(),
		Reference:      t.reference(r),
	}
	for k, p := range r.placed {
		m.Models = append(m.Models, r.calibrations[k].info(p, r.whole[k].weightDecay, results))
		if _, given := t.options.Weights[p.model.Name()]; !given {
			m.Models[k].Hidden = p.model.Hidden()
			m.Models[k].Layers, m.Models[k].Hops = t.depth(p.model)
		}
	}
	for _, r := range results {
		m.Metrics = append(m.Metrics, artifact.Metric{Model: r.Model, Setting: r.Setting, SharedM: r.SharedM,
			Batch: r.Batch, Calibration: r.Calibration, Accuracy: r.Accuracy.Mean})
	}
	return m
}

// depth are the numbers of layers and hops of a model, 0 where they are those that its architecture has by default.
func (t *task) depth(m infer.Model) (layers, hops int) {
	if len(m.Layers) > m.Architecture.Fewest {
		layers = len(m.Layers)
	}
	if m.Hops != m.Architecture.Hops {
		hops = m.Hops
	}
	return layers, hops
}

// info returns the manifest's entry of a model.
func (c *calibration) info(p *placed, weightDecay float64, results []eval.Result) artifact.ModelInfo {
	out := artifact.ModelInfo{Name: p.model.Name(), Attachment: p.attachment, FittedOn: "O", WeightDecay: weightDecay,
		Calibration: artifact.CalibrationInfo{Kind: c.kind, Temperature: c.temperature, Confidence: c.confidence},
		Propagation: map[string]artifact.PropagationInfo{}}
	tested(&out.Calibration.Confidence, results, out.Name, p.attachment, infer.PropagateNone)
	for kind, of := range c.kinds {
		info := of.info
		tested(&info.Confidence, results, out.Name, p.attachment, kind)
		out.Propagation[kind] = info
	}
	return out
}

func longestRow(m *graph.CSR) int {
	k := 0
	for i := range m.Rows {
		k = max(k, m.RowLen(i))
	}
	return k
}
