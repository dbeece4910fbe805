package trainer

import (
	"context"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/watch"
)

// memo keeps the results that depend on T alone, with one seed: models, and their rows and answers. Runs that differ in
// method and size share it.
type memo struct {
	fits       map[string]*fitResult
	own        map[string]*ownModel // of own features
	rows       map[eval.Key]eval.Result
	answers    map[eval.Key][]int32
	footprints map[*graph.CSR]deploy.Footprint // by M
}

func newMemo() *memo {
	return &memo{fits: map[string]*fitResult{}, own: map[string]*ownModel{}, rows: map[eval.Key]eval.Result{},
		answers:    map[eval.Key][]int32{},
		footprints: map[*graph.CSR]deploy.Footprint{}}
}

// seeded returns the part that is valid for another seed: a linear model's fit is convex and has no randomness but
// the sample of the rows, if there are many.
func (w *memo) seeded() *memo {
	out := newMemo()
	for name, f := range w.fits {
		if f.model.Architecture.Linear() && !f.sampled {
			out.fits[name] = f
		}
	}
	return out
}

// fit returns W_O of a model, fitted once, or imported.
func (w *memo) fit(ctx context.Context, t *task, name string, progress Progress) (*fitResult, error) {
	if f, ok := w.fits[name]; ok {
		return f, nil
	}
	start := time.Now()
	f, err := t.fitOriginal(ctx, name, progress)
	if err != nil {
		return nil, err
	}
	f.seconds = time.Since(start).Seconds()
	w.fits[name] = f
	return f, nil
}

// wholeKey identifies a row of O→O. Such a row depends on neither the method nor N', so the key has neither.
func wholeKey(r *eval.Result) eval.Key {
	k := r.Key()
	k.Method, k.SyntheticNodes = "", 0
	return k
}

// row returns a row of O→O that was measured before, under the name of this method.
func (w *memo) row(r *eval.Result) (eval.Result, bool) {
	known, ok := w.rows[wholeKey(r)]
	if !ok || r.Setting != eval.OtoO {
		return eval.Result{}, false
	}
	known.Method, known.SyntheticNodes, known.Ratio = r.Method, r.SyntheticNodes, r.Ratio
	return known, true
}

// costs gives a row of S→O the costs of the same row of O→O, and reports whether there is one that was measured: the
// two differ in the values of their weights, on which no time and no memory depends.
func (w *memo) costs(r *eval.Result) bool {
	if r.Setting != eval.StoO {
		return false
	}
	same := *r
	same.Setting = eval.OtoO
	of, ok := w.rows[wholeKey(&same)]
	if !ok || of.MsPerBatch == 0 {
		return false
	}
	r.MsPerBatch, r.MsPerBatchKept, r.MsPerBatchNear, r.PropagationMs = of.MsPerBatch, of.MsPerBatchKept,
		of.MsPerBatchNear,
		of.PropagationMs
	r.InferenceBytes, r.HeldBytes, r.StoredBytes = of.InferenceBytes, of.HeldBytes, of.StoredBytes
	return true
}

func (w *memo) keepRow(r eval.Result) {
	if r.Setting == eval.OtoO {
		w.rows[wholeKey(&r)] = r
	}
}

// answerKey returns the key of Whole's answer: the model and the kind of batch.
func answerKey(r *eval.Result) eval.Key { return eval.Key{Model: r.Model, Batch: r.Batch} }

func (w *memo) keepClasses(r *eval.Result, classes []int32) { w.answers[answerKey(r)] = classes }

// classes returns Whole's predictions for the test nodes; Whole was measured first.
func (w *memo) classes(r *eval.Result) []int32 { return w.answers[answerKey(r)] }

// Series measures runs on one data set, one after the other. Results that depend on T alone, W_O and the rows of O→O,
// are made once for each seed.
type Series struct {
	task   *task
	bySeed map[uint64]*memo
}

// NewSeries makes a data set ready for runs. The options of features and batches are those of all runs.
func NewSeries(d *dataset.Dataset, o Options, progress Progress) (*Series, error) {
	watch.Begins(progress, preparing)
	t, err := newTask(d, o)
	if err != nil {
		return nil, err
	}
	progress.Step(preparing, 1, 1)
	return &Series{t, map[uint64]*memo{}}, nil
}

// Labelled returns the number of T's nodes that have a label.
func (s *Series) Labelled() int { return len(s.task.labelled) }

// Measure condenses T as a run's options say, and measures the models on the test nodes.
func (s *Series) Measure(ctx context.Context, run Options, w Measurements, progress Progress) ([]eval.Result, error) {
	known := s.bySeed[run.Seed]
	if known == nil {
		known = s.task.whole.seeded()
		s.bySeed[run.Seed] = known
	}
	t, err := s.task.with(run, known)
	if err != nil {
		return nil, err
	}
	r, err := t.condense(ctx, progress)
	if err != nil {
		return nil, err
	}
	deployments, err := t.deployments(ctx, r, w, progress)
	if err != nil {
		return nil, err
	}
	s.task.whole = known.seeded()
	return t.evaluate(ctx, deployments, t.seconds+r.seconds, progress)
}

// footprint measures the memory for T's nodes of a deployment, once for each M. A deployment that is joined to T takes
// none beside T. T's own tables are kept by the same ids and have no form in Redis: the bytes of ids and tables are
// counted.
func (t *task) footprint(p *deploy.Deployment) deploy.Footprint {
	keeper := t.options.Keeper
	if keeper == nil || (p.Through == nil && p.Kept == 0) {
		return deploy.Footprint{}
	}
	if known, ok := t.whole.footprints[p.Through]; ok && p.Through != nil {
		return known
	}
	if p.Through == nil {
		n := t.original.Adj.Rows
		ids := &artifact.Mapping{IDs: t.original.IDs, Rows: &graph.CSR{Rows: n, Cols: 1, RowPtr: make([]int, n+1)}}
		out := deploy.Footprint{Memory: p.Kept + keeper.Held(ids), Stored: p.Kept}
		for _, id := range ids.IDs {
			out.Stored += int64(len(id))
		}
		return out
	}
	m := &artifact.Mapping{IDs: t.original.IDs, Rows: p.Through}
	out := deploy.Footprint{Memory: keeper.Held(m), Stored: keeper.Stored(m)}
	t.whole.footprints[p.Through] = out
	return out
}
