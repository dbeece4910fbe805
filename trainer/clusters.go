package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// projection returns the random basis on which more than so many features are projected for k-means.
func (o *Options) projection(d int) *graph.Dense {
	return condense.Projection(d, o.rng(purposeProjection))
}

// basis is the matrix on which features are projected for k-means, of d rows.
func (o *Options) basis(d int) *graph.Dense {
	if basis := o.projection(d); basis != nil {
		return basis
	}
	return graph.Identity(d)
}

// points returns the vectors of T's nodes for k-means, N×p: Â²·pre(X) or its projection.
func points(t *T, r *Run) *graph.Dense {
	d := t.X.Cols()
	switch {
	case t.exact != nil:
		return t.exact
	case t.twoHops != nil && r.projection(d) == nil:
		return t.twoHops
	case t.twoHops != nil:
		return gemm.Mul(gemm.Of(t.twoHops), gemm.Of(r.basis(d)))
	}
	hat := t.hat()
	return graph.Mul(hat, graph.Mul(hat, t.inputs.Project(r.basis(d))))
}

// Input returns T in the form that the methods of package condense take.
func (r *Run) Input(t *T) condense.Input {
	return condense.Input{Adj: t.Adj, X: t.x, Points: points(t, r), Labels: t.Labels, Share: r.share}
}

// clustering is S of the methods whose synthetic nodes are clusters of T's nodes (solved and cluster), before it has an
// M. Models are fitted on it, and each of these has an M of its own.
type clustering struct {
	t        *T
	h        *Held
	r        *Run
	mapping  mapper
	points   *graph.Dense       // of k-means, N×p; nil where all nodes are in groups
	labelled *condense.Clusters // of the nodes in groups alone
	means    *graph.Dense       // of Â²·pre(X) in them, N'×d, if at hand while S is made
	rows     *graph.Dense       // of Â²·pre(X) of the nodes of around, if at hand while S is made
	relay    *search.Result     // W_S of SGC, once it is asked for
	taught   *search.Result     // W_S of SGC fitted to soft labels, once it is asked for
	exported artifact.Spread    // what both were fitted to
	judging  *graph.CSR         // M of a relay, which judges models on S once one is judged
	// indicators is the weight of the clusters' indicators beside messages when rows of M are solved; 0: none.
	indicators float32
}

// mapper makes M (N×N') of clusters of all nodes; solver returns the dictionary of the models' messages, made once.
type mapper func(c *clustering, joined *condense.Clusters, solver func() *condense.Dictionary) (*graph.CSR, error)

// solveRows returns one M for all models, solved for their messages (docs/algorithm.md, section 5).
func solveRows(c *clustering, _ *condense.Clusters, solver func() *condense.Dictionary) (*graph.CSR, error) {
	return solver().Solve(c.entries()), nil
}

// membershipRows returns M = one-hot cluster membership (docs/algorithm.md, section 7).
func membershipRows(_ *clustering, joined *condense.Clusters, _ func() *condense.Dictionary) (*graph.CSR, error) {
	return condense.MembershipMapping(joined), nil
}

// clusters returns the method that makes S of clusters and M by a mapper.
func clusters(mapping mapper) Condenser {
	return func(ctx context.Context, t *T, h *Held, r *Run, whole []infer.Model) (*Result, error) {
		return newClustering(t, h, r, mapping).condense(ctx, whole, "condensing the graph")
	}
}

func newClustering(t *T, h *Held, r *Run, mapping mapper) *clustering {
	const what = "clustering the graph"
	r.Progress.Step(what, 0, 1)
	c := &clustering{t: t, h: h, r: r, mapping: mapping}
	at := points(t, r)
	c.labelled = condense.Cluster(at, t.groups.Of, r.share, r.Rand()) // within a class
	if slices.Contains(t.groups.Of, -1) {
		c.points = at
	}
	if t.twoHops != nil {
		c.means = graph.Mul(c.labelled.Membership(), t.twoHops)
		if r.Spread {
			c.rows = t.twoHops.Take(around(t, r))
		}
		r.release(t)
	}
	r.Progress.Step(what, 1, 1)
	return c
}

// entries is the most entries of a row of M.
func (c *clustering) entries() int { return c.t.links.Entries(c.r.Entries) }

// join adds T's unlabelled nodes to the clusters of the classes that a model predicts.
func (c *clustering) join(m infer.Model) *condense.Clusters {
	t, out := c.t, c.labelled
	if slices.Contains(t.groups.Of, -1) {
		out = out.Join(c.points, t.groups.Predicted(t.logits(m), c.r.share))
	}
	return t.groups.Divided(out, func() *graph.Dense { return t.logits(m) })
}

// condense makes S, M and the tables of models; unlabelled nodes join clusters by the first model's predictions. what
// names the step in reports of progress.
func (c *clustering) condense(ctx context.Context, models []infer.Model, what string) (*Result, error) {
	const parts = 4
	t, progress := c.t, c.r.Progress
	progress.Step(what, 0, parts)
	joined := c.join(models[0])
	progress.Step(what, 1, parts)
	var onT, onS []*infer.Tables
	for _, m := range models {
		onT = append(onT, t.tables(m))
	}
	progress.Step(what, 2, parts)
	var solver *condense.Dictionary
	solved := func() *condense.Dictionary {
		if solver == nil {
			solver = c.dictionary(joined, models, onT)
		}
		return solver
	}
	m, err := c.mapping(c, joined, solved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	fitter, err := tables.NewFitter(m, t.meeting)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out := &Result{clusters: c, fitter: fitter}
	out.Condensation = &condense.Condensation{Attachment: artifact.AttachFrozen, M: m,
		Synthetic: artifact.Synthetic{Labels: joined.Labels, Adj: joined.Adjacency(t.Adj),
			X: t.x.Combine(joined.Membership())}}
	progress.Step(what, 3, parts)
	for _, t := range onT {
		fitted, err := fitter.Fit(t)
		if err != nil {
			return nil, err
		}
		onS = append(onS, fitted)
	}
	if solver != nil {
		onT = nil // only the dictionary reads them
	}
	out.dictionary = func() *dictionary { return &dictionary{solved(), models, c.entries()} }
	out.Tables = func(m infer.Model) (*infer.Tables, error) {
		if k := slices.Index(models, m); k >= 0 {
			return onS[k], nil
		}
		return fitter.Fit(t.tables(m))
	}
	out.Propagation = fittedPropagation(t, fitter)
	out.Features = func(m infer.Model) (*infer.Tables, error) {
		return fitter.Features(t.Adj, t.x, m.Hops, t.slots.Made()...)
	}
	progress.Step(what, parts, parts)
	return out, ctx.Err()
}

// dictionary returns the dictionary with which rows of M are solved for models with tables of T.
func (c *clustering) dictionary(joined *condense.Clusters, models []infer.Model,
	onT []*infer.Tables) *condense.Dictionary {
	support := condense.NewSupport(c.h.Support(), c.t.Preprocess, c.t.slots)
	support.Units = c.t.units
	return condense.NewDictionary(models, onT, support, joined, c.t.meeting, c.indicators)
}
