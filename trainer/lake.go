package trainer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/infer/perceptron"
	"rivulet/infer/propagation"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/fit"
	"rivulet/trainer/lake"
	"rivulet/trainer/plane"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// LakeModels are the models that tables of a lake have layers of.
var LakeModels = []string{modelSGC, "gcn", "sage"}

// CheckLake returns an error for options that a run over tables does not have. It names the first.
func CheckLake(o Options) error {
	for _, name := range o.Models {
		if !slices.Contains(LakeModels, name) {
			return fmt.Errorf("models has %s, want some of %s: tables that need not fit into memory have layers of these",
				name, LakeModels)
		}
	}
	return o.Validate()
}

// lakeOptions are the options of a run over tables.
func lakeOptions(s *lake.Settings) Options {
	o := Defaults()
	o.Models, o.Hidden, o.Layers, o.Hops, o.WeightDecays = s.Models, s.Hidden, s.Layers, s.Hops, s.WeightDecays
	o.Nodes, o.Ratio, o.Entries, o.Preprocess, o.Own = s.Nodes, s.Ratio, s.Entries, s.Preprocess, s.Own
	o.Seed, o.Propagate, o.Coverage = s.Seed, s.Propagate, s.Coverage
	o.Costs, o.Map = false, false // they read all of M and of T at once
	return o
}

// lakeSettings are the options that the steps of a run over tables share.
func lakeSettings(o *Options) lake.Settings {
	return lake.Settings{Models: o.Models, Hidden: o.Hidden, Layers: o.Layers, Hops: o.Hops, WeightDecays: o.WeightDecays,
		Nodes: o.Nodes, Ratio: o.Ratio, Entries: o.Entries, Preprocess: o.Preprocess, Own: o.Own, Seed: o.Seed,
		Propagate: o.Propagate, Coverage: o.Coverage}
}

// lakeRun makes a run of nodes that are held out, attached to nodes of T.
func lakeRun(f *lake.Facts, o Options, d *dataset.Dataset, original *dataset.Original, progress Progress) (*T, *Held,
	*Run) {
	method, _ := o.method()
	t := &T{Original: original, task: d.Task, facts: f.Data(), labelled: sample.Labelled(original.Labels)}
	t.groups = condense.NewGroups(t.Labels, t.Classes(), nil, nil)
	h := &Held{t: t, data: d, batch: o.Batch}
	r := &Run{Options: o, Progress: progress, method: method, known: newMemo(), sampledFrom: sampledFrom,
		sampledRows: sampledRows}
	r.holder = inMemory{t, h, r}
	return t, h, r
}

// lakeSample is a part of T in which models are fitted and S is made.
type lakeSample struct {
	t    *T
	held *Held
	run  *Run
	keys []int64 // of the nodes of T
}

// whole reports whether the part is all of T.
func (s *lakeSample) whole() bool { return len(s.keys) == s.t.facts.Nodes }

// newLakeSample reads the sample, and fits the preprocessing to it.
func newLakeSample(f *lake.Facts, o Options, dir string, progress Progress) (*lakeSample, error) {
	read, err := lake.ReadSample(dir, f)
	if err != nil {
		return nil, err
	}
	read = read.OriginalFirst()
	d := read.Dataset
	s := &lakeSample{}
	s.t, s.held, s.run = lakeRun(f, o, d, d.Original(), progress)
	t, n := s.t, len(s.t.Nodes)
	s.keys = read.Keys[:n]
	if len(t.labelled) == 0 {
		return nil, fmt.Errorf("no labelled training node is in the sample of %d nodes", n)
	}
	if n > f.Nodes {
		return nil, fmt.Errorf("the sample has %d nodes of the %d that the facts count", n, f.Nodes)
	}
	t.meeting = tables.WeightsOf(slices.Clone(read.Degrees[:n]))
	for k, sum := range t.Adj.RowSums() {
		if known := read.Degrees[k]; sum > known || s.whole() && sum != known {
			return nil, fmt.Errorf("node %.100q has %g edges to nodes of the sample, and degree %g", t.IDs[k], sum,
				known)
		}
	}
	if err := s.run.divide(t, f.Nodes, f.Labelled()); err != nil {
		return nil, fmt.Errorf("the sample: %w", err)
	}
	if err := t.fitPreprocessing(&o, d.BagOfWords); err != nil {
		return nil, err
	}
	s.held.attach()
	return s, nil
}

