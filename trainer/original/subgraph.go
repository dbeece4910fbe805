package original

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// mostLabelled is the most labelled nodes with which a subgraph begins, if it is not all of T.
const mostLabelled = 1 << 14

// stagedSubgraph is the memory of the subgraph of T in which models are fitted whose layers read neighbours, unless
// [Options.Subgraph] says something else: features, and edges of 8 bytes.
const stagedSubgraph = 128 << 20

// subgraphChoice is a subgraph while it is chosen.
type subgraphChoice struct {
	*Tables
	room  int64       // nodes that there is still room for
	marks stage.Table // of nodes, by which they belong to the subgraph
	sizes stage.Table // how many belong to it in each block
	// first has, for each block with nodes of the subgraph, its number and the number of its first node. nodes is how many
	// there are in all.
	first   []int32
	nodes   int64
	degrees []float32 // of its nodes, in T
}

// BringSubgraph brings T into memory if it fits into [Options.Subgraph], else labelled nodes, the nodes that some of
// the validation nodes read, and nodes around them, up to two edges away. The nodes are in the order of the data, so
// that a T that fits is the one that a run in memory has. The data set has the held-out nodes, attached to that
// subgraph; its validation nodes have all their neighbours in it. degrees are those of the subgraph's nodes in T.
func (t *Tables) BringSubgraph(ctx context.Context) (d *dataset.Dataset, out *dataset.Original, degrees []float32,
	err error) {
	judges := t.Data.Validation
	c := &subgraphChoice{Tables: t}
	all, err := c.begin(ctx, solved.MarkOptions{All: true}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	node := float64(all.Bytes+8*t.Graph.Entries) / float64(max(1, all.Nodes)) // bytes of one
	if room := min(int64(float64(t.memory())/node), solved.MostInSubgraph); all.Nodes > room {
		if judges, err = c.sample(ctx, room); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := c.number(ctx); err != nil {
		return nil, nil, nil, err
	}
	of, err := c.bring(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	d, out = t.attached(t.part)
	out.IDs, out.Labels, out.X, out.Adj = of.IDs, of.Labels, of.X, of.Adj
	d.Validation = judges
	return d, out, c.degrees, nil
}

// memory is the subgraph's memory, in bytes.
func (t *Tables) memory() int64 { return cmp.Or(t.options.Subgraph, stagedSubgraph) }

// begin marks the nodes with which the subgraph begins: the options' nodes, and others.
func (c *subgraphChoice) begin(ctx context.Context, o solved.MarkOptions, nodes []solved.Number) (solved.SubgraphSize,
	error) {
	inputs := []stage.Table{c.Graph.Names, c.Graph.Features}
	if len(nodes) > 0 {
		asked, err := c.put(ctx, "judged", nodes)
		if err != nil {
			return solved.SubgraphSize{}, err
		}
		inputs = append(inputs, asked)
	}
	made, err := c.run(ctx, stage.NewSpec(solved.StageMark, o, nil, 2), inputs...)
	if err != nil {
		return solved.SubgraphSize{}, err
	}
	c.marks, c.sizes = made[0], made[1]
	return c.size(ctx, c.sizes)
}

// size adds up the sizes of all blocks.
func (c *subgraphChoice) size(ctx context.Context, of stage.Table) (all solved.SubgraphSize, err error) {
	records, err := c.records(ctx, of)
	if err != nil {
		return all, err
	}
	for _, r := range records {
		_, size, err := solved.ReadSubgraphSize(r)
		if err != nil {
			return all, err
		}
		all.Nodes, all.Bytes = all.Nodes+size.Nodes, all.Bytes+size.Bytes
	}
	return all, nil
}

// sample chooses a subgraph of T with room for so many nodes, and returns the judges whose neighbours are all in it.
func (c *subgraphChoice) sample(ctx context.Context, room int64) ([]int32, error) {
	judges, neighbours := c.judged(room / 4)
	if len(judges) == 0 {
		return nil, fmt.Errorf("%d bytes have no room for the neighbours of any validation node", c.memory())
	}
	o := solved.MarkOptions{Labelled: solved.SampleOf(c.options.Seed, c.Graph.Summary.Roles[partition.Train],
		min(room/8, mostLabelled))}
	size, err := c.begin(ctx, o, neighbours)
	if err != nil {
		return nil, err
	}
	c.room = room - size.Nodes
	for distance, share := range []float64{0.5, 1} { // of the remaining room
		if err := c.around(ctx, int32(distance+1), int64(share*float64(max(0, c.room)))); err != nil {
			return nil, err
		}
	}
	return judges, nil
}

// judged returns the first judges whose neighbours in T are so many together, leaving out judges with too many, and
// these neighbours.
func (c *subgraphChoice) judged(room int64) (judges []int32, neighbours []solved.Number) {
	for _, i := range c.Data.Validation {
		n := &c.held.nodes[i]
		if int64(len(n.Original)) > room {
			continue
		}
		room -= int64(len(n.Original))
		judges, neighbours = append(judges, i), append(neighbours, n.Original...)
	}
	return judges, neighbours
}

// around adds the nodes next to the subgraph, or a sample of so many.
func (c *subgraphChoice) around(ctx context.Context, distance int32, room int64) error {
	g, o := c.Graph, solved.ReachOptions{Distance: distance, Terms: c.Graph.HighestDegree}
	made, err := stage.Hop(ctx, c.engine, stage.NewSpec(solved.StageReach, o, nil, 1),
		stage.NewSpec(solved.StageNear, o, nil, 2), g.Tiles, []stage.Table{c.marks}, []stage.Table{c.marks})
	if err != nil {
		return err
	}
	found, err := c.size(ctx, made[1])
	if err != nil {
		return err
	}
	kept := solved.SampleOf(c.options.Seed+uint64(distance), found.Nodes, room)
	made, err = c.run(ctx, stage.NewSpec(solved.StageThin, solved.ThinOptions{Distance: distance, Kept: kept}, nil, 2),
		g.Names, made[0])
	if err != nil {
		return err
	}
	c.marks, c.sizes = made[0], made[1]
	c.room -= min(found.Nodes, room)
	return nil
}

// number gives the nodes of each block their numbers in the subgraph.
func (c *subgraphChoice) number(ctx context.Context) error {
	records, err := c.records(ctx, c.sizes)
	if err != nil {
		return err
	}
	for _, r := range records {
		block, size, err := solved.ReadSubgraphSize(r)
		if err != nil {
			return err
		}
		c.first = append(c.first, int32(block), int32(c.nodes))
		c.nodes += size.Nodes
	}
	if c.nodes > solved.MostInSubgraph {
		return fmt.Errorf("it has %d nodes, want %d at most", c.nodes, solved.MostInSubgraph)
	}
	return nil
}

// bring brings the nodes of the subgraph with the edges among them, and sets their numbers and degrees.
func (c *subgraphChoice) bring(ctx context.Context) (*dataset.Original, error) {
	index := c.classIndex()
	out, parts := &dataset.Original{}, []graph.Features{}
	var numbers []solved.Number
	var degrees []float32
	var rows []int64 // of the data
	err := c.eachBrought(ctx, func(block int64, some *solved.Brought) {
		for k, place := range some.Places {
			label := int32(-1)
			if of, known := index[some.Names.Labels[k]]; known && some.Names.Roles[k] == partition.Train {
				label = of
			}
			out.IDs, out.Labels = append(out.IDs, some.Names.IDs[k]), append(out.Labels, label)
			numbers = append(numbers, solved.Number{Block: block, Place: place})
			degrees, rows = append(degrees, float32(some.Degrees[k])), append(rows, some.Names.Rows[k])
		}
		parts = append(parts, some.X)
	})
	if err != nil {
		return nil, err
	}
	if int64(len(numbers)) != c.nodes {
		return nil, fmt.Errorf("%d nodes were brought, %d counted", len(numbers), c.nodes)
	}
	adj, err := c.links(ctx)
	if err != nil {
		return nil, err
	}
	order := graph.Indices(len(rows))
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(rows[a], rows[b]), cmp.Compare(a, b)) })
	out.Adj = adj.Submatrix(order, graph.Places(order, len(order)), len(order))
	for k := range order {
		cols, _ := out.Adj.Row(k)
		slices.Sort(cols)
	}
	out.X = stackedFeatures(parts).Take(order)
	out.IDs, out.Labels = graph.Pick(out.IDs, order), graph.Pick(out.Labels, order)
	c.part, c.degrees = graph.Pick(numbers, order), graph.Pick(degrees, order)
	return out, nil
}

