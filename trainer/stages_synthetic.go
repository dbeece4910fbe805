package trainer

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/condense"
	"rivulet/trainer/plane"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/tables"
)

// stored gives M with T's ids and classes, a block at a time, as long as the engine is open.
func (s *tablesHolder) stored(ctx context.Context, m stage.Table) iter.Seq2[plane.Rows, error] {
	index := s.classIndex()
	return func(yield func(plane.Rows, error) bool) {
		next, stop := iter.Pull2(s.engine.Read(ctx, m))
		defer stop()
		for r, err := range s.engine.Read(ctx, s.graph.Names) {
			var p plane.Rows
			if err == nil {
				p, err = s.rowsOfBlock(r, next, index)
			}
			if p.Mapping == nil && err == nil {
				continue
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// rowsOfBlock returns the rows of M of a block, given its names; none if it has no nodes of T.
func (s *tablesHolder) rowsOfBlock(block stage.Record, next func() (stage.Record, error, bool),
	index map[string]int32) (p plane.Rows, err error) {
	names, err := solved.ReadNames(block.Payload)
	if err != nil || names.Original == 0 {
		return p, err
	}
	rows, r := &graph.CSR{}, stage.Record{}
	for rows.Rows == 0 { // blocks without nodes of T may have records without rows
		var more bool
		if r, err, more = next(); !more {
			return p, fmt.Errorf("M has no rows of block %d", block.Key)
		}
		if err == nil {
			rows, err = solved.ReadMapping(r.Payload)
		}
		if err != nil {
			return p, err
		}
	}
	if r.Key != block.Key || rows.Rows != names.Original {
		return p, fmt.Errorf("M has %d rows of block %d for the %d nodes of block %d", rows.Rows, r.Key, names.Original,
			block.Key)
	}
	p.Mapping = &artifact.Mapping{IDs: names.IDs[:names.Original], Rows: &graph.CSR{Rows: rows.Rows, Cols: s.task.nodes,
		RowPtr: rows.RowPtr, ColIdx: rows.ColIdx, Val: rows.Val}}
	for j := range names.Original {
		y, known := index[names.Labels[j]]
		if !known || names.Roles[j] != solved.Train {
			y = -1
		}
		p.Labels = append(p.Labels, y)
	}
	return p, nil
}

// deploy freezes a model on T: its tables are at hand, and those of propagation where the run makes any.
func (s *tablesHolder) deploy(f *fitResult) (*deployedModel, []string, error) {
	onT := &stagedGraph{task: s.task, graphParts: graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}},
		models: s.models, ofT: true, labels: s.labelsOnT}
	p, err := s.task.frozen(onT, f.model)
	return p, s.options.kinds(), err
}

// stagedGraph is S with the rows of M that the nodes held out read, or those nodes of T themselves.
type stagedGraph struct {
	*task
	graphParts
	models     []*stagedModel
	ofT        bool // it is the nodes of T that are read
	dictionary *graph.Dense
	rows       stage.Table // all of M
	largest    float32     // number in M
	normal     []float64   // the upper triangle of MᵀwM
	labels     *infer.Tables
}

func (c *stagedGraph) growth() *artifact.Growth {
	g := &artifact.Growth{Entries: min(c.options.Entries, c.nodes), Dictionary: c.dictionary,
		Messages: map[string]growth.Messages{}}
	for _, m := range c.models {
		g.Messages[m.model.Name()] = m.messages
	}
	return g
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
func (s *tablesHolder) synthetic(normal, right []float64) error {
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
