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

// Train runs the solved recipe (ALGORITHM.md, section 5) from data to artifact: fit W_O of each model on T, cluster T into S,
// solve one M for all, give S each model's tables, calibrate; then fit W_S on S and measure both on the test nodes, on T and
// on S. now is the artifact's
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
	r := recipe{points: t.points()}
	for _, name := range o.Models {
		whole, err := t.fitOriginal(ctx, name, progress)
		if err != nil {
			return nil, err
		}
		r.whole = append(r.whole, whole)
	}
	r.labelled = t.cluster(r.points)
	if r.served, err = t.condense(ctx, models(r.whole), r.points, r.labelled, progress); err != nil {
		return nil, err
	}
	for k, whole := range r.whole {
		c, err := t.calibrate(ctx, whole.model, r.served.tables[k], r.served.mapping)
		if err != nil {
			return nil, err
		}
		r.calibrations = append(r.calibrations, c)
	}
	seconds := time.Since(start).Seconds()
	deployments, err := t.deployments(ctx, r, progress)
	if err != nil {
		return nil, err
	}
	results, err := t.evaluate(ctx, deployments, progress)
	if err != nil {
		return nil, err
	}
	return &Outcome{Bundle: t.bundle(r, results, now), Results: results, Seconds: seconds}, nil
}

func models(all []*fitted) []infer.Model {
	out := make([]infer.Model, len(all))
	for k, f := range all {
		out[k] = f.model
	}
	return out
}

// bundle is the artifact of all models' W_O on S.
func (t *task) bundle(r recipe, results []eval.Result, now time.Time) *artifact.Bundle {
	clusters := r.served.clusters
	b := &artifact.Bundle{
		Manifest:   t.manifest(r, results, now),
		Preprocess: *t.pre,
		Synthetic: artifact.Synthetic{
			Adj: clusters.Adjacency(t.original.Adj), X: t.x.Combine(clusters.Membership()), Labels: clusters.Labels,
		},
		Mapping: &artifact.Mapping{IDs: t.original.IDs, Rows: r.served.mapping.rows},
	}
	for k, whole := range r.whole {
		kinds := r.calibrations[k].kinds
		b.Models = append(b.Models, artifact.Model{Name: whole.model.Name(), Params: whole.model.Params(), Tables: r.served.tables[k],
			Labels: kinds[infer.PropagateLabels].tables, Errors: kinds[infer.PropagateErrors].tables})
	}
	return b
}

func (t *task) manifest(r recipe, results []eval.Result, now time.Time) artifact.Manifest {
	rows := r.served.mapping.rows
	m := artifact.Manifest{
		Created: now.UTC(), CreatedBy: "rivulet trainer", Method: t.options.Method, Seed: t.options.Seed,
		Data: artifact.Data{Name: t.data.Name, Fingerprint: t.data.Fingerprint(), Nodes: t.original.Adj.Rows,
			Edges: t.original.Adj.NNZ() / 2, Features: t.original.X.Cols(), Classes: t.data.Classes},
		SyntheticNodes: t.nodes,
		Mapping:        artifact.MappingInfo{Rows: rows.Rows, Entries: rows.NNZ(), MaxPerRow: longestRow(rows)},
		Preprocess:     artifact.PreprocessInfo{Kind: t.pre.Kind, Scale: t.pre.Scale},
		DefaultModel:   r.whole[0].model.Name(),
	}
	for k, whole := range r.whole {
		c := r.calibrations[k]
		info := artifact.ModelInfo{Name: whole.model.Name(), Attachment: artifact.AttachFrozen, FittedOn: "O",
			WeightDecay: whole.weightDecay, Calibration: artifact.CalibrationInfo{Kind: c.kind, Temperature: c.temperature},
			Propagation: map[string]artifact.PropagationInfo{}}
		for kind, p := range c.kinds {
			info.Propagation[kind] = p.info
		}
		m.Models = append(m.Models, info)
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
