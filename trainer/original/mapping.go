package original

import (
	"context"
	"fmt"
	"iter"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/growth"
	"rivulet/trainer/plane"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// Mapping is M in tables.
type Mapping struct {
	Rows iter.Seq2[plane.Rows, error] // all of M, a block at a time, as long as the engine is open
	Size artifact.MappingInfo
	OnT  *graph.CSR // the rows of the nodes of Original
	// Subgraph are the rows of the nodes of the subgraph.
	Subgraph *graph.CSR

	clusters int         // N'
	rows     stage.Table // all of M
}

// Solve gives each node of T a row of M of at most so many entries (docs/algorithm.md, section 5). messages say how the
// tables of the walked models become messages, and the dictionary has those of the clusters.
func (t *Tables) Solve(ctx context.Context, messages []growth.Messages, dictionary *graph.Dense,
	entries int) (*Mapping, error) {
	o, sides := solved.SolveOptions{Entries: entries}, stage.Sides{}
	sides[solved.SideDictionary] = wire.AppendDense(nil, dictionary)
	var inputs []stage.Table
	for k, m := range t.models {
		of := solved.TableOptions{}
		of.U, of.C = m.TableWidths()
		o.Models, inputs = append(o.Models, of), append(inputs, m.parts...)
		sides[solved.SideMessages(k)] = solved.AppendMessages(messages[k])
	}
	made, records, err := t.sums(ctx, stage.NewSpec(solved.StageSolve, o, sides, 2), 1, inputs...)
	if err != nil {
		return nil, err
	}
	var size solved.MappingSize
	for _, r := range records {
		if err := size.Add(r.Payload); err != nil {
			return nil, err
		}
	}
	if size.Rows != t.Graph.Nodes {
		return nil, fmt.Errorf("M has %d rows for %d nodes", size.Rows, t.Graph.Nodes)
	}
	m := &Mapping{clusters: dictionary.Rows, rows: made[0],
		Size: artifact.MappingInfo{Rows: int(size.Rows), Entries: int(size.Entries), MaxPerRow: size.Longest}}
	m.Rows = t.stored(ctx, m)
	brought, err := t.pickMapping(ctx, m)
	if err != nil {
		return nil, err
	}
	m.OnT, m.Subgraph = brought.Take(t.OnT.at), brought.Take(t.Subgraph.at)
	return m, nil
}

// stored gives all rows of M with T's ids and classes, a block at a time, as long as the engine is open.
func (t *Tables) stored(ctx context.Context, m *Mapping) iter.Seq2[plane.Rows, error] {
	index := t.classIndex()
	return func(yield func(plane.Rows, error) bool) {
		next, stop := iter.Pull2(t.engine.Read(ctx, m.rows))
		defer stop()
		for r, err := range t.engine.Read(ctx, t.Graph.Names) {
			var p plane.Rows
			if err == nil {
				p, err = t.rowsOfBlock(m, r, next, index)
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
func (t *Tables) rowsOfBlock(m *Mapping, block stage.Record, next func() (stage.Record, error, bool),
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
	p.Mapping = &artifact.Mapping{IDs: names.IDs[:names.Original], Rows: &graph.CSR{Rows: rows.Rows, Cols: m.clusters,
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

// pickMapping returns the rows of M of the nodes whose rows are brought.
func (t *Tables) pickMapping(ctx context.Context, m *Mapping) (*graph.CSR, error) {
	made, err := t.run(ctx, stage.NewSpec(solved.StagePickRows, struct{}{}, nil, 1), t.asked, m.rows)
	if err != nil {
		return nil, err
	}
	out, at := &graph.CSR{Rows: len(t.brought), Cols: m.clusters, RowPtr: []int{0}}, 0
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
	return out, t.all(at)
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
