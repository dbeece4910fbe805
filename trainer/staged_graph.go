package trainer

import (
	"context"
	"fmt"
	"iter"
	"slices"
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
	messages := map[string]infer.Messages{}
	var models []artifact.Model
	for k, of := range s.models {
		model := artifact.Model{Name: of.model.Name(), Params: of.model.Params(), Tables: of.onS}
		r.calibrations[k].tables(&model)
		messages[model.Name], models = of.messages, append(models, model)
		m.Models[k].Sample = of.sample
	}
	b := &artifact.Bundle{
		Manifest:   m,
		Preprocess: *s.pre,
		Synthetic:  c.Synthetic,
		Schema:     s.source.Schema,
		Parts:      s.pieces(ctx, c),
		Growth: &artifact.Growth{Entries: min(s.options.Entries, t.nodes), Dictionary: c.dictionary,
			Messages: messages},
		Models: models,
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
		return nil, fmt.Errorf("M has %d rows of block %d for the %d nodes of block %d", rows.Rows, r.Key, names.Original,
			block.Key)
	}
	return &artifact.Mapping{IDs: names.IDs[:names.Original], Rows: &graph.CSR{Rows: rows.Rows, Cols: s.task.nodes,
		RowPtr: rows.RowPtr, ColIdx: rows.ColIdx, Val: rows.Val}}, nil
}

// evaluate measures Whole alone, by T's own tables, and S on the test nodes, with each model.
func (s *staged) evaluate(ctx context.Context, r *recipe, c *stagedGraph) ([]eval.Result, error) {
	t := s.task
	whole := &stagedGraph{task: t, made: made{Condensed: &condense.Condensed{Attachment: artifact.AttachFrozen}},
		models: s.models, ofT: true, labels: c.labelsOnT}
	var out []deployment
	for k, m := range s.models {
		onT, err := t.frozen(whole, m.model)
		if err != nil {
			return nil, err
		}
		calibrated, err := t.calibrate(ctx, onT, s.options.kinds())
		if err != nil {
			return nil, err
		}
		out = append(out, rows(deployment{placed: onT, setting: eval.OtoO, weightDecay: m.weightDecay}, calibrated)...)
		served := deployment{placed: r.placed[k], setting: eval.OtoS, weightDecay: m.weightDecay, served: k == 0}
		out = append(out, rows(served, r.calibrations[k])...)
	}
	return t.evaluate(ctx, out, t.seconds, s.progress)
}

// stagedGraph is S with the rows of M that the nodes held out read, or those nodes of T themselves.
type stagedGraph struct {
	*task
	made
	models     []*stagedModel
	ofT        bool // it is the nodes of T that are read
	dictionary *graph.Dense
	rows       stage.Table // all of M
	size       solved.MappingSize
	normal     []float64 // the upper triangle of MᵀwM
	// labels are the hops of label propagation, and labelsOnT those on the nodes of T that are read.
	labels, labelsOnT *infer.Tables
}

// model returns what is known of a model.
func (c *stagedGraph) model(m infer.Model) *stagedModel {
	return c.models[slices.IndexFunc(c.models, func(of *stagedModel) bool { return of.model == m })]
}

func (c *stagedGraph) tables(m infer.Model) (*infer.Tables, error) {
	if c.ofT {
		return c.model(m).onT, nil
	}
	return c.model(m).onS, nil
}

func (c *stagedGraph) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	hops := c.labels
	switch {
	case kind == infer.PropagateErrors && c.ofT:
		hops = c.model(m).errorsOnT
	case kind == infer.PropagateErrors:
		hops = c.model(m).errorsOnS
	}
	if alpha == 1 {
		return hops, nil
	}
	return hops.Restarted(alpha), nil
}

// synthetic gives the models U' of the normal equations of M.
func (s *staged) synthetic(normal, right []float64) error {
	all, err := tables.Solve(normal, right, s.task.nodes)
	if err != nil {
		return err
	}
	at := 0
	next := func(width int) *graph.Dense {
		at += width
		return all.Columns(at-width, at)
	}
	for _, m := range s.models {
		widths, back := m.model.TableWidths()
		m.onS = &infer.Tables{}
		for _, width := range widths {
			m.onS.U = append(m.onS.U, next(width))
		}
		m.onS.C = next(back)
	}
	return nil
}
