package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
)

// Outcome is what a run gives.
type Outcome struct {
	Bundle  *artifact.Bundle
	Results []eval.Result
	Seconds float64 // training and condensation, without evaluation
}

// Train runs the solved recipe (ALGORITHM.md, section 5) from data to artifact: fit W_O on T, cluster T into S, solve M,
// give S its tables; fit W_S on S; then measure both on the test nodes, on T and on S. now is the artifact's time of
// creation.
func Train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time, progress Progress) (*Outcome, error) {
	start := time.Now()
	t, err := newTask(d, o)
	if err != nil {
		return nil, err
	}
	whole, err := t.fitOriginal(ctx, progress)
	if err != nil {
		return nil, err
	}
	served, err := t.condense(ctx, whole.model, progress)
	if err != nil {
		return nil, err
	}
	frozen := whole.model.Frozen(served.tables, t.pre)
	calibration, err := t.calibrate(whole.model, frozen, served.mapping)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	deployments, err := t.deployments(ctx, whole, served, calibration, progress)
	if err != nil {
		return nil, err
	}
	results := t.evaluate(deployments, progress)
	bundle := t.bundle(whole, served, calibration, results, now)
	return &Outcome{Bundle: bundle, Results: results, Seconds: seconds}, nil
}

// condensed is S with the M and the tables of one model.
type condensed struct {
	clusters *condense.Clusters
	mapping  *mapping
	tables   *infer.Tables
}

// condense makes S and M for a model; relay is the same model where it was fitted on T.
func (t *task) condense(ctx context.Context, m *infer.SGC, progress Progress) (*condensed, error) {
	const what = "condensing the graph"
	progress.Step(what, 0, 3)
	clusters, err := t.cluster(t.points(), m)
	if err != nil {
		return nil, fmt.Errorf("condensing %s: %w", t.data.Name, err)
	}
	progress.Step(what, 1, 3)
	out, err := t.mapOnto(m, clusters)
	if err != nil {
		return nil, err
	}
	progress.Step(what, 3, 3)
	return out, ctx.Err()
}

// mapOnto solves M and the tables of S for a model.
func (t *task) mapOnto(m *infer.SGC, clusters *condense.Clusters) (*condensed, error) {
	through, err := t.solveMapping(m, clusters)
	if err != nil {
		return nil, err
	}
	tables, err := t.tablesOn(m, through)
	if err != nil {
		return nil, err
	}
	return &condensed{clusters: clusters, mapping: through, tables: tables}, nil
}

// bundle is the artifact of W_O on S.
func (t *task) bundle(whole *fitted, c *condensed, cal *calibration, results []eval.Result, now time.Time) *artifact.Bundle {
	labels, errors := cal.kinds[infer.PropagateLabels], cal.kinds[infer.PropagateErrors]
	b := &artifact.Bundle{
		Preprocess: *t.pre,
		Synthetic: artifact.Synthetic{
			Adj: c.clusters.Adjacency(t.original.Adj), X: t.x.Combine(c.clusters.Membership()), Labels: c.clusters.Labels,
		},
		Models: []artifact.Model{{Name: whole.model.Name(), Params: whole.model.Params(), Tables: c.tables,
			Labels: labels.tables, Errors: errors.tables}},
		Mapping: &artifact.Mapping{IDs: t.original.IDs, Rows: c.mapping.rows},
	}
	b.Manifest = artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: t.options.Method, Seed: t.options.Seed,
		Data: artifact.Data{Name: t.data.Name, Fingerprint: t.data.Fingerprint(), Nodes: t.original.Adj.Rows,
			Edges: t.original.Adj.NNZ() / 2, Features: t.original.X.Cols(), Classes: t.data.Classes},
		SyntheticNodes: len(c.clusters.Labels),
		Mapping: artifact.MappingInfo{Rows: c.mapping.rows.Rows, Entries: c.mapping.rows.NNZ(),
			MaxPerRow: longestRow(c.mapping.rows)},
		Preprocess: artifact.PreprocessInfo{Kind: t.pre.Kind, Scale: t.pre.Scale},
		Models: []artifact.ModelInfo{{Name: whole.model.Name(), Attachment: "frozen", FittedOn: "O",
			WeightDecay: whole.weightDecay,
			Calibration: artifact.CalibrationInfo{Kind: cal.kind, Temperature: cal.temperature},
			Propagation: map[string]artifact.PropagationInfo{infer.PropagateLabels: labels.info, infer.PropagateErrors: errors.info},
		}},
		DefaultModel: whole.model.Name(),
	}
	for _, r := range results {
		b.Manifest.Metrics = append(b.Manifest.Metrics, artifact.Metric{Model: r.Model, Setting: r.Setting, SharedM: r.SharedM,
			Batch: r.Batch, Calibration: r.Calibration, Accuracy: r.Accuracy.Mean})
	}
	return b
}

func longestRow(m *graph.CSR) int {
	k := 0
	for i := range m.Rows {
		k = max(k, m.RowLen(i))
	}
	return k
}
