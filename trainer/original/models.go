package original

import (
	"context"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/trainer/features"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// model is a model whose tables on T are made.
type model struct {
	infer.Model
	parts  []stage.Table // its tables on T
	logits stage.Table   // of T's nodes, for error propagation
}

// Walk takes a model through its hops on T: to its tables, and to its logits where propagation is wanted.
func (t *Tables) Walk(ctx context.Context, of infer.Model) error {
	m, err := t.walk(ctx, of, t.options.Propagate)
	t.models = append(t.models, m)
	return err
}

// mostLabelledBytes is the memory of rows of labelled nodes, and of what they were made of.
const mostLabelledBytes = 256 << 20

// LabelledRows are rows of Â²·pre(X) of labelled nodes, with their classes.
type LabelledRows struct {
	X      *graph.Dense
	Labels []int32
}

// TwoHops returns Â²·pre(X)·W by the edges of all of T, which is the logits of an sgc of these weights: rows of the
// subgraph's nodes and, where labelled ones are wanted, of as many labelled nodes as fit into memory.
func (t *Tables) TwoHops(ctx context.Context, w *graph.Dense, labelled bool) (*graph.Dense, *LabelledRows, error) {
	of, err := infer.NewSGC(w, make([]float32, w.Cols))
	if err != nil {
		return nil, nil, err
	}
	m, err := t.walk(ctx, of, true)
	if err != nil {
		return nil, nil, err
	}
	out, nodes := &LabelledRows{}, []solved.Number(nil)
	if labelled {
		c, index := &subgraphChoice{Tables: t}, t.classIndex()
		o := solved.MarkOptions{Labelled: solved.SampleOf(t.options.Seed, t.Graph.Summary.Roles[partition.Train],
			int64(mostLabelledBytes/(4*max(1, w.Cols))))}
		if _, err := c.begin(ctx, o, nil); err != nil {
			return nil, nil, err
		}
		if err := c.eachBrought(ctx, func(block int64, some *solved.Brought) {
			for k, place := range some.Places {
				nodes = append(nodes, solved.Number{Block: block, Place: place})
				out.Labels = append(out.Labels, index[some.Names.Labels[k]])
			}
		}); err != nil {
			return nil, nil, err
		}
	}
	places, err := t.ask(ctx, t.part, nodes)
	if err != nil {
		return nil, nil, err
	}
	rows, err := t.pick(ctx, w.Cols, m.logits)
	if err != nil {
		return nil, nil, err
	}
	out.X = rows.Take(places[1])
	return rows.Take(places[0]), out, nil
}

// TablesOf returns the tables of a model on T, for the nodes that the nodes held out read.
func (t *Tables) TablesOf(ctx context.Context, of infer.Model) (*infer.Tables, error) {
	m, err := t.walk(ctx, of, false)
	if err != nil {
		return nil, err
	}
	if _, err := t.ask(ctx, t.held.original); err != nil {
		return nil, err
	}
	rows, err := t.pickTables(ctx, m)
	if err != nil {
		return nil, err
	}
	return solved.TablesOf(m.Model, rows)
}

// pickTables returns rows of a model's tables, side by side.
func (t *Tables) pickTables(ctx context.Context, m *model) (*graph.Dense, error) {
	widths, columns := m.TableWidths()
	for _, width := range widths {
		columns += width
	}
	rows, err := t.pick(ctx, columns, m.parts...)
	if err != nil {
		err = fmt.Errorf("tables of %s: %w", m.Name(), err)
	}
	return rows, err
}

func (t *Tables) walk(ctx context.Context, of infer.Model, logits bool) (*model, error) {
	m := &model{Model: of}
	g, side := t.Graph, solved.AppendModel(of)
	factor, offset := features.Vectors(t.Pre, g.Summary.Width)
	o := solved.WalkOptions{Kind: t.Pre.Kind, Terms: g.HighestDegree}
	made, err := t.run(ctx, stage.NewSpec(solved.StageEnter, o, stage.Sides{solved.SideModel: side,
		solved.SideFactor: wire.AppendFloats(nil, factor), solved.SideOffset: wire.AppendFloats(nil, offset)},
		solved.WalkOutputs), g.Features, g.Degrees)
	if err != nil {
		return nil, err
	}
	hops := solved.WalkHops(of)
	for hop := range hops {
		records, err := t.records(ctx, made[solved.OutHighest])
		if err != nil {
			return nil, err
		}
		sent, err := solved.Highest(of, hop, records)
		if err != nil {
			return nil, err
		}
		m.parts = append(m.parts, made[solved.OutPart])
		state := made[solved.OutState]
		if hop+1 < hops || logits {
			o := solved.WalkOptions{Hop: hop, Terms: g.HighestDegree}
			sides := stage.Sides{solved.SideModel: side, solved.SideLargest: wire.AppendDoubles(nil, sent)}
			one := []stage.Table{state, g.Degrees}
			if made, err = stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageStep, o, sides, 1),
				stage.NewSpec(solved.StageTake, o, sides, solved.WalkOutputs), g.Tiles, one, one); err != nil {
				return nil, err
			}
		}
		if err := t.engine.Drop(ctx, state); err != nil {
			return nil, err
		}
	}
	if logits {
		m.logits = made[solved.OutState]
	}
	return m, nil
}

