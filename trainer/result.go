package trainer

import (
	"context"
	"errors"
	"iter"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
	"rivulet/trainer/expert"
	"rivulet/trainer/plane"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// Result is the outcome of a method: S, M, and by what models are served on them. A part that the method does not have
// is nil, and what needs it is left out.
type Result struct {
	*condense.Condensation // no Adj where T stands for S (cached)

	// Tables returns S's frozen tables of a model, Propagation those of a kind of propagation at one α, and Features those
	// of the features themselves, from which a frozen linear model's embeddings are read. A method that leaves all three
	// nil serves by S as a graph ([Run.complete]).
	Tables      func(m infer.Model) (*infer.Tables, error)
	Propagation func(kind string, m infer.Model, alpha float32) (*infer.Tables, error)
	Features    func(m infer.Model) (*infer.Tables, error)

	clusters   *clustering                            // to whose means models are fitted (W_S); their spread is measured
	fitter     *tables.Fitter                         // takes tables of T to S
	growth     *artifact.Growth                       // the dictionary as it was stored, in place of one that is made
	graph      bool                                   // S is a graph, on which models are fitted as on any
	dictionary func() *dictionary                     // by which rows of M are solved, for arrivals too: growth
	rival      func(m infer.Model) *deploy.Deployment // answers in place of S

	// rows gives all rows of M if they lie in tables; M then has only the rows of the nodes that the run reads. nil: M is
	// whole.
	rows iter.Seq2[plane.Rows, error]
	size artifact.MappingInfo // of the rows in tables
}

// dictionary is the dictionary of clusters with the models whose messages it has.
type dictionary struct {
	*condense.Dictionary
	models  []infer.Model
	entries int // the most of a row of M
}

// complete gives a method's result the tables by which it is served, where the method has none. An M without entries
// would attach every arrival to nothing, and is an error.
func (c *Result) complete(t *T, h *Held) (*Result, error) {
	switch {
	case c.M != nil && c.M.NNZ() == 0:
		return nil, errors.New("the method made a mapping M without entries")
	case c.rival != nil || c.Propagation != nil:
	case c.Tables == nil:
		c.graph = true
		c.Tables = func(m infer.Model) (*infer.Tables, error) { return supportTables(t, h, c.Condensation, m), nil }
		c.Propagation = func(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
			return tables.OfGraph(c.Adj, t.onSynthetic(c.Synthetic).Seeds(kind, m), alpha), nil
		}
	default:
		fitter, err := tables.NewFitter(c.M, t.meeting)
		if err != nil {
			return nil, err
		}
		c.fitter, c.Propagation = fitter, fittedPropagation(t, fitter)
	}
	return c, nil
}

// fittedPropagation returns S's tables of propagation, fitted to those of T.
func fittedPropagation(t *T, fitter *tables.Fitter) func(string, infer.Model, float32) (*infer.Tables, error) {
	return func(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
		return fitter.Propagation(t.Adj, t.graph().Seeds(kind, m), alpha, t.slots.Made()...)
	}
}

// eachRow gives all rows of M, for some nodes of T at a time.
func (c *Result) eachRow(t *T) iter.Seq2[plane.Rows, error] {
	if c.rows != nil {
		return c.rows
	}
	return func(yield func(plane.Rows, error) bool) {
		yield(plane.Rows{Mapping: &artifact.Mapping{IDs: t.IDs, Rows: c.M}, Labels: t.Labels}, nil)
	}
}

// info returns the size of M.
func (c *Result) info() artifact.MappingInfo {
	if c.rows != nil {
		return c.size
	}
	return artifact.MappingInfo{Rows: c.M.Rows, Entries: c.M.NNZ(), MaxPerRow: c.M.LongestRow()}
}

// has reports whether arrivals can be attached this way.
func (c *Result) has(attachment string) bool {
	if attachment == artifact.AttachJoint {
		return c.M != nil && c.Adj != nil
	}
	return c.M != nil || c.Adj == nil // cached: T's own tables
}

// fitsOnS reports whether models are fitted on S.
func (c *Result) fitsOnS() bool { return c.clusters != nil || c.graph }

// fitOnS fits W_S of a model on S. No model that was fitted on T has a part in it.
func fitOnS(ctx context.Context, t *T, h *Held, r *Run, c *Result, name string) (*search.Result, error) {
	if c.clusters != nil {
		return c.clusters.fit(ctx, name)
	}
	return fitOnGraph(ctx, t, h, r, name, c.Synthetic)
}

// renew makes S and M of clusters anew from W_S, so that nothing fitted on T is in them. Where the messages of W_S do
// not tell nodes apart, indicators of the clusters of weight 0.3 do: validation on S chooses, by the margin of
// [expert.MinGain].
func renew(ctx context.Context, c *clustering, small *search.Result) (*Result, error) {
	what := "condensing the graph for " + small.Model.Name() + " of S"
	if !c.r.Spread || c.r.Options.Method != MethodSolved {
		return c.condense(ctx, []infer.Model{small.Model}, what)
	}
	var best *Result
	wanted := -1.0
	for _, weight := range []float32{0, 0.3} {
		with := *c
		with.indicators = weight
		out, err := with.condense(ctx, []infer.Model{small.Model}, what)
		if err != nil {
			return nil, err
		}
		right, err := wholeGround(c.t, c.h).Behind(out.M)(ctx, small.Model)
		if err != nil {
			return nil, err
		}
		if right > wanted {
			best, wanted = out, right+expert.MinGain
		}
	}
	return best, nil
}

// growthOf returns the tables by which arrivals get rows of M; nil: they get none.
func growthOf(t *T, c *Result) *artifact.Growth {
	if c.growth != nil {
		return c.growth
	}
	// Rows of arrivals have neither types nor directions.
	if c.dictionary == nil || t.slots.Relational() || t.groups.Several() {
		return nil
	}
	d := c.dictionary()
	g := &artifact.Growth{Entries: min(d.entries, len(c.Labels)), Dictionary: d.Messages(),
		Messages: map[string]growth.Messages{}}
	for k, m := range d.models {
		g.Messages[m.Name()] = d.Parts[k]
	}
	return g
}
