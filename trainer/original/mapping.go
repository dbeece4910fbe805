package original

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/plane"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
	"rivulet/trainer/tables"
)

// stored gives all rows of M with T's ids and classes, a block at a time, as long as the engine is open.
func (t *Tables) stored(ctx context.Context, c *Synthetic) iter.Seq2[plane.Rows, error] {
	index := t.classIndex()
	return func(yield func(plane.Rows, error) bool) {
		next, stop := iter.Pull2(t.engine.Read(ctx, c.rows))
		defer stop()
		for r, err := range t.engine.Read(ctx, t.Graph.Names) {
			var p plane.Rows
			if err == nil {
				p, err = t.rowsOfBlock(c, r, next, index)
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
func (t *Tables) rowsOfBlock(c *Synthetic, block stage.Record, next func() (stage.Record, error, bool),
	index map[string]int32) (p plane.Rows, err error) {
	names, err := partition.ReadNames(block.Payload)
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
			rows, err = wire.ReadMapping(r.Payload)
		}
		if err != nil {
			return p, err
		}
	}
	if r.Key != block.Key || rows.Rows != names.Original {
		return p, fmt.Errorf("M has %d rows of block %d for the %d nodes of block %d", rows.Rows, r.Key, names.Original,
			block.Key)
	}
	p.Mapping = &artifact.Mapping{IDs: names.IDs[:names.Original], Rows: &graph.CSR{Rows: rows.Rows, Cols: c.clusters,
		RowPtr: rows.RowPtr, ColIdx: rows.ColIdx, Val: rows.Val}}
	for j := range names.Original {
		y, known := index[names.Labels[j]]
		if !known || names.Roles[j] != partition.Train {
			y = -1
		}
		p.Labels = append(p.Labels, y)
	}
	return p, nil
}

// synthetic gives the models U' of the normal equations of M.
func (t *Tables) synthetic(clusters int, normal, right []float64) error {
	all, err := tables.Solve(normal, right, clusters)
	if err != nil {
		return err
	}
	at := 0
	next := func(width int) *graph.Dense {
		at += width
		return all.Columns(at-width, at)
	}
	t.OnS = &Frozen{}
	for _, m := range t.models {
		widths, back := m.TableWidths()
		of := &infer.Tables{}
		for _, width := range widths {
			of.U = append(of.U, next(width))
		}
		of.C = next(back)
		t.OnS.add(m.Model, of)
	}
	return nil
}

// pickMapping returns the rows of M of the nodes of T that are read.
func (t *Tables) pickMapping(ctx context.Context, c *Synthetic) (*graph.CSR, error) {
	made, err := t.run(ctx, stage.NewSpec(solved.StagePickRows, struct{}{}, nil, 1), t.held.asked, c.rows)
	if err != nil {
		return nil, err
	}
	out, at := &graph.CSR{Rows: len(t.held.original), Cols: c.clusters, RowPtr: []int{0}}, 0
	for r, err := range t.engine.Read(ctx, made[0]) {
		if err != nil {
			return nil, err
		}
		places, rows, err := solved.ReadPickedRows(r.Payload)
		if err != nil {
			return nil, err
		}
		if at, err = t.inOrder(r.Key, places, at); err != nil {
			return nil, err
		}
		for k := range rows.Rows {
			cols, vals := rows.Row(k)
			out.ColIdx, out.Val = append(out.ColIdx, cols...), append(out.Val, vals...)
			out.RowPtr = append(out.RowPtr, len(out.ColIdx))
		}
	}
	if at != out.Rows {
		return nil, fmt.Errorf("rows of M of %d nodes were brought, %d asked for", at, out.Rows)
	}
	return out, nil
}

// RowsOf returns the rows of an artifact's M of the nodes of T that are read, by their ids, with one part of M in
// memory at a time.
func (t *Tables) RowsOf(ctx context.Context, b *artifact.Bundle) (*graph.CSR, error) {
	wanted := make(map[string]int, len(t.held.original))
	at := 0
	for r, err := range t.engine.Read(ctx, t.Graph.Names) {
		if err != nil {
			return nil, err
		}
		names, err := partition.ReadNames(r.Payload)
		if err != nil {
			return nil, err
		}
		for ; at < len(t.held.original) && t.held.original[at].Block == r.Key; at++ {
			wanted[names.IDs[t.held.original[at].Place]] = at
		}
	}
	rows := make([]*graph.CSR, len(t.held.original))
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

// Frozen are the tables of models that arrivals read: of the nodes of T that the nodes held out have edges to, or of S.
type Frozen struct {
	models         []infer.Model
	tables, errors []*infer.Tables // per model: its own tables, and error propagation's
	labels         *infer.Tables   // of label propagation
}

// NewFrozen returns tables of S that an artifact has.
func NewFrozen(m infer.Model, onS *infer.Tables) *Frozen {
	f := &Frozen{}
	f.add(m, onS)
	return f
}

func (f *Frozen) add(m infer.Model, of *infer.Tables) {
	f.models, f.tables = append(f.models, m), append(f.tables, of)
}

// Tables returns a model's tables.
func (f *Frozen) Tables(m infer.Model) *infer.Tables { return f.tables[slices.Index(f.models, m)] }

// Propagation returns the tables of label or error propagation of a model at one α.
func (f *Frozen) Propagation(kind string, m infer.Model, alpha float32) *infer.Tables {
	hops := f.labels
	if kind == infer.PropagateErrors {
		hops = f.errors[slices.Index(f.models, m)]
	}
	if alpha == 1 {
		return hops
	}
	return hops.Restarted(alpha)
}

// Growth returns the dictionary with which consumers give arrivals rows of M.
func (t *Tables) Growth(c *Synthetic) *artifact.Growth {
	g := &artifact.Growth{Entries: min(t.options.Entries, c.clusters), Dictionary: c.Dictionary,
		Messages: map[string]growth.Messages{}}
	for _, m := range t.models {
		g.Messages[m.Name()] = m.messages
	}
	return g
}
