package study

import (
	"context"
	"fmt"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/trainer/eval"
)

// version serves one model of an artifact in memory, with the rows of M of arrivals beside those of T. It is an
// [eval.Version], without calibration, which moves no class unless it propagates.
type version struct {
	bundle  *artifact.Bundle
	arrived map[string]attach.Row // by id: rows of arrivals, which grow fills

	rows   map[string]attach.Row // by id: rows of M of T's nodes
	models map[string]*infer.Predictor
	model  string
	grower *growth.Grower
}

// newVersion deploys all models of an artifact on S; the default model answers. It fails with [artifact.ErrNoGrowth]
// for an artifact by which arrivals cannot get rows.
func newVersion(b *artifact.Bundle) (*version, error) {
	if b.Growth == nil {
		return nil, fmt.Errorf("method %s: %w", b.Manifest.Method, artifact.ErrNoGrowth)
	}
	v := &version{bundle: b, arrived: map[string]attach.Row{}, rows: make(map[string]attach.Row, len(b.Mapping.IDs)),
		models: map[string]*infer.Predictor{}, model: b.Manifest.DefaultModel}
	for i, id := range b.Mapping.IDs {
		cols, vals := b.Mapping.Rows.Row(i)
		v.rows[id] = attach.Row{Known: true, Cols: cols, Vals: vals}
	}
	deployed := map[string]infer.Deployment{}
	for _, m := range b.Models {
		model, err := infer.Build(m.Name, m.Params)
		if err != nil {
			return nil, err
		}
		deployed[m.Name] = model.Frozen(m.Tables, &b.Preprocess)
		v.models[m.Name] = eval.Plain(deployed[m.Name])
		v.models[m.Name].Expert = b.Expert(m.Name)
	}
	var err error
	v.grower, err = b.Grower(deployed)
	return v, err
}

// fresh returns the same version before any arrival.
func (v *version) fresh() *version {
	out := *v
	out.arrived = map[string]attach.Row{}
	return &out
}

// of returns the version with another model of the artifact in place of the default one.
func (v *version) of(model string) *version {
	out := *v
	out.model = model
	return &out
}

// predictor returns the model that answers, with its expert. It must not be changed.
func (v *version) predictor() *infer.Predictor { return v.models[v.model] }

// Predict implements [eval.Predictor].
func (v *version) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	return v.models[v.model].Predict(b)
}

// Rows implements [eval.Version].
func (v *version) Rows(_ context.Context, ids []string, rows []attach.Row) error {
	for k, id := range ids {
		row, known := v.rows[id]
		if !known {
			row = v.arrived[id]
		}
		rows[k] = row
	}
	return nil
}

// syntheticNodes is N'.
func (v *version) syntheticNodes() int { return v.bundle.Manifest.SyntheticNodes }

// Attach implements [eval.Version], of edges without weights.
func (v *version) Attach(b *attach.Batch, neighbours [][]attach.Row) {
	b.Attach(neighbours, v.syntheticNodes())
}

// grow gives arrivals of a data set rows of M, as a consumer with attach.arrivals on does, in micro-batches of size
// nodes: a node uses the rows of T and of the batches before its own, whatever their order in the data set. left is the
// mean share of the messages' squared norm that the rows do not reproduce.
func (v *version) grow(ctx context.Context, d *dataset.Dataset, nodes []int32, size int) (left float64, err error) {
	for _, batch := range dataset.Batches(nodes, size) {
		s, err := eval.LookUp(ctx, d, v, batch, len(batch), false)
		if err != nil {
			return 0, err
		}
		grown := v.grower.Grow(s.Batches[0])
		for k, i := range batch {
			v.arrived[d.IDs[i]] = grown.Row(k)
			left += float64(grown.Left[k]) / float64(len(nodes))
		}
	}
	return left, nil
}