// PrepareLake fits the preprocessing of a run over tables to a sample of the nodes, and begins the draft.
func PrepareLake(f *lake.Facts, o Options, dir string, to lake.Draft) (*lake.Preparation, error) {
	if err := CheckLake(o); err != nil {
		return nil, err
	}
	if err := to.Check(); err != nil {
		return nil, err
	}
	s, err := newLakeSample(f, o, dir, Silent{})
	if err != nil {
		return nil, err
	}
	p := &lake.Preparation{Facts: *f, Settings: lakeSettings(&o), Preprocess: *s.t.Preprocess, Nodes: s.run.size,
		Basis: o.projection(f.Features)}
	return p, to.SavePrepared(p)
}

// drafted returns what was prepared, and the sample of it.
func drafted(d lake.Draft, dir string, progress Progress) (*lake.Preparation, *lakeSample, error) {
	p, err := d.Prepared()
	if err != nil {
		return nil, nil, err
	}
	s, err := newLakeSample(&p.Facts, lakeOptions(&p.Settings), dir, progress)
	return p, s, err
}

// FitLake fits the models of a run over tables to the sample, and perceptrons of own features. points are tables of
// rows of Â²·pre(X) by all edges of T, to which an sgc of two hops is fitted where the sample is not all of T.
func FitLake(ctx context.Context, d lake.Draft, dir string, points []string, progress Progress) (*lake.Weights, error) {
	p, s, err := drafted(d, dir, progress)
	if err != nil {
		return nil, err
	}
	w := &lake.Weights{Own: map[string]lake.Perceptron{}}
	for _, name := range s.run.Models {
		start := time.Now()
		var f *search.Result
		if name == modelSGC && s.run.shape(s.t, name).Hops == 2 && !s.whole() && p.Basis == nil && len(points) > 0 {
			f, err = s.fitPoints(ctx, p, points)
		} else {
			f, err = fitOriginal(ctx, s.t, s.held, s.run, name)
		}
		if err != nil {
			return nil, err
		}
		read := 0
		if !s.whole() {
			read = len(s.keys)
		}
		w.Models = append(w.Models, lake.ModelFit{Name: name, Params: f.Model.Params(), WeightDecay: f.WeightDecay,
			Validation: f.Validation, Seconds: time.Since(start).Seconds(), Read: read})
	}
	if s.run.Own != OwnNever {
		for _, layer := range []expert.HiddenLayer{oneLayer, expertLayer} {
			own, err := fitOwn(ctx, s.t, s.held, s.run, layer)
			if err != nil {
				return nil, err
			}
			w.Own[fmt.Sprint(layer)] = lake.Perceptron{Layers: own.Layers(), WeightDecay: own.WeightDecay,
				Validation: own.Validation}
		}
	}
	return w, d.SaveWeights(w)
}

// fitPoints fits an sgc of two hops to true rows of Â²·pre(X), and chooses its weight decay on the validation nodes,
// frozen on T: tables of a linear model are those of the features, times its weights.
func (s *lakeSample) fitPoints(ctx context.Context, p *lake.Preparation, files []string) (*search.Result, error) {
	m, err := p.Points()
	if err != nil {
		return nil, err
	}
	parts, x := lake.NewParts(lake.Points, m.Recurrence()), &graph.Dense{Cols: m.Classes()}
	at, err := lake.ReadParts(files, s.keys, []*lake.Parts{parts}, x)
	if err != nil {
		return nil, err
	}
	of := parts.Take(at)
	frozen := func(_ context.Context, m infer.Model) (float64, error) {
		onT := &infer.Tables{C: of.C}
		for _, u := range of.U {
			onT.U = append(onT.U, graph.MulDense(u, m.Layers[0].Self))
		}
		return search.Accuracy(eval.Plain(m.Frozen(onT, s.t.Preprocess)), s.held.judges), nil
	}
	all := fit.Problem{Design: fit.Explicit{X: x.Take(graph.Pick(at, s.t.labelled))},
		Labels: graph.Pick(s.t.Labels, s.t.labelled), Classes: s.t.Classes()}
	return s.run.chooseLinear(ctx, s.run.shape(s.t, modelSGC), all, s.run.decays(modelSGC), frozen,
		"fitting sgc on the original graph")
}

