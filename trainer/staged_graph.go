package trainer

import (
	"context"
	"fmt"
	"iter"
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
	f := s.whole.model
	model := artifact.Model{Name: f.Name(), Params: f.Params(), Tables: c.onS}
	r.calibrations[0].tables(&model)
	b := &artifact.Bundle{
		Manifest:   m,
		Preprocess: *s.pre,
		Synthetic:  c.Synthetic,
		Schema:     s.source.Schema,
		Parts:      s.pieces(ctx, c),
		Growth: &artifact.Growth{Entries: min(s.options.Entries, t.nodes), Dictionary: c.dictionary,
			Messages: map[string]infer.Messages{f.Name(): c.messages}},
		Models: []artifact.Model{model},
	}
	if m.Mapping.Rows > artifact.PartRows {
		return b, nil
	}
	return b, b.LoadMapping()
}

// pieces gives M with its ids, a block at a time, as long as the engine is open.
func (s *staged) pieces(ctx context.Context, c *stagedGraph) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		next, stop := iter.Pull2(s.engine.Read(ctx, c.rows))
		defer stop()
		for r, err := range s.engine.Read(ctx, s.graph.Names) {
			var p *artifact.Mapping
			if err == nil {
				p, err = s.piece(r, next)
			}
			if p == nil && err == nil {
				continue
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// piece returns the rows of M of a block, given its names; nil if it has no nodes of T.
func (s *staged) piece(block stage.Record, next func() (stage.Record, error, bool)) (*artifact.Mapping, error) {
	names, err := solved.ReadNames(block.Payload)
	if err != nil || names.Original == 0 {
		return nil, err
	}
	rows, r := &graph.CSR{}, stage.Record{}
	for rows.Rows == 0 { // blocks without nodes of T may have records without rows
		var more bool
		if r, err, more = next(); !more {
			return nil, fmt.Errorf("M has no rows of block %d", block.Key)
		}
		if err == nil {
			rows, err = solved.ReadMapping(r.Payload)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Key != block.Key || rows.Rows != names.Original {
		return nil, fmt.Errorf("M has %d rows of block %d for the %d nodes of block %d", rows.Rows, r.Key, names.Original, block.Key)
	}
	return &artifact.Mapping{IDs: names.IDs[:names.Original], Rows: &graph.CSR{Rows: rows.Rows, Cols: s.task.nodes,
		RowPtr: rows.RowPtr, ColIdx: rows.ColIdx, Val: rows.Val}}, nil
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
