package trainer

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/condense"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// stagedModel is a model of a run of stages.
type stagedModel struct {
	*fitResult
	// parts are its tables on T, logits those of T's nodes, and bounds the largest numbers in the columns of the
	// tables u_0, u_1, …, c.
	parts  []stage.Table
	logits stage.Table
	bounds []float64

	onT      *infer.Tables // of the nodes of T that are read
	onS      *infer.Tables
	messages growth.Messages
	// errorsOnT and errorsOnS are the hops of error propagation on the nodes of T that are read, and on S.
	errorsOnT, errorsOnS *infer.Tables
}

// walk takes a model through its hops on T: to its tables, and to its logits if they are wanted.
func (s *tablesHolder) walk(ctx context.Context, m *stagedModel, logits bool) error {
	g, side := s.graph, solved.AppendModel(m.model)
	o := solved.WalkOptions{FeatureScaling: s.preparing, Scale: s.pre.Scale, Terms: g.HighestDegree}
	made, err := s.run(ctx, stage.NewSpec(solved.StageEnter, o, s.with(stage.Sides{solved.SideModel: side}),
		solved.WalkOutputs), g.Features, g.Degrees)
	if err != nil {
		return err
	}
	hops := solved.WalkHops(m.model)
	widths, _ := m.model.TableWidths()
	var ways []float64
	for hop := range hops {
		records, err := s.records(ctx, made[solved.OutHighest])
		if err != nil {
			return err
		}
		sent, part, err := solved.Highest(m.model, hop, records)
		if err != nil {
			return err
		}
		m.parts = append(m.parts, made[solved.OutPart])
		m.bounds, ways = append(m.bounds, part[:widths[hop]]...), append(ways, part[widths[hop]:]...)
		state := made[solved.OutState]
		if hop+1 == hops && !logits {
			if err := s.engine.Drop(ctx, state); err != nil {
				return err
			}
			break
		}
		o := solved.WalkOptions{Hop: hop, Terms: g.HighestDegree}
		sides := stage.Sides{solved.SideModel: side, solved.SideLargest: solved.AppendDoubles(sent)}
		one := []stage.Table{state, g.Degrees}
		made, err = stage.Hop(ctx, s.engine, stage.NewSpec(solved.StageStep, o, sides, 1),
			stage.NewSpec(solved.StageTake, o, sides, solved.WalkOutputs), g.Tiles, one, one)
		if err != nil {
			return err
		}
		if err := s.engine.Drop(ctx, state); err != nil {
			return err
		}
	}
	if logits {
		m.logits = made[solved.OutState]
	}
	m.bounds = append(m.bounds, ways...)
	return nil
}

// tablesOnT fetches the tables of the nodes of T that are read, of each model.
func (s *tablesHolder) tablesOnT(ctx context.Context) error {
	for _, m := range s.models {
		widths, columns := m.model.TableWidths()
		for _, width := range widths {
			columns += width
		}
		rows, err := s.pick(ctx, columns, m.parts...)
		if err == nil {
			m.onT, err = solved.TablesOf(m.model, rows)
		}
		if err != nil {
			return fmt.Errorf("tables of %s: %w", m.model.Name(), err)
		}
	}
	return nil
}

// pick returns rows of dense tables, side by side, of the nodes of T that are read. They have so many columns together.
func (s *tablesHolder) pick(ctx context.Context, columns int, of ...stage.Table) (*graph.Dense, error) {
	made, err := s.run(ctx, stage.NewSpec(solved.StagePick, struct{}{}, nil, 1),
		append([]stage.Table{s.held.asked}, of...)...)
	if err != nil {
		return nil, err
	}
	return s.readPicked(ctx, made[0], columns)
}