// CondenseLake makes S and the dictionary of M of the sample, by its nodes' true rows of the models' tables, of points
// and, where it is asked for, of propagation.
func CondenseLake(ctx context.Context, d lake.Draft, dir string, rows []string, progress Progress) (*lake.Condensation,
	error) {
	start := time.Now()
	p, s, err := drafted(d, dir, progress)
	if err != nil {
		return nil, err
	}
	known, err := newLakeModels(d, p)
	if err != nil {
		return nil, err
	}
	m, err := p.Points()
	if err != nil {
		return nil, err
	}
	points := &graph.Dense{Cols: m.Classes()}
	at, err := lake.ReadParts(rows, s.keys, known.all(), points)
	if err != nil {
		return nil, err
	}
	onT := known.tables(at)
	s.t.exact, s.t.twoHops, s.t.stored = points.Take(at), nil, onT
	c, err := clusters(solveRows)(ctx, s.t, s.held, s.run, known.models)
	if err != nil {
		return nil, err
	}
	g := growthOf(s.t, c)
	out := &lake.Condensation{Synthetic: c.Synthetic, Clusters: g.Dictionary, Entries: g.Entries}
	for _, m := range known.models {
		of, err := c.Tables(m)
		if err != nil {
			return nil, err
		}
		out.Tables, out.Messages = append(out.Tables, of), append(out.Messages, g.Messages[m.Name()])
	}
	if onT.labels != nil {
		if out.Labels, err = c.fitter.Fit(onT.labels); err != nil {
			return nil, err
		}
		for _, of := range onT.errors {
			fitted, err := c.fitter.Fit(of)
			if err != nil {
				return nil, err
			}
			out.Errors = append(out.Errors, fitted)
		}
	}
	out.Seconds = time.Since(start).Seconds()
	return out, d.SaveCondensed(out)
}

// modelTables are the tables of models that arrivals read: of some nodes of T, or of S.
type modelTables struct {
	models []infer.Model
	own    []*infer.Tables // of each model
	labels *infer.Tables   // of label propagation; nil: there is none
	errors []*infer.Tables // of error propagation, of each model
}

// Tables returns a model's tables.
func (f *modelTables) Tables(m infer.Model) *infer.Tables { return f.own[slices.Index(f.models, m)] }

// Propagation returns the tables of a kind of propagation of a model at one α.
func (f *modelTables) Propagation(kind string, m infer.Model, alpha float32) *infer.Tables {
	hops := f.labels
	if kind == propagation.Errors {
		hops = f.errors[slices.Index(f.models, m)]
	}
	if alpha == 1 {
		return hops
	}
	return hops.Restarted(alpha)
}

// knownModels are the models of a draft, with the parts of their tables.
type knownModels struct {
	models  []infer.Model
	fits    []*search.Result
	parts   []*lake.Parts
	spread  *lake.Parts // of propagation; nil: there is none
	classes int
}

// newLakeModels reads the models of a draft.
func newLakeModels(d lake.Draft, p *lake.Preparation) (*knownModels, error) {
	w, err := d.Weights()
	if err != nil {
		return nil, err
	}
	k := &knownModels{classes: len(p.Facts.Classes)}
	for i := range w.Models {
		f := &w.Models[i]
		m, err := f.Model()
		if err != nil {
			return nil, err
		}
		k.models, k.parts = append(k.models, m), append(k.parts, lake.NewParts(f.Name, m.Recurrence()))
		k.fits = append(k.fits, &search.Result{Model: m, WeightDecay: f.WeightDecay, Validation: f.Validation,
			Seconds: f.Seconds, Read: f.Read})
	}
	if p.Settings.Propagate {
		r, err := p.Recurrence(lake.Propagation, w)
		if err != nil {
			return nil, err
		}
		k.spread = lake.NewParts(lake.Propagation, r)
	}
	return k, nil
}

// all are the parts that are read.
func (k *knownModels) all() []*lake.Parts {
	if k.spread == nil {
		return k.parts
	}
	return append(slices.Clone(k.parts), k.spread)
}

// tables are the tables of rows that were read.
func (k *knownModels) tables(rows []int32) *modelTables {
	out := &modelTables{models: k.models}
	for _, p := range k.parts {
		out.own = append(out.own, p.Take(rows))
	}
	if k.spread == nil {
		return out
	}
	all := k.spread.Take(rows)
	of := func(seed int) *infer.Tables {
		t := &infer.Tables{}
		for _, u := range all.U {
			t.U = append(t.U, u.Columns(seed*k.classes, (seed+1)*k.classes))
		}
		return t
	}
	out.labels = of(0)
	for i := range k.models {
		out.errors = append(out.errors, of(1+i))
	}
	return out
}

// lakeHolder is the [holder] of a T in tables, of which the run has the rows that held-out nodes read.
type lakeHolder struct {
	t    *T
	run  *Run
	held *lake.Held
	fits []*search.Result
	onT  *modelTables
	onS  *Result
}

