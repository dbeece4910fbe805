package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/condense"
	"rivulet/trainer/expert"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// projection returns the random basis on which more than so many features are projected for k-means.
func (o *Options) projection(d int) *graph.Dense {
	return condense.Projection(d, o.rng(purposeProjection))
}

// basis is the matrix on which features are projected for k-means, of d rows.
func (t *task) basis() *graph.Dense {
	if basis := t.options.projection(t.original.X.Cols()); basis != nil {
		return basis
	}
	return graph.Identity(t.original.X.Cols())
}

// points returns the vectors of T's nodes for k-means, N×p: Â²·pre(X) or its projection.
func (t *task) points() *graph.Dense {
	if t.exact != nil {
		return t.exact
	}
	switch {
	case t.twoHops != nil && t.options.projection(t.original.X.Cols()) == nil:
		return t.twoHops
	case t.twoHops != nil:
		return gemm.Mul(gemm.Of(t.twoHops), gemm.Of(t.basis()))
	}
	hat := t.hat()
	return graph.Mul(hat, graph.Mul(hat, t.inputs.Project(t.basis())))
}

// join adds T's unlabelled nodes to the clusters of the classes that a model predicts.
func (t *task) join(c *condense.Clusters, points *graph.Dense, m infer.Model) *condense.Clusters {
	if slices.Contains(t.groups.Of, -1) {
		c = c.Join(points, t.groups.Predicted(t.logitsOnT(m), t.share))
	}
	return t.groups.Divided(c, func() *graph.Dense { return t.logitsOnT(m) })
}

// clusterMethod is the state of the methods whose S consists of clusters, solved and cluster.
type clusterMethod struct {
	*task
	points   *graph.Dense                              // of k-means, N×p; nil where all nodes are in groups
	labelled *condense.Clusters                        // of the nodes in groups alone
	means    *graph.Dense                              // of Â²·pre(X) in them, N'×d, if at hand while S is made
	mapping  func(c *clusterGraph) (*graph.CSR, error) // makes M of clusters
	rows     *graph.Dense                              // of Â²·pre(X) of the nodes of around, if at hand while S is made
	relay    *search.Result                            // W_S of SGC, once it is asked for
	taught   *search.Result                            // W_S of SGC fitted to soft labels, once it is asked for
	exported artifact.Spread                           // what both were fitted to
	judging  *graph.CSR                                // M of a relay, which judges models on S once one is judged
	// indicators is the weight of the clusters' indicators beside messages when rows of M are solved; 0: none.
	indicators float32
}

func (t *task) newClustering(mapping func(c *clusterGraph) (*graph.CSR, error), progress Progress) *clusterMethod {
	const what = "clustering the graph"
	progress.Step(what, 0, 1)
	c := &clusterMethod{task: t, mapping: mapping}
	points := t.points()
	c.labelled = condense.Cluster(points, t.groups.Of, t.share, t.rng(purposeClusters)) // within a class
	if slices.Contains(t.groups.Of, -1) {
		c.points = points
	}
	if t.twoHops != nil {
		c.means = graph.Mul(c.labelled.Membership(), t.twoHops)
		if t.options.Spread {
			c.rows = t.twoHops.Take(c.around())
		}
		t.twoHops = nil
	}
	progress.Step(what, 1, 1)
	return c
}

// clusters returns the method that makes S of clusters and M by a mapping.
func clusters(mapping func(c *clusterGraph) (*graph.CSR, error)) maker {
	return func(t *task, ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
		return t.newClustering(mapping, progress).make(ctx, models(whole), "condensing the graph", progress)
	}
}

// solveRows returns one M for all models, solved for their messages (docs/algorithm.md, section 5).
func solveRows(c *clusterGraph) (*graph.CSR, error) {
	return c.dictionary().Solve(c.links.Entries(c.options.Entries)), nil
}

// membershipRows returns M = one-hot cluster membership (docs/algorithm.md, section 7).
func membershipRows(c *clusterGraph) (*graph.CSR, error) {
	return condense.MembershipMapping(c.joined), nil
}

