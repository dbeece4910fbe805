package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/schema"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// EvaluateStaged measures an artifact on the test nodes of a data set, or a sample of them, by the stages by which
// [TrainStaged] measures its own: the artifact's model on T, by tables of T that are made anew, and on S with the
// artifact's calibration. The data set is the one of the artifact, or another whose nodes of T have the same ids. It
// is an error if the model that the artifact serves is not attached frozen.
func EvaluateStaged(ctx context.Context, e stage.Engine, d RowData, b *artifact.Bundle, batch int,
	progress Progress) ([]eval.Result, error) {
	s := &tablesHolder{engine: e, source: d, progress: progress}
	out, err := s.measure(ctx, b, batch)
	if err != nil {
		return nil, fmt.Errorf("evaluating %s on %s: %w", b.Manifest.Version, d.Name, err)
	}
	return out, nil
}

func (s *tablesHolder) measure(ctx context.Context, b *artifact.Bundle, batch int) ([]eval.Result, error) {
	info, params, err := servedFrozen(b)
	if err != nil {
		return nil, err
	}
	m, err := infer.Build(params.Name, params.Params)
	if err != nil {
		return nil, err
	}
	if s.options, err = Inherit(&b.Manifest); err != nil {
		return nil, err
	}
	s.options.Batch = batch
	s.source.Classes = b.Manifest.Data.Classes
	of := &stagedModel{fitResult: &fitResult{model: m, weightDecay: info.WeightDecay}, onS: params.Tables}
	s.models = []*stagedModel{of}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	if err := s.prepared(b); err != nil {
		return nil, err
	}
	if err := s.walk(ctx, of, false); err != nil {
		return nil, err
	}
	if err := s.holdOut(ctx); err != nil {
		return nil, err
	}
	c := &stagedGraph{task: s.task, graphParts: graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}},
		models: s.models}
	if err := s.tablesOnT(ctx); err != nil {
		return nil, err
	}
	if c.M, err = s.rowsOf(ctx, b); err != nil {
		return nil, err
	}
	onS, err := s.task.frozen(c, m)
	if err != nil {
		return nil, err
	}
	s.options.Propagate = false // T's own tables of it are not made
	r := &recipe{whole: []*fitResult{of.fitResult}, served: c, placed: []*deployedModel{onS},
		calibrations: []*calibration{calibrationOf(info, params)}}
	deployments, err := s.task.deployments(ctx, r, measurements{}, s.progress)
	if err != nil {
		return nil, err
	}
	return s.task.evaluate(ctx, deployments, 0, s.progress)
}

// servedFrozen returns the model that an artifact serves, which must be attached frozen.
func servedFrozen(b *artifact.Bundle) (artifact.ModelInfo, artifact.Model, error) {
	name := b.Manifest.DefaultModel
	i := slices.IndexFunc(b.Manifest.Models, func(m artifact.ModelInfo) bool { return m.Name == name })
	k := slices.IndexFunc(b.Models, func(m artifact.Model) bool { return m.Name == name })
	if i < 0 || k < 0 {
		return artifact.ModelInfo{}, artifact.Model{}, fmt.Errorf("the artifact has no model %q", name)
	}
	info, m := b.Manifest.Models[i], b.Models[k]
	if info.Attachment != artifact.AttachFrozen || m.Tables == nil {
		return info, m, fmt.Errorf("the artifact's attachment is %s, %s %s only", info.Attachment,
			"a run of stages (--engine disk, --sums fixed) evaluates", artifact.AttachFrozen)
	}
	return info, m, nil
}

// prepared takes the preprocessing of an artifact.
func (s *tablesHolder) prepared(b *artifact.Bundle) error {
	g := s.graph
	if got, want := g.Summary.Width, b.Manifest.Data.Features; got != want {
		return fmt.Errorf("the data have %d features, the artifact is for %d", got, want)
	}
	if got, want := schemaHash(s.source.Schema), schemaHash(b.Schema); got != want {
		return fmt.Errorf("the data's features are of schema %s, the artifact's of %s", got, want)
	}
	if more := s.classes[len(b.Manifest.Data.Classes):]; len(more) > 0 {
		return fmt.Errorf("the data have the label %q, the artifact the classes %q", more[0], b.Manifest.Data.Classes)
	}
	s.pre = &b.Preprocess
	unscaled := b.Preprocess
	unscaled.Scale = 1
	s.bound(s.pre.Kind)
	s.sides = preprocessSides(&unscaled, g.Summary.Width)
	return nil
}

func schemaHash(s *schema.Schema) string {
	if s == nil {
		return "none"
	}
	return s.Hash()
}

// rowsOf returns the rows of an artifact's M of the nodes of T that are read, by their ids, with one part of M in
// memory at a time.
func (s *tablesHolder) rowsOf(ctx context.Context, b *artifact.Bundle) (*graph.CSR, error) {
	wanted := make(map[string]int, len(s.held.original))
	at := 0
	for r, err := range s.engine.Read(ctx, s.graph.Names) {
		if err != nil {
			return nil, err
		}
		names, err := solved.ReadNames(r.Payload)
		if err != nil {
			return nil, err
		}
		for ; at < len(s.held.original) && s.held.original[at].Block == r.Key; at++ {
			wanted[names.IDs[s.held.original[at].Place]] = at
		}
	}
	rows := make([]*graph.CSR, len(s.held.original))
	for m, err := range b.Pieces() {
		if err != nil {
			return nil, err
		}
		for k, id := range m.IDs {
			if at, ok := wanted[id]; ok {
				rows[at] = m.Rows.Take([]int32{int32(k)})
				delete(wanted, id)
			}
		}
	}
	for id := range wanted {
		return nil, fmt.Errorf("the artifact has no row of M for %d of %d nodes that test nodes have edges to, "+
			"such as %.100q: its graph is another", len(wanted), len(rows), id)
	}
	out := &graph.CSR{Rows: len(rows), Cols: b.Manifest.SyntheticNodes, RowPtr: []int{0}}
	for _, row := range rows {
		out.ColIdx, out.Val = append(out.ColIdx, row.ColIdx...), append(out.Val, row.Val...)
		out.RowPtr = append(out.RowPtr, len(out.ColIdx))
	}
	return out, nil
}

// calibrationOf returns the calibration that an artifact describes.
func calibrationOf(info artifact.ModelInfo, m artifact.Model) *calibration {
	c := &calibration{kind: info.Calibration.Kind, temperature: info.Calibration.Temperature,
		kinds: map[string]*propagation{}}
	for kind, t := range map[string]*infer.Tables{infer.PropagateLabels: m.Labels, infer.PropagateErrors: m.Errors} {
		if p, ok := info.Propagation[kind]; ok && t != nil {
			c.kinds[kind] = &propagation{info: p, spreading: frozenSpreading(kind, t, p.Alpha)}
		}
	}
	return c
}