// FinishLake chooses own features, calibrates and measures on the nodes that are held out, and makes the artifact. Its
// M is in files. read are tables with a row, also of M, for each node of T that a held-out node has an edge to.
func FinishLake(ctx context.Context, d lake.Draft, dir string, read, mapping []string, now time.Time,
	progress Progress) (*Outcome, error) {
	p, err := d.Prepared()
	if err != nil {
		return nil, err
	}
	known, err := newLakeModels(d, p)
	if err != nil {
		return nil, err
	}
	w, err := d.Weights()
	if err != nil {
		return nil, err
	}
	c, err := d.Condensed()
	if err != nil {
		return nil, err
	}
	held, err := lake.ReadHeld(dir, &p.Facts, read, known.all(), p.Nodes)
	if err != nil {
		return nil, err
	}
	t, h, r := lakeRun(&p.Facts, lakeOptions(&p.Settings), held.Data, held.Original, progress)
	t.Preprocess, r.size, r.seconds = &p.Preprocess, p.Nodes, c.Seconds
	for kind, of := range w.Own {
		r.known.own[kind] = &expert.Perceptron{Perceptron: perceptron.New(of.Layers, t.Preprocess),
			WeightDecay: of.WeightDecay, Validation: of.Validation}
	}
	h.attach()
	onS, err := lakeResult(p, c, known.models, held.M, mapping)
	if err != nil {
		return nil, err
	}
	r.holder = &lakeHolder{t: t, run: r, held: held, fits: known.fits, onT: known.tables(held.Places), onS: onS}
	out, err := train(ctx, t, h, r, now)
	return out, failed(p.Facts.Name, err)
}

func (h *lakeHolder) fit(_ context.Context, name string) (*search.Result, error) {
	return h.fits[slices.Index(h.run.Models, name)], nil
}

func (h *lakeHolder) condense(ctx context.Context, _ []*search.Result) (*Result, error) {
	return h.onS, ctx.Err()
}

// own is never asked: perceptrons of own features are among the weights.
func (h *lakeHolder) own(context.Context) (ownData, error) {
	return ownData{}, fmt.Errorf("no perceptron of own features was fitted: own is %s", h.run.Own)
}

// deploy freezes a model on T.
func (h *lakeHolder) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	p, err := frozen(h.t, h.onT.result(), f.Model)
	return p, kinds(h.t, h.run), err
}

func (h *lakeHolder) Neighbours(_ context.Context, nodes []int32) (edges []dataset.Edges, degrees []int, err error) {
	for _, i := range nodes {
		of, degree := h.held.Neighbours(i)
		edges, degrees = append(edges, dataset.Edges{To: of}), append(degrees, degree)
	}
	return edges, degrees, nil
}

// result is a condensed graph whose tables are made: S, or the nodes of T that are read.
func (f *modelTables) result() *Result {
	return &Result{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen},
		Tables: func(m infer.Model) (*infer.Tables, error) { return f.Tables(m), nil },
		Propagation: func(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
			return f.Propagation(kind, m, alpha), nil
		}}
}

// lakeResult returns S with the rows m of M that are read, and all of M in files.
func lakeResult(p *lake.Preparation, c *lake.Condensation, models []infer.Model, m *graph.CSR, files []string) (*Result,
	error) {
	out := (&modelTables{models, c.Tables, c.Labels, c.Errors}).result()
	out.Synthetic, out.M = c.Synthetic, m
	out.growth = &artifact.Growth{Entries: c.Entries, Dictionary: c.Clusters, Messages: map[string]growth.Messages{}}
	for k, m := range models {
		out.growth.Messages[m.Name()] = c.Messages[k]
	}
	all := lake.Mapping(files, p.Nodes)
	for piece, err := range all {
		if err != nil {
			return nil, err
		}
		out.size.Rows, out.size.Entries = out.size.Rows+piece.Rows.Rows, out.size.Entries+piece.Rows.NNZ()
		out.size.MaxPerRow = max(out.size.MaxPerRow, piece.Rows.LongestRow())
	}
	if out.size.Rows != p.Facts.Nodes {
		return nil, fmt.Errorf("the tables of M have %d rows, want one for each of %d nodes", out.size.Rows, p.Facts.Nodes)
	}
	out.rows = func(yield func(plane.Rows, error) bool) {
		for piece, err := range all {
			if !yield(plane.Rows{Mapping: piece}, err) {
				return
			}
		}
	}
	return out, nil
}

// storedTables are tables of T's nodes that are made already.
type storedTables interface {
	Tables(m infer.Model) *infer.Tables
}