// clusterGraph holds S and M of clusters, for some models.
type clusterGraph struct {
	*clusterMethod
	graphParts
	joined *condense.Clusters // of all nodes
	models []infer.Model
	onT    []*infer.Tables // their tables of T
	onS    []*infer.Tables // and of S
	solver *condense.Dictionary
	fitter *tables.Fitter
}

// make builds S, M and the tables of models; unlabelled nodes join clusters by the first model's predictions. what
// names the step in reports of progress.
func (c *clusterMethod) make(ctx context.Context, models []infer.Model, what string,
	progress Progress) (*clusterGraph, error) {
	const parts = 4
	progress.Step(what, 0, parts)
	out := &clusterGraph{clusterMethod: c, joined: c.join(c.labelled, c.points, models[0]), models: models}
	progress.Step(what, 1, parts)
	for _, m := range models {
		out.onT = append(out.onT, c.tablesOfT(m))
	}
	progress.Step(what, 2, parts)
	m, err := c.mapping(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out.Condensation = &condense.Condensation{Attachment: artifact.AttachFrozen, M: m,
		Synthetic: artifact.Synthetic{Labels: out.joined.Labels, Adj: out.joined.Adjacency(c.original.Adj),
			X: c.x.Combine(out.joined.Membership())}}
	if out.fitter, err = tables.NewFitter(out.M, c.meeting); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	progress.Step(what, 3, parts)
	for _, t := range out.onT {
		onS, err := out.fitter.Fit(t)
		if err != nil {
			return nil, err
		}
		out.onS = append(out.onS, onS)
	}
	if out.solver != nil {
		out.onT = nil // only the dictionary reads them
	}
	progress.Step(what, parts, parts)
	return out, ctx.Err()
}

// dictionary returns the dictionary with which rows of M are solved for the models.
func (c *clusterGraph) dictionary() *condense.Dictionary {
	if c.solver == nil {
		support := condense.NewSupport(c.supportBatch(), c.pre, c.bins)
		support.Units = c.units
		c.solver = condense.NewDictionary(c.models, c.onT, support, c.joined, c.meeting,
			c.indicators)
	}
	return c.solver
}

func (c *clusterGraph) tables(m infer.Model) (*infer.Tables, error) {
	if k := slices.Index(c.models, m); k >= 0 {
		return c.onS[k], nil
	}
	return c.fitter.Fit(c.tablesOfT(m))
}

func (c *clusterGraph) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return c.fitter.Propagation(c.original.Adj, c.onOriginal().Seeds(kind, m), alpha, c.bins.Weights()...)
}

func (c *clusterGraph) features(m infer.Model) (*infer.Tables, error) {
	return c.fitter.Features(c.original.Adj, c.x, m.Hops, c.bins.Weights()...)
}

func (c *clusterGraph) growth() *artifact.Growth {
	d := c.dictionary()
	g := &artifact.Growth{Entries: min(c.links.Entries(c.options.Entries), c.nodes), Dictionary: d.Messages(),
		Messages: map[string]growth.Messages{}}
	for k, m := range c.models {
		g.Messages[m.Name()] = d.Parts[k]
	}
	return g
}

// renew makes M for W_S. Where the messages of W_S do not tell nodes apart, indicators of the clusters of weight 0.3
// do: validation on S chooses, by the margin of [expert.MinGain].
func (c *clusterGraph) renew(ctx context.Context, small *search.Result, progress Progress) (condensation, error) {
	what := "condensing the graph for " + small.Model.Name() + " of S"
	if !c.options.Spread || c.options.Method != MethodSolved {
		return c.make(ctx, []infer.Model{small.Model}, what, progress)
	}
	var best *clusterGraph
	wanted := -1.0
	for _, weight := range []float32{0, 0.3} {
		with := *c.clusterMethod
		with.indicators = weight
		out, err := with.make(ctx, []infer.Model{small.Model}, what, progress)
		if err != nil {
			return nil, err
		}
		right, err := c.wholeGround().Behind(out.M)(ctx, small.Model)
		if err != nil {
			return nil, err
		}
		if right > wanted {
			best, wanted = out, right+expert.MinGain
		}
	}
	return best, nil
}
