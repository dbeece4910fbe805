package original

import (
	"context"
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/condense"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// model is a model whose tables on T are made.
type model struct {
	infer.Model
	// parts are its tables on T, logits the logits of T's nodes, and bounds the largest numbers in the columns of the
	// tables u_0, u_1, …, c.
	parts    []stage.Table
	logits   stage.Table
	bounds   []float64
	messages growth.Messages
}

// Walk takes a model through its hops on T: to its tables, and to its logits if they are wanted. Error propagation
// reads the logits; unlabelled nodes that join clusters read the first model's.
func (t *Tables) Walk(ctx context.Context, of infer.Model, logits bool) error {
	m := &model{Model: of}
	g, side := t.Graph, solved.AppendModel(of)
	o := solved.WalkOptions{FeatureScaling: t.preparing, Scale: t.Pre.Scale, Terms: g.HighestDegree}
	made, err := t.run(ctx, stage.NewSpec(solved.StageEnter, o, t.with(stage.Sides{solved.SideModel: side}),
		solved.WalkOutputs), g.Features, g.Degrees)
	if err != nil {
		return err
	}
	hops := solved.WalkHops(of)
	widths, _ := m.TableWidths()
	var ways []float64
	for hop := range hops {
		records, err := t.records(ctx, made[solved.OutHighest])
		if err != nil {
			return err
		}
		sent, part, err := solved.Highest(of, hop, records)
		if err != nil {
			return err
		}
		m.parts = append(m.parts, made[solved.OutPart])
		m.bounds, ways = append(m.bounds, part[:widths[hop]]...), append(ways, part[widths[hop]:]...)
		state := made[solved.OutState]
		if hop+1 == hops && !logits {
			if err := t.engine.Drop(ctx, state); err != nil {
				return err
			}
			break
		}
		o := solved.WalkOptions{Hop: hop, Terms: g.HighestDegree}
		sides := stage.Sides{solved.SideModel: side, solved.SideLargest: wire.AppendDoubles(nil, sent)}
		one := []stage.Table{state, g.Degrees}
		made, err = stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageStep, o, sides, 1),
			stage.NewSpec(solved.StageTake, o, sides, solved.WalkOutputs), g.Tiles, one, one)
		if err != nil {
			return err
		}
		if err := t.engine.Drop(ctx, state); err != nil {
			return err
		}
	}
	if logits {
		m.logits = made[solved.OutState]
	}
	m.bounds = append(m.bounds, ways...)
	t.models = append(t.models, m)
	return nil
}

// Pick brings the tables of the nodes of T that are read, of each model.
func (t *Tables) Pick(ctx context.Context) error {
	t.OnT = &Frozen{}
	for _, m := range t.models {
		widths, columns := m.TableWidths()
		for _, width := range widths {
			columns += width
		}
		rows, err := t.pick(ctx, columns, m.parts...)
		if err != nil {
			return fmt.Errorf("tables of %s: %w", m.Name(), err)
		}
		of, err := solved.TablesOf(m.Model, rows)
		if err != nil {
			return fmt.Errorf("tables of %s: %w", m.Name(), err)
		}
		t.OnT.add(m.Model, of)
	}
	return nil
}

// pick returns rows of dense tables, side by side, of the nodes of T that are read. They have so many columns together.
func (t *Tables) pick(ctx context.Context, columns int, of ...stage.Table) (*graph.Dense, error) {
	made, err := t.run(ctx, stage.NewSpec(solved.StagePick, struct{}{}, nil, 1),
		append([]stage.Table{t.held.asked}, of...)...)
	if err != nil {
		return nil, err
	}
	return t.readPicked(ctx, made[0], columns)
}

// readPicked reads a row of each node of T that is read.
func (t *Tables) readPicked(ctx context.Context, from stage.Table, columns int) (*graph.Dense, error) {
	out, at := graph.NewDense(len(t.held.original), columns), 0
	for r, err := range t.engine.Read(ctx, from) {
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
		if at, err = t.inOrder(r.Key, places, at); err != nil {
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
func (t *Tables) inOrder(block int64, places []int32, at int) (int, error) {
	for _, place := range places {
		if at >= len(t.held.original) || t.held.original[at] != (solved.Number{Block: block, Place: place}) {
			return at, fmt.Errorf("block %d, place %d was brought and not asked for", block, place)
		}
		at++
	}
	return at, nil
}

// messageInputs has the inputs of stages that make messages of nodes: options, sides and the first tables.
type messageInputs struct {
	solved.MessageOptions
	sides  stage.Sides
	inputs []stage.Table
}

// messages measures how the tables of the models become messages, as [condense.NewDictionary] does.
func (t *Tables) messages(ctx context.Context, clusters int) (*messageInputs, error) {
	support := condense.Support{Batch: t.Data.Attach(t.Original, t.Data.Validation, true), Pre: t.Pre}
	for k, m := range t.models {
		m.messages = condense.MessagesOf(m.Model, t.OnT.tables[k], support)
	}
	of := t.messaging(clusters)
	if len(t.models) == 1 {
		return of, nil
	}
	spec := stage.NewSpec(solved.StageNorms, of.MessageOptions, of.sides, 1)
	_, records, err := t.sums(ctx, spec, 0, of.inputs...)
	if err != nil {
		return nil, err
	}
	norms, err := solved.Norms(of.MessageOptions, of.sides, records)
	if err != nil {
		return nil, err
	}
	for k, m := range t.models {
		if norms[k] > 0 {
			m.messages.Times(float32(1 / norms[k]))
		}
	}
	return t.messaging(clusters), nil
}

// messaging gathers the inputs for the models' messages.
func (t *Tables) messaging(clusters int) *messageInputs {
	g := t.Graph
	out := &messageInputs{MessageOptions: solved.MessageOptions{Clusters: clusters, Degree: g.HighestDegree},
		sides: stage.Sides{}, inputs: []stage.Table{g.Degrees}}
	for k, m := range t.models {
		of := solved.TableOptions{}
		of.U, of.C = m.TableWidths()
		out.Models = append(out.Models, of)
		out.sides[solved.SideMessages(k)] = solved.AppendMessages(m.messages)
		out.sides[solved.SideBounds(k)] = wire.AppendDoubles(nil, m.bounds)
		out.inputs = append(out.inputs, m.parts...)
	}
	return out
}
