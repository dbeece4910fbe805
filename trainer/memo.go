package trainer

import (
	"context"
	"time"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/search"
	"rivulet/trainer/watch"
)

// memo keeps the results that depend on T alone, with one seed: models, and their rows and answers. Runs that differ in
// method and size share it.
type memo struct {
	fits map[string]*search.Result
	own  map[string]*expert.Perceptron // of own features
	*eval.Memo
	footprints map[*graph.CSR]deploy.Footprint // by M
}

func newMemo() *memo {
	return &memo{fits: map[string]*search.Result{}, own: map[string]*expert.Perceptron{}, Memo: eval.NewMemo(),
		footprints: map[*graph.CSR]deploy.Footprint{}}
}

// seeded returns the part that is valid for another seed: a linear model's fit is convex and has no randomness but
// the sample of the rows, if there are many.
func (w *memo) seeded() *memo {
	out := newMemo()
	for name, f := range w.fits {
		if f.Model.Architecture.Linear() && !f.Sampled {
			out.fits[name] = f
		}
	}
	return out
}

// fit returns W_O of a model, fitted once, or imported.
func (w *memo) fit(ctx context.Context, t *T, h *Held, r *Run, name string) (*search.Result, error) {
	if f, ok := w.fits[name]; ok {
		return f, nil
	}
	start := time.Now()
	f, err := fitOriginal(ctx, t, h, r, name)
	if err != nil {
		return nil, err
	}
	f.Seconds = time.Since(start).Seconds()
	w.fits[name] = f
	return f, nil
}

// Series measures runs on one data set, one after the other. Results that depend on T alone, W_O and the rows of O→O,
// are made once for each seed.
type Series struct {
	t      *T
	held   *Held
	first  *Run
	bySeed map[uint64]*memo
}

// NewSeries makes a data set ready for runs. The options of features and batches are those of all runs.
func NewSeries(d *dataset.Dataset, o Options, progress Progress) (*Series, error) {
	watch.Begins(progress, preparing)
	t, h, r, err := prepare(d, o, progress)
	if err != nil {
		return nil, err
	}
	progress.Step(preparing, 1, 1)
	return &Series{t, h, r, map[uint64]*memo{}}, nil
}

// Labelled returns the number of T's nodes that have a label.
func (s *Series) Labelled() int { return len(s.t.labelled) }

// Measure condenses T as a run's options say, and measures the models on the test nodes.
func (s *Series) Measure(ctx context.Context, run Options, w Measurements, progress Progress) ([]eval.Result, error) {
	known := s.bySeed[run.Seed]
	if known == nil {
		known = s.first.known.seeded()
		s.bySeed[run.Seed] = known
	}
	r, err := newRun(s.t, s.held, run, known, progress)
	if err != nil {
		return nil, err
	}
	p, err := condenseAll(ctx, s.t, s.held, r)
	if err != nil {
		return nil, err
	}
	rows, err := deployments(ctx, s.t, s.held, r, p, w)
	if err != nil {
		return nil, err
	}
	s.first.known = known.seeded()
	return evaluate(ctx, s.t, s.held, r, rows, s.first.seconds+p.seconds)
}

// footprint measures the memory for T's nodes of a deployment, once for each M. A deployment that is joined to T takes
// none beside T.
func footprint(t *T, r *Run, p *deploy.Deployment) deploy.Footprint {
	if r.Keeper == nil || (p.Through == nil && p.Kept == 0) {
		return deploy.Footprint{}
	}
	if known, ok := r.known.footprints[p.Through]; ok && p.Through != nil {
		return known
	}
	out := p.Footprint(r.Keeper, t.IDs)
	if p.Through != nil {
		r.known.footprints[p.Through] = out
	}
	return out
}
