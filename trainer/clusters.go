package trainer

import (
	"context"
	"fmt"
	"math"
	"sync"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/fit"
	"rivulet/trainer/tables"
)

// projectedColumns is the width of the random projection in which features are clustered where they are wider.
const projectedColumns = 256

// points are what k-means sees of T's nodes: Â²·pre(X) or a random projection of it, N×p. A Gaussian projection keeps
// distances to a few percent (Johnson and Lindenstrauss); clusters of all columns serve no better (amazon_photo).
func (t *task) points() *graph.Dense {
	d := t.original.X.Cols()
	basis := graph.NewDense(d, min(d, projectedColumns))
	if d <= projectedColumns {
		for k := range d {
			basis.Row(k)[k] = 1
		}
	} else {
		rng := t.rng(purposeProjection)
		for k := range basis.Data {
			basis.Data[k] = float32(rng.NormFloat64() / math.Sqrt(projectedColumns))
		}
	}
	return graph.Mul(t.hat, graph.Mul(t.hat, t.inputs.Project(basis)))
}

// cluster divides T's labelled nodes.
func (t *task) cluster(points *graph.Dense) *condense.Clusters {
	return condense.Cluster(points, t.original.Labels, t.share, t.rng(purposeClusters))
}

// join adds T's unlabelled nodes by a model's prediction.
func (t *task) join(c *condense.Clusters, points *graph.Dense, m infer.Model) *condense.Clusters {
	if len(t.labelled) == len(t.original.Labels) {
		return c
	}
	return c.Join(points, classesAmong(t.logitsOnT(m), t.share))
}

// classesAmong are the most probable classes of each row among those that have synthetic nodes.
func classesAmong(logits *graph.Dense, share []int) []int32 {
	out := make([]int32, logits.Rows)
	for i := range out {
		row := logits.Row(i)
		for c, n := range share {
			if n == 0 {
				row[c] = float32(math.Inf(-1))
			}
		}
		out[i] = int32(infer.ArgMax(row))
	}
	return out
}

// clustering is the state of the methods that make S of clusters, solved and cluster.
type clustering struct {
	*task
	points   *graph.Dense
	labelled *condense.Clusters // of the labelled nodes alone
	relay    *fitted            // W_S of SGC, once it is asked for
}

func (t *task) newClustering() *clustering {
	points := t.points()
	return &clustering{task: t, points: points, labelled: t.cluster(points)}
}

// mapper makes M of clusters; dictionary is of the models that M is for.
type mapper func(ctx context.Context, dictionary func() *condense.Dictionary, c *condense.Clusters) (*graph.CSR, error)

// condenseSolved is docs/algorithm.md, section 5: one M for all models, solved for their messages.
func (t *task) condenseSolved(ctx context.Context, whole []*fitted, progress Progress) (*condensed, error) {
	return t.newClustering().make(ctx, models(whole), t.solveMapping, progress)
}

// condenseClusters is solved's S with M = one-hot cluster membership (section 7).
func (t *task) condenseClusters(ctx context.Context, whole []*fitted, progress Progress) (*condensed, error) {
	return t.newClustering().make(ctx, models(whole), membership, progress)
}

func membership(_ context.Context, _ func() *condense.Dictionary, c *condense.Clusters) (*graph.CSR, error) {
	return condense.MembershipMapping(c), nil
}

// make builds S, M and the tables of models; unlabelled nodes join clusters by the first.
func (c *clustering) make(ctx context.Context, models []infer.Model, m mapper, progress Progress) (*condensed, error) {
	const what, parts = "condensing the graph", 3
	progress.Step(what, 0, parts)
	joined := c.join(c.labelled, c.points, models[0])
	progress.Step(what, 1, parts)
	onT := make([]*infer.Tables, len(models))
	for k, m := range models {
		onT[k] = m.Tables(c.original.Adj, c.inputs)
	}
	dictionary := sync.OnceValue(func() *condense.Dictionary { return c.dictionary(models, onT, joined) })
	rows, err := m(ctx, dictionary, joined)
	if err != nil {
		return nil, err
	}
	fitter, err := tables.NewFitter(rows, tables.MeetingWeights(c.original.Adj))
	if err != nil {
		return nil, fmt.Errorf("condensing the graph: %w", err)
	}
	progress.Step(what, 2, parts)
	known := map[infer.Model]*infer.Tables{}
	for k, m := range models {
		if known[m], err = fitter.Fit(onT[k]); err != nil {
			return nil, err
		}
	}
	progress.Step(what, parts, parts)
	return &condensed{
		synthetic: artifact.Synthetic{Adj: joined.Adjacency(c.original.Adj), X: c.x.Combine(joined.Membership()), Labels: joined.Labels},
		rows:      rows, attachment: artifact.AttachFrozen, fitter: fitter,
		means: func() *artifact.Means {
			return condense.Means(c.original.Adj, c.x, joined, tables.MeetingWeights(c.original.Adj))
		},
		growth: func() *artifact.Growth { return c.growth(models, dictionary()) },
		tables: func(m infer.Model) (*infer.Tables, error) {
			if t, ok := known[m]; ok {
				return t, nil
			}
			return fitter.Fit(m.Tables(c.original.Adj, c.inputs))
		},
		fit:      c.fit,
		features: func(m infer.Model) (*infer.Tables, error) { return fitter.Features(c.original.Adj, c.x, m.Hops) },
		own: func(ctx context.Context, small *fitted, progress Progress) (*condensed, error) {
			return c.make(ctx, []infer.Model{small.model}, m, progress)
		},
	}, ctx.Err()
}

