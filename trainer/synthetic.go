package trainer

import (
	"context"
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/fit"
	"rivulet/trainer/tables"
)

// projectedColumns is the width of the random projection in which sparse features are clustered.
const projectedColumns = 256

// points are what k-means sees of T's nodes: Â²·pre(X), of sparse features a random projection of it, N×p. A Gaussian
// projection keeps distances to a few percent (Johnson and Lindenstrauss).
func (t *task) points() *graph.Dense {
	d := t.original.X.Cols()
	inputs := t.pre.Raw(t.original.X)
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
	return graph.Mul(t.hat, graph.Mul(t.hat, inputs.Project(basis)))
}

// cluster divides T's nodes; unlabelled ones go by relay's prediction, or stay out where relay is nil.
func (t *task) cluster(points *graph.Dense, relay *infer.SGC) (*condense.Clusters, error) {
	share, err := condense.Budget(t.original.Labels, t.classes(), t.nodes)
	if err != nil {
		return nil, err
	}
	var predicted []int32
	if relay != nil && len(t.labelled) < len(t.original.Labels) {
		predicted = classesAmong(t.logitsOnT(relay), share)
	}
	return condense.Cluster(points, t.original.Labels, predicted, share, t.rng(purposeClusters)), nil
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

// fitSynthetic fits W_S: SGC on the cluster means of Â²·pre(X), weighted by the labelled nodes of each cluster.
func (t *task) fitSynthetic(ctx context.Context, c *condense.Clusters, progress Progress) (*fitted, error) {
	spread := t.propagatedMeans(c)
	weights := make([]float32, len(c.Labels))
	for _, j := range t.labelled {
		weights[c.Of[j]]++
	}
	return t.choose(ctx, fit.Problem{Design: fit.Explicit{X: t.x.Combine(spread)}, Labels: c.Labels, Weights: weights,
		Classes: t.classes()}, progress, "fitting W on the synthetic graph")
}

// propagatedMeans is Iᵀ(means)·Â², N'×N.
func (t *task) propagatedMeans(c *condense.Clusters) *graph.CSR {
	twice := graph.Mul(t.hat, graph.Mul(t.hat, transposed(c.Membership()))) // Â is symmetric: (means·Â²)ᵀ
	var entries []graph.Edge
	for j := range twice.Rows {
		for k, v := range twice.Row(j) {
			if v != 0 {
				entries = append(entries, graph.Edge{Row: int32(k), Col: int32(j), Val: v})
			}
		}
	}
	return graph.NewCSR(len(c.Size), t.hat.Rows, entries)
}

// transposed is mᵀ as a dense matrix.
func transposed(m *graph.CSR) *graph.Dense {
	out := graph.NewDense(m.Cols, m.Rows)
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, c := range cols {
			out.Row(int(c))[i] = vals[p]
		}
	}
	return out
}

// mapping is M with the normal equations that give S its tables.
type mapping struct {
	rows   *graph.CSR // M, N×N'
	tables *tables.Fitter
}

// solveMapping finds M from the model's messages and prepares the tables of S.
func (t *task) solveMapping(m *infer.SGC, c *condense.Clusters) (*mapping, error) {
	weights := tables.MeetingWeights(t.original.Adj)
	all := t.data.Attach(t.original, t.data.Validation, true)
	scales := condense.ScalesOf(all, t.pre.Fold(m.W).Apply(all.X))
	messages := condense.Messages(m.Tables(t.original.Adj, t.pre.Raw(t.original.X)), scales)
	rows := condense.SolveMapping(messages, c, weights, t.options.Entries)
	fitter, err := tables.NewFitter(rows, weights)
	if err != nil {
		return nil, fmt.Errorf("condensing %s: %w", t.data.Name, err)
	}
	return &mapping{rows: rows, tables: fitter}, nil
}

// tablesOn gives S the tables of a model.
func (t *task) tablesOn(m *infer.SGC, through *mapping) (*infer.Tables, error) {
	return through.tables.Fit(m.Tables(t.original.Adj, t.pre.Raw(t.original.X)))
}