// Frozen are the tables of models that arrivals read: of some nodes of T, or of S.
type Frozen struct {
	at             []int32 // the nodes' places among those that are brought
	models         []infer.Model
	tables, errors []*infer.Tables // per model: its own tables, and error propagation's
	labels         *infer.Tables   // of label propagation
}

// NewFrozen returns tables of S of some models.
func NewFrozen(models []infer.Model, onS []*infer.Tables) *Frozen {
	return &Frozen{models: models, tables: onS}
}

// Tables returns a model's tables.
func (f *Frozen) Tables(m infer.Model) *infer.Tables { return f.tables[slices.Index(f.models, m)] }

// Propagation returns the tables of a kind of propagation of a model at one α.
func (f *Frozen) Propagation(kind string, m infer.Model, alpha float32) *infer.Tables {
	hops := f.labels
	if kind == propagation.Errors {
		hops = f.errors[slices.Index(f.models, m)]
	}
	if alpha == 1 {
		return hops
	}
	return hops.Restarted(alpha)
}

// Pick brings the tables of the models that were walked, for the nodes of T that the nodes held out read, and for those
// of the subgraph if there is one.
func (t *Tables) Pick(ctx context.Context) error {
	places, err := t.ask(ctx, t.held.original, t.part)
	if err != nil {
		return err
	}
	t.OnT, t.Subgraph = &Frozen{at: places[0]}, &Frozen{at: places[1]}
	for _, m := range t.models {
		rows, err := t.pickTables(ctx, m)
		if err != nil {
			return err
		}
		for _, f := range []*Frozen{t.OnT, t.Subgraph} {
			of, err := solved.TablesOf(m.Model, rows.Take(f.at))
			if err != nil {
				return fmt.Errorf("tables of %s: %w", m.Name(), err)
			}
			f.models, f.tables = append(f.models, m.Model), append(f.tables, of)
		}
	}
	return nil
}

// Propagate makes the hops of label and error propagation: one sequence of hops for both kinds, all models and all α
// (docs/algorithm.md, section 6). It adds their tables to OnT, and to those of S, which fit makes of the rows of the
// subgraph's nodes.
func (t *Tables) Propagate(ctx context.Context, onS *Frozen, fit func(*graph.Dense) (*graph.Dense, error)) error {
	g, classes := t.Graph, len(t.Classes)
	for _, f := range []*Frozen{t.OnT, onS} {
		f.labels = &infer.Tables{}
		for range t.models {
			f.errors = append(f.errors, &infer.Tables{})
		}
	}
	o := solved.SpreadOptions{Classes: t.Classes, Models: len(t.models), Degree: g.HighestDegree}
	inputs := []stage.Table{g.Names, g.Degrees}
	for _, m := range t.models {
		inputs = append(inputs, m.logits)
	}
	made, err := t.run(ctx, stage.NewSpec(solved.StageSeeds, o, nil, 2), append(inputs, t.asked)...)
	for hop := 0; err == nil; hop++ {
		rows, err := t.readPicked(ctx, made[1], (1+len(t.models))*classes)
		if err != nil {
			return err
		}
		t.OnT.addHop(rows.Take(t.OnT.at), classes)
		if rows, err = fit(rows.Take(t.Subgraph.at)); err != nil {
			return err
		}
		onS.addHop(rows, classes)
		if hop+1 == propagation.Steps {
			return nil
		}
		made, err = stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageSpread, o, nil, 1),
			stage.NewSpec(solved.StageGather, o, nil, 2), g.Tiles, []stage.Table{made[0], g.Degrees},
			[]stage.Table{made[0], g.Degrees, t.asked})
		if err != nil {
			return err
		}
	}
	return err
}

// addHop adds the tables of a hop of propagation: columns of label propagation, and of each model's errors.
func (f *Frozen) addHop(rows *graph.Dense, classes int) {
	for k, to := range append([]*infer.Tables{f.labels}, f.errors...) {
		to.U = append(to.U, rows.Columns(k*classes, (k+1)*classes))
	}
}