// solveMapping finds M from the models' messages.
func (t *task) solveMapping(ctx context.Context, dictionary func() *condense.Dictionary, _ *condense.Clusters) (*graph.CSR, error) {
	return dictionary().Solve(t.options.Entries), ctx.Err()
}

// dictionary is what rows of M for models are solved against.
func (t *task) dictionary(models []infer.Model, onT []*infer.Tables, c *condense.Clusters) *condense.Dictionary {
	support := condense.Support{Batch: t.data.Attach(t.original, t.data.Validation, true), Pre: t.pre}
	return condense.NewDictionary(models, onT, support, c, tables.MeetingWeights(t.original.Adj))
}

// growth is what an artifact keeps of a dictionary, for rows of arrivals.
func (t *task) growth(models []infer.Model, d *condense.Dictionary) *artifact.Growth {
	g := &artifact.Growth{Entries: min(t.options.Entries, t.nodes), Dictionary: d.Clusters, Messages: map[string]infer.Messages{}}
	for k, m := range models {
		g.Messages[m.Name()] = d.Parts[k]
	}
	return g
}

// fit fits W_S; no model fitted on T has a part in it.
func (c *clustering) fit(ctx context.Context, name string, progress Progress) (*fitted, error) {
	if c.relay == nil {
		relay, err := c.fitSynthetic(ctx, modelSGC, c.labelled, progress)
		if err != nil {
			return nil, err
		}
		c.relay = relay
	}
	if name == modelSGC {
		return c.relay, nil
	}
	if c.shape(name).Mix() != nil {
		return c.fitSynthetic(ctx, name, c.labelled, progress)
	}
	return c.fitLayered(ctx, name, c.labelled, c.join(c.labelled, c.points, c.relay.model), progress)
}

// fitSynthetic fits W_S of a linear model: on the cluster means of its propagated features, weighted by the labelled nodes of each cluster. The means
// are those of the labelled nodes: with the unlabelled ones, whose class is a guess, W_S loses a point (cora).
func (t *task) fitSynthetic(ctx context.Context, name string, labelled *condense.Clusters, progress Progress) (*fitted, error) {
	s := t.shape(name)
	design := fit.Explicit{X: t.x.Combine(t.propagatedMeans(labelled, s.Mix()))}
	return t.chooseLinear(ctx, s, fit.Problem{Design: design, Labels: labelled.Labels, Weights: sizes(labelled), Classes: t.classes()},
		WeightDecays, progress, "fitting "+name+" on the synthetic graph")
}

// fitLayered fits W_S of a two-layer model: layer 1 reads the means of the labelled nodes of each cluster, later layers the
// clusters that their neighbours are in (docs/algorithm.md, section 5, step 5).
func (t *task) fitLayered(ctx context.Context, name string, labelled, joined *condense.Clusters, progress Progress) (*fitted, error) {
	p := fit.OnSynthetic(t.shape(name), t.original.Adj, t.x, labelled.Membership(), joined.Of, labelled.Labels, sizes(labelled), t.classes())
	return t.chooseGNN(ctx, p, onS(), progress, "fitting "+name+" on the synthetic graph")
}

// sizes are the numbers of nodes of each cluster, as weights.
func sizes(c *condense.Clusters) []float32 {
	weights := make([]float32, len(c.Size))
	for k, n := range c.Size {
		weights[k] = float32(n)
	}
	return weights
}

// propagatedMeans are the weights by which cluster means of Σ_t w_t Â^t X are made of X, N'×N.
func (t *task) propagatedMeans(c *condense.Clusters, weights []float32) *graph.CSR {
	means := c.Membership()
	spread := graph.NewDense(means.Cols, means.Rows) // transposed: Â is symmetric
	for k := range means.Rows {
		nodes, vals := means.Row(k)
		for p, j := range nodes {
			spread.Row(int(j))[k] = vals[p]
		}
	}
	spread = fit.Propagate(t.hat, weights, spread)
	transposed := &graph.CSR{Rows: spread.Rows, Cols: spread.Cols, RowPtr: make([]int, spread.Rows+1), Val: []float32{}}
	for j := range spread.Rows {
		for k, v := range spread.Row(j) {
			if v != 0 {
				transposed.ColIdx = append(transposed.ColIdx, int32(k))
				transposed.Val = append(transposed.Val, v)
			}
		}
		transposed.RowPtr[j+1] = len(transposed.ColIdx)
	}
	return transposed.Transpose()
}
