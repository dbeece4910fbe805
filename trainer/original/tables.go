package original

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// Options are the choices of a run that its tables depend on.
type Options struct {
	Seed uint64
	// Subgraph is the memory of a subgraph of T in bytes; 0: 128 MB.
	Subgraph int64
	// Propagate has [Tables.Walk] keep the logits of T's nodes, which [Tables.Propagate] reads.
	Propagate bool
}

// Tables is T as tables of an engine, and the parts of it that a run has brought into memory.
type Tables struct {
	engine  stage.Engine
	source  RowData
	options Options

	Graph       *partition.Graph
	Fingerprint string
	Classes     []string
	// Pre is the preprocessing, which the run fits in a subgraph of T or takes from an artifact.
	Pre *preprocess.Parameters

	// Data are the nodes held out, numbered first, and behind them the nodes of T to which they have edges. Original
	// has of these only their number.
	Data     *dataset.Dataset
	Original *dataset.Original
	held     *heldOutNodes
	part     []solved.Number // the nodes of the subgraph, in its order; nil before there is one

	// nodes of T whose rows are brought to the run, ascending: those of Original and of the subgraph
	brought  []solved.Number
	asked    stage.Table // the same, by block
	models   []*model
	OnT      *Frozen // tables of the nodes of Original
	Subgraph *Frozen // and of the nodes of the subgraph
}

// Read makes the tables of the graph, and brings the nodes that are held out.
func Read(ctx context.Context, e stage.Engine, d RowData, o Options) (*Tables, error) {
	t := &Tables{engine: e, source: d, options: o}
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	return t, t.holdOut(ctx)
}

// read makes the tables of the graph.
func (t *Tables) read(ctx context.Context) (err error) {
	blocks := partition.Blocks(t.source.Count, t.source.Features)
	if t.Graph, err = partition.Read(ctx, t.engine, t.source.Nodes, t.source.Edges,
		partition.BlockOptions{Blocks: blocks, DropUnknown: t.source.dropUnknown}); err != nil {
		return err
	}
	g := t.Graph
	if g.Unknown > 0 && g.Entries == 0 {
		return fmt.Errorf("no edge between nodes of T is left: %d edges are to or from ids that no node has: "+
			"are the ids of both tables written in one form?", g.Unknown)
	}
	for role, name := range map[partition.Role]string{partition.Train: "training", partition.Validation: "validation"} {
		if g.Summary.Roles[role] == 0 {
			return fmt.Errorf("no %s nodes", name)
		}
	}
	t.Classes = g.Summary.AllClasses(t.source.Classes)
	_, records, err := t.sums(ctx, stage.NewSpec(partition.StagePrint, struct{}{}, nil, 1), 0, g.Names, g.Features,
		g.HeldFeatures, g.Tiles, g.Held)
	t.Fingerprint = partition.Fingerprint(blocks, records)
	return err
}

func (t *Tables) run(ctx context.Context, spec stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	return t.engine.Run(ctx, spec, inputs...)
}

// sums runs a stage, of whose outputs one is small: it returns that one's records, too.
func (t *Tables) sums(ctx context.Context, spec stage.Spec, small int, inputs ...stage.Table) ([]stage.Table,
	[]stage.Record, error) {
	made, err := t.run(ctx, spec, inputs...)
	if err != nil {
		return nil, nil, err
	}
	records, err := t.records(ctx, made[small])
	return made, records, err
}

// records are the records of a small table.
func (t *Tables) records(ctx context.Context, from stage.Table) ([]stage.Record, error) {
	var out []stage.Record
	for r, err := range t.engine.Read(ctx, from) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// classIndex maps the names of classes to their numbers.
func (t *Tables) classIndex() map[string]int32 {
	index := make(map[string]int32, len(t.Classes))
	for k, name := range t.Classes {
		index[name] = int32(k)
	}
	return index
}

// put stores places of blocks as a table, whose name depends on them.
func (t *Tables) put(ctx context.Context, name string, nodes []solved.Number) (stage.Table, error) {
	of := map[int64][]int32{}
	for _, n := range nodes {
		of[n.Block] = append(of[n.Block], n.Place)
	}
	var records []stage.Record
	sides := stage.Sides{}
	for _, block := range slices.Sorted(maps.Keys(of)) {
		slices.Sort(of[block])
		r := stage.Record{Key: block, Payload: wire.AppendInts(nil, slices.Compact(of[block]))}
		records, sides[fmt.Sprint(block)] = append(records, r), r.Payload
	}
	return t.engine.Put(ctx, stage.NewSpec(name, struct{}{}, sides, 1).Table(0, t.Graph.Names.Name), records)
}

// ask notes the nodes of T whose rows are brought, and returns for each list the places of its nodes among them.
func (t *Tables) ask(ctx context.Context, lists ...[]solved.Number) (places [][]int32, err error) {
	t.brought = slices.Concat(lists...)
	slices.SortFunc(t.brought, solved.Number.Compare)
	t.brought = slices.Compact(t.brought)
	for _, list := range lists {
		of := make([]int32, len(list))
		for k, n := range list {
			at, _ := slices.BinarySearchFunc(t.brought, n, solved.Number.Compare)
			of[k] = int32(at)
		}
		places = append(places, of)
	}
	t.asked, err = t.put(ctx, "asked", t.brought)
	return places, err
}

// pick returns rows of dense tables, side by side, of the nodes whose rows are brought. They have so many columns
// together.
func (t *Tables) pick(ctx context.Context, columns int, of ...stage.Table) (*graph.Dense, error) {
	made, err := t.run(ctx, stage.NewSpec(solved.StagePick, struct{}{}, nil, 1), append([]stage.Table{t.asked}, of...)...)
	if err != nil {
		return nil, err
	}
	return t.readPicked(ctx, made[0], columns)
}

// readPicked reads a row of each node whose row is brought.
func (t *Tables) readPicked(ctx context.Context, from stage.Table, columns int) (*graph.Dense, error) {
	out, at := graph.NewDense(len(t.brought), columns), 0
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
	return out, t.all(at)
}

// inOrder checks that places of a block are the nodes from at on whose rows are brought, and returns the next.
func (t *Tables) inOrder(block int64, places []int32, at int) (int, error) {
	for _, place := range places {
		if at >= len(t.brought) || t.brought[at] != (solved.Number{Block: block, Place: place}) {
			return at, fmt.Errorf("block %d, place %d was brought and not asked for", block, place)
		}
		at++
	}
	return at, nil
}

// all checks that as many rows were brought as were asked for.
func (t *Tables) all(rows int) error {
	if rows != len(t.brought) {
		return fmt.Errorf("rows of %d nodes were brought, %d asked for", rows, len(t.brought))
	}
	return nil
}
