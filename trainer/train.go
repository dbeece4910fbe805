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
)

// Outcome is what a run gives.
type Outcome struct {
	Bundle  *artifact.Bundle
	Results []eval.Result // empty where the data set has no test nodes
	Seconds float64       // wall clock of fitting, condensation and calibration, without W_S and evaluation
}

// Train runs the solved recipe (ALGORITHM.md, section 5) from data to artifact: fit W_O on T, cluster T into S, solve M,
// give S its tables, calibrate; then fit W_S on S and measure both on the test nodes, on T and on S. now is the artifact's
// time of creation. The same data, options and build give the same bundle, bit for bit, whatever the processors.
//
// An error names the option or the data that do not fit; ctx ends the run at the next step with its error.
func Train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time, progress Progress) (*Outcome, error) {
	out, err := train(ctx, d, o, now, progress)
	if err != nil {
		return nil, fmt.Errorf("training on %s: %w", d.Name, err)
	}
	return out, nil
}

func train(ctx context.Context, d *dataset.Dataset, o Options, now time.Time, progress Progress) (*Outcome, error) {
	start := time.Now()
	t, err := newTask(d, o)
	if err != nil {
		return nil, err
	}
	whole, err := t.fitOriginal(ctx, progress)
	if err != nil {
		return nil, err
	}
	points := t.points()
	clusters := t.cluster(points) // of the labelled nodes
	served, err := t.condense(ctx, whole.model, points, clusters, progress)
	if err != nil {
		return nil, err
	}
	calibration, err := t.calibrate(ctx, whole.model, served)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	deployments, err := t.deployments(ctx, recipe{whole, served, calibration, points, clusters}, progress)
	if err != nil {
		return nil, err
	}
	results, err := t.evaluate(ctx, deployments, progress)
	if err != nil {
		return nil, err
	}
	return &Outcome{Bundle: t.bundle(whole, served, calibration, results, now), Results: results, Seconds: seconds}, nil
}

// bundle is the artifact of W_O on S.
func (t *task) bundle(whole *fitted, c *condensed, cal *calibration, results []eval.Result, now time.Time) *artifact.Bundle {
	labels, errors := cal.kinds[infer.PropagateLabels], cal.kinds[infer.PropagateErrors]
	return &artifact.Bundle{
		Manifest:   t.manifest(whole, c, cal, results, now),
		Preprocess: *t.pre,
		Synthetic: artifact.Synthetic{
			Adj: c.clusters.Adjacency(t.original.Adj), X: t.x.Combine(c.clusters.Membership()), Labels: c.clusters.Labels,
		},
		Models: []artifact.Model{{Name: whole.model.Name(), Params: whole.model.Params(), Tables: c.tables,
			Labels: labels.tables, Errors: errors.tables}},
		Mapping: &artifact.Mapping{IDs: t.original.IDs, Rows: c.mapping.rows},
	}
}

func (t *task) manifest(whole *fitted, c *condensed, cal *calibration, results []eval.Result, now time.Time) artifact.Manifest {
	name := whole.model.Name()
	m := artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: t.options.Method, Seed: t.options.Seed,
		Data: artifact.Data{Name: t.data.Name, Fingerprint: t.data.Fingerprint(), Nodes: t.original.Adj.Rows,
			Edges: t.original.Adj.NNZ() / 2, Features: t.original.X.Cols(), Classes: t.data.Classes},
		SyntheticNodes: t.nodes,
		Mapping: artifact.MappingInfo{Rows: c.mapping.rows.Rows, Entries: c.mapping.rows.NNZ(),
			MaxPerRow: longestRow(c.mapping.rows)},
		Preprocess: artifact.PreprocessInfo{Kind: t.pre.Kind, Scale: t.pre.Scale},
		Models: []artifact.ModelInfo{{Name: name, Attachment: artifact.AttachFrozen, FittedOn: "O", WeightDecay: whole.weightDecay,
			Calibration: artifact.CalibrationInfo{Kind: cal.kind, Temperature: cal.temperature},
			Propagation: map[string]artifact.PropagationInfo{},
		}},
		DefaultModel: name,
	}
	for kind, p := range cal.kinds {
		m.Models[0].Propagation[kind] = p.info
	}
	for _, r := range results {
		m.Metrics = append(m.Metrics, artifact.Metric{Model: r.Model, Setting: r.Setting, SharedM: r.SharedM,
			Batch: r.Batch, Calibration: r.Calibration, Accuracy: r.Accuracy.Mean})
	}
	return m
}

func longestRow(m *graph.CSR) int {
	k := 0
	for i := range m.Rows {
		k = max(k, m.RowLen(i))
	}
	return k
}