// eachBrought brings the marked nodes, block by block.
func (c *subgraphChoice) eachBrought(ctx context.Context, take func(block int64, some *solved.Brought)) error {
	made, err := c.run(ctx, stage.NewSpec(solved.StageBring, struct{}{}, nil, 1), c.Graph.Names, c.Graph.Features, c.marks,
		c.Graph.Degrees)
	if err != nil {
		return err
	}
	for r, err := range c.engine.Read(ctx, made[0]) {
		if err != nil {
			return err
		}
		some, err := solved.ReadBrought(r.Payload)
		if err != nil {
			return err
		}
		take(r.Key, some)
	}
	return nil
}

// links brings the edges among the nodes of the subgraph.
func (c *subgraphChoice) links(ctx context.Context) (*graph.CSR, error) {
	sides := stage.Sides{solved.SideFirst: wire.AppendInts(nil, c.first)}
	made, err := c.run(ctx, stage.NewSpec(solved.StageNumber, struct{}{}, sides, 1), c.marks)
	if err != nil {
		return nil, err
	}
	one := []stage.Table{made[0]}
	made, err = stage.Hop(ctx, c.engine, stage.NewSpec(solved.StageMeet, struct{}{}, nil, 1),
		stage.NewSpec(solved.StageLink, struct{}{}, nil, 1), c.Graph.Tiles, one, one)
	if err != nil {
		return nil, err
	}
	n := int(c.nodes)
	adj := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, 1, n+1)}
	for r, err := range c.engine.Read(ctx, made[0]) {
		if err == nil {
			err = solved.EachLinks(r.Payload, func(neighbours []int32) {
				adj.ColIdx = append(adj.ColIdx, neighbours...)
				adj.RowPtr = append(adj.RowPtr, len(adj.ColIdx))
			})
		}
		if err != nil {
			return nil, err
		}
	}
	if len(adj.RowPtr) != n+1 {
		return nil, fmt.Errorf("edges of %d nodes were brought, of %d asked for", len(adj.RowPtr)-1, n)
	}
	return adj, nil
}

// Neighbours returns, of nodes that are held out, the ids of their neighbours in T, and how many neighbours there are
// in all.
func (t *Tables) Neighbours(ctx context.Context, nodes []int32) (ids [][]string, degrees []int, err error) {
	var of []solved.Number
	for _, i := range nodes {
		of = append(of, t.held.nodes[i].Original...)
	}
	names := map[solved.Number]string{}
	if len(of) > 0 {
		c := &subgraphChoice{Tables: t}
		if _, err := c.begin(ctx, solved.MarkOptions{}, of); err != nil {
			return nil, nil, err
		}
		if err := c.eachBrought(ctx, func(block int64, some *solved.Brought) {
			for k, place := range some.Places {
				names[solved.Number{Block: block, Place: place}] = some.Names.IDs[k]
			}
		}); err != nil {
			return nil, nil, err
		}
	}
	for _, i := range nodes {
		var of []string
		for _, j := range t.held.nodes[i].Original {
			of = append(of, names[j])
		}
		ids, degrees = append(ids, of), append(degrees, len(of)+len(t.held.nodes[i].Other))
	}
	return ids, degrees, nil
}
