package trainer

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/tables"
)

// bundle returns the artifact.
func (s *staged) bundle(
	ctx context.Context,
	r *recipe,
	c *stagedGraph,
	results []eval.Result,
	now time.Time,
) (*artifact.Bundle, error) {
	t, g := s.task, s.graph
	m := t.manifest(r, results, s.fingerprint, now)
	m.Data.Nodes, m.Data.Edges, m.Data.Features = int(g.Nodes), int(g.Entries/2), g.Summary.Width
	m.Mapping = artifact.MappingInfo{
		Rows:      int(c.size.Rows),
		Entries:   int(c.size.Entries),
		MaxPerRow: c.size.Longest,
	}
	mapping, err := s.mapping(ctx, c)
	if err != nil {
		return nil, err
	}
	f := s.whole.model
	model := artifact.Model{Name: f.Name(), Params: f.Params(), Tables: c.onS}
	r.calibrations[0].tables(&model)
	return &artifact.Bundle{
		Manifest:   m,
		Preprocess: *s.pre,
		Synthetic:  c.Synthetic,
		Schema:     s.source.Schema,
		Mapping:    mapping,
		Growth: &artifact.Growth{Entries: min(s.options.Entries, t.nodes), Dictionary: c.dictionary,
			Messages: map[string]infer.Messages{f.Name(): c.messages}},
		Models: []artifact.Model{model},
	}, nil
}

// mapping reads M with its ids.
func (s *staged) mapping(ctx context.Context, c *stagedGraph) (*artifact.Mapping, error) {
	out := &artifact.Mapping{
		IDs: make([]string, 0, c.size.Rows),
		Rows: &graph.CSR{Rows: int(c.size.Rows), Cols: s.task.nodes,
			RowPtr: make(
				[]int,
				1,
				c.size.Rows+1,
			), ColIdx: make([]int32, 0, c.size.Entries), Val: make([]float32, 0, c.size.Entries)},
	}
	for r, err := range s.engine.Read(ctx, s.graph.Names) {
		if err != nil {
			return nil, err
		}
		names, err := solved.ReadNames(r.Payload)
		if err != nil {
			return nil, err
		}
		out.IDs = append(out.IDs, names.IDs[:names.Original]...)
	}
	for r, err := range s.engine.Read(ctx, c.rows) {
		if err != nil {
			return nil, err
		}
		rows, err := solved.ReadMapping(r.Payload)
		if err != nil {
			return nil, err
		}
		before := len(out.Rows.ColIdx)
		for _, end := range rows.RowPtr[1:] {
			out.Rows.RowPtr = append(out.Rows.RowPtr, before+end)
		}
		out.Rows.ColIdx, out.Rows.Val = append(
			out.Rows.ColIdx,
			rows.ColIdx...), append(
			out.Rows.Val,
			rows.Val...)
	}
	if len(out.IDs) != int(c.size.Rows) || len(out.Rows.RowPtr) != len(out.IDs)+1 {
		return nil, fmt.Errorf(
			"M has %d rows for %d nodes, want %d",
			len(out.Rows.RowPtr)-1,
			len(out.IDs),
			c.size.Rows,
		)
	}
	return out, nil
}

// evaluate measures Whole alone, by T's own tables, and S on the test nodes.
func (s *staged) evaluate(ctx context.Context, r *recipe, c *stagedGraph) ([]eval.Result, error) {
	t := s.task
	onT, err := t.frozen(
		&stagedGraph{task: t, made: made{Condensed: &condense.Condensed{Attachment: artifact.AttachFrozen}},
			onS: c.onT, hops: c.hopsOnT},
		s.whole.model,
	)
	if err != nil {
		return nil, err
	}
	calibrated, err := t.calibrate(ctx, onT, s.options.kinds())
	if err != nil {
		return nil, err
	}
	out := rows(deployment{placed: onT, setting: eval.OtoO, weightDecay: s.whole.weightDecay}, calibrated)
	out = append(
		out,
		rows(
			deployment{placed: r.placed[0], setting: eval.OtoS, weightDecay: s.whole.weightDecay, served: true},
			r.calibrations[0],
		)...)
	return t.evaluate(ctx, out, t.seconds, s.progress)
}

// stagedGraph is S with the rows of M that the nodes held out read.
type stagedGraph struct {
	*task
	made
	onS, onT   *infer.Tables // of S, and of the nodes of T that are read
	messages   infer.Messages
	dictionary *graph.Dense
	rows       stage.Table // all of M
	size       solved.MappingSize
	normal     []float64 // the upper triangle of MᵀwM
	// hops are those of label and of error propagation on S, by kind, and hopsOnT on the nodes of T that are read.
	hops, hopsOnT map[string]*infer.Tables
}

func (c *stagedGraph) tables(infer.Model) (*infer.Tables, error) { return c.onS, nil }

func (c *stagedGraph) propagation(kind string, _ infer.Model, alpha float32) (*infer.Tables, error) {
	if alpha == 1 {
		return c.hops[kind], nil
	}
	return c.hops[kind].Restarted(alpha), nil
}

// synthetic is U' of the normal equations of M.
func synthetic(normal, right []float64, nodes, classes int) (*infer.Tables, error) {
	all, err := tables.Solve(normal, right, nodes)
	if err != nil {
		return nil, err
	}
	return &infer.Tables{U: []*graph.Dense{columnsOf(all, 0, classes), columnsOf(all, classes, classes)},
		C: columnsOf(all, 2*classes, 1)}, nil
}

// columnsOf are some columns of a matrix.
func columnsOf(m *graph.Dense, from, width int) *graph.Dense {
	out := graph.NewDense(m.Rows, width)
	for i := range m.Rows {
		copy(out.Row(i), m.Row(i)[from:])
	}
	return out
}