// readPicked reads a row of each node of T that is read.
func (s *tablesHolder) readPicked(ctx context.Context, t stage.Table, columns int) (*graph.Dense, error) {
	out, at := graph.NewDense(len(s.held.original), columns), 0
	for r, err := range s.engine.Read(ctx, t) {
		if err != nil {
			return nil, err
		}
		places, rows, err := solved.ReadPicked(r.Payload)
		if err != nil {
			return nil, err
		}
		if rows.Cols != columns {
			return nil, fmt.Errorf("rows of %d columns were brought, want %d", rows.Cols, columns)
		}
		if at, err = s.inOrder(r.Key, places, at); err != nil {
			return nil, err
		}
		copy(out.Data[(at-len(places))*out.Cols:], rows.Data)
	}
	if at != out.Rows {
		return nil, fmt.Errorf("rows of %d nodes were brought, %d asked for", at, out.Rows)
	}
	return out, nil
}

// inOrder checks that places of a block are the nodes from at on that are read, and returns the next.
func (s *tablesHolder) inOrder(block int64, places []int32, at int) (int, error) {
	for _, place := range places {
		if at >= len(s.held.original) || s.held.original[at] != (solved.Number{Block: block, Place: place}) {
			return at, fmt.Errorf("block %d, place %d was brought and not asked for", block, place)
		}
		at++
	}
	return at, nil
}

// pickMapping returns the rows of M of the nodes of T that are read.
func (s *tablesHolder) pickMapping(ctx context.Context, m stage.Table) (*graph.CSR, error) {
	made, err := s.run(ctx, stage.NewSpec(solved.StagePickRows, struct{}{}, nil, 1), s.held.asked, m)
	if err != nil {
		return nil, err
	}
	out, at := &graph.CSR{Rows: len(s.held.original), Cols: s.task.nodes, RowPtr: []int{0}}, 0
	for r, err := range s.engine.Read(ctx, made[0]) {
		if err != nil {
			return nil, err
		}
		places, rows, err := solved.ReadPickedRows(r.Payload)
		if err != nil {
			return nil, err
		}
		if at, err = s.inOrder(r.Key, places, at); err != nil {
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

// messageInputs is what the stages need that make messages of nodes: options, sides and the first inputs.
type messageInputs struct {
	solved.MessageOptions
	sides  stage.Sides
	inputs []stage.Table
}

// messages measures how the tables of the models become messages, as [condense.NewDictionary] does.
func (s *tablesHolder) messages(ctx context.Context) (*messageInputs, error) {
	support := condense.Support{
		Batch: s.task.data.Attach(s.task.original, s.task.data.Validation, true),
		Pre:   s.pre,
	}
	for _, m := range s.models {
		m.messages = condense.MessagesOf(m.model, m.onT, support)
	}
	if len(s.models) == 1 {
		return s.messaging(), nil
	}
	of := s.messaging()
	spec := stage.NewSpec(solved.StageNorms, of.MessageOptions, of.sides, 1)
	made, err := s.run(ctx, spec, of.inputs...)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, made[0])
	if err != nil {
		return nil, err
	}
	norms, err := solved.Norms(spec, records)
	if err != nil {
		return nil, err
	}
	for k, m := range s.models {
		if norms[k] > 0 {
			m.messages.Times(float32(1 / norms[k]))
		}
	}
	return s.messaging(), nil
}

// messaging gathers what is known of the models' messages.
func (s *tablesHolder) messaging() *messageInputs {
	g := s.graph
	out := &messageInputs{
		MessageOptions: solved.MessageOptions{Clusters: s.task.nodes, Degree: g.HighestDegree},
		sides:          stage.Sides{},
		inputs:         []stage.Table{g.Degrees},
	}
	for k, m := range s.models {
		of := solved.TableOptions{}
		of.U, of.C = m.model.TableWidths()
		out.Models = append(out.Models, of)
		out.sides[solved.SideMessages(k)] = solved.AppendMessages(m.messages)
		out.sides[solved.SideBounds(k)] = solved.AppendDoubles(m.bounds)
		out.inputs = append(out.inputs, m.parts...)
	}
	return out
}
