package original

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/condense"
	"rivulet/trainer/plane"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/wire"
)

// Synthetic is S, with M in tables.
type Synthetic struct {
	artifact.Synthetic
	M          *graph.CSR                   // rows of the nodes of T that are read
	Dictionary *graph.Dense                 // the messages of clusters
	Rows       iter.Seq2[plane.Rows, error] // all of M, a block at a time, as long as the engine is open
	Size       artifact.MappingInfo

	clusters int         // N'
	rows     stage.Table // all of M
	largest  float32     // number in M
	normal   []float64   // the upper triangle of MᵀwM
}

// Condense makes S and M (docs/algorithm.md, section 5) for the models that were walked, and the tables of propagation.
// cluster divides labelled points, which are in the order of the data, into clusters.
func (t *Tables) Condense(ctx context.Context,
	cluster func(points *graph.Dense, labels []int32) *condense.Clusters) (*Synthetic, error) {
	c := &Synthetic{}
	clusters, sizes, err := t.cluster(ctx, c, cluster)
	if err != nil {
		return nil, err
	}
	if c.Adj, err = t.adjacency(ctx, clusters, sizes); err != nil {
		return nil, err
	}
	if err := t.Pick(ctx); err != nil {
		return nil, err
	}
	of, err := t.messages(ctx, c.clusters)
	if err != nil {
		return nil, err
	}
	if err := t.means(ctx, c, of, clusters, sizes); err != nil {
		return nil, err
	}
	if err := t.solve(ctx, c, of); err != nil {
		return nil, err
	}
	if c.M, err = t.pickMapping(ctx, c); err != nil {
		return nil, err
	}
	return c, t.spread(ctx, c)
}

// cluster divides the labelled rows into clusters and has all nodes join them: the table of clusters and their
// sizes.
func (t *Tables) cluster(ctx context.Context, c *Synthetic,
	cluster func(points *graph.Dense, labels []int32) *condense.Clusters) (stage.Table, []int64, error) {
	g := t.Graph
	points := t.Labelled.X
	preparing, sides, _ := t.hopping()
	if t.basis != nil && !t.Projected() {
		points = gemm.Mul(gemm.Of(points), gemm.Of(t.basis))
		sides[solved.SideBasis] = wire.AppendDense(nil, t.basis)
	}
	labels, order := t.Labelled.inOrder(points) // k-means begins with rows in the order of the data, as in memory
	of := cluster(points, labels)
	centres := graph.Mul(of.Membership(), points)
	for k := range centres.Data {
		centres.Data[k] /= t.Pre.Scale // stages have points without the scale
	}
	c.Labels, c.clusters = of.Labels, len(of.Labels)
	clusters := make([]int32, len(order))
	for k, i := range order {
		clusters[i] = of.Of[k]
	}
	of.Of = clusters
	sides[solved.SideCentres] = wire.AppendDense(nil, centres)
	sides[solved.SideClasses] = wire.AppendInts(nil, of.Labels)
	t.Labelled.X = nil // only its clusters are still needed
	assigned, err := t.assigned(ctx, of, sides)
	if err != nil {
		return stage.Table{}, nil, err
	}
	spec := stage.NewSpec(solved.StageJoin, solved.JoinOptions{FeatureScaling: preparing, Classes: t.Classes}, sides, 2)
	made, records, err := t.sums(ctx, spec, 1, g.Names, g.Features, g.Degrees, t.s1, t.s2, assigned, t.models[0].logits)
	if err != nil {
		return stage.Table{}, nil, err
	}
	sizes := make([]int64, c.clusters)
	for _, r := range records {
		for k, n := range wire.ReadInts(r.Payload) {
			sizes[k] += int64(n)
		}
	}
	return made[0], sizes, nil
}

// assigned stores the clusters of the labelled rows. They follow from the centres and the rows.
func (t *Tables) assigned(ctx context.Context, of *condense.Clusters, sides stage.Sides) (stage.Table, error) {
	var records []stage.Record
	for k, node := range t.Labelled.nodes {
		if n := len(records); n == 0 || records[n-1].Key != node.Block {
			records = append(records, stage.Record{Key: node.Block})
		}
		last := &records[len(records)-1]
		last.Payload = solved.AppendAssigned(last.Payload, node.Place, of.Of[k])
	}
	name := stage.NewSpec("assigned", t.options.Seed, sides, 1).Table(0, t.s2.Name)
	return t.engine.Put(ctx, name, records)
}

// adjacency is A': edges between clusters over √(size·size).
func (t *Tables) adjacency(ctx context.Context, clusters stage.Table, sizes []int64) (*graph.CSR, error) {
	one := []stage.Table{clusters}
	made, err := stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageMeet, struct{}{}, nil, 1),
		stage.NewSpec(solved.StageCount, struct{}{}, nil, 1), t.Graph.Tiles, one, one)
	if err != nil {
		return nil, err
	}
	records, err := t.records(ctx, made[0])
	if err != nil {
		return nil, err
	}
	n := len(sizes)
	counts := make([]int64, n*n)
	for _, r := range records {
		if err := solved.Meetings(r.Payload, func(a, b int32, k int64) { counts[int(a)*n+int(b)] += k }); err != nil {
			return nil, err
		}
	}
	out := &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1), Val: []float32{}}
	for a := range n {
		for b := range n {
			if count := counts[a*n+b]; a != b && count > 0 {
				out.ColIdx = append(out.ColIdx, int32(b))
				out.Val = append(out.Val, float32(float64(count)/math.Sqrt(float64(sizes[a])*float64(sizes[b]))))
			}
		}
		out.RowPtr[a+1] = len(out.ColIdx)
	}
	return out, nil
}

// means makes X' and the dictionary.
func (t *Tables) means(ctx context.Context, c *Synthetic, of *messageInputs, clusters stage.Table,
	sizes []int64) error {
	sides := t.with(of.sides)
	sides[solved.SideLargest] = wire.AppendDoubles(nil, t.bounds)
	o := solved.MeanOptions{FeatureScaling: t.preparing, MessageOptions: of.MessageOptions}
	_, records, err := t.sums(ctx, stage.NewSpec(solved.StageMeans, o, sides, 1), 0,
		append(slices.Clone(of.inputs), t.Graph.Features, clusters)...)
	if err != nil {
		return err
	}
	if c.X, c.Dictionary, err = solved.ClusterMeans(o, sides, records, sizes); err != nil {
		return err
	}
	for k := range c.X.Data {
		c.X.Data[k] *= t.Pre.Scale
	}
	return nil
}

// solve makes M and the tables of S.
func (t *Tables) solve(ctx context.Context, c *Synthetic, of *messageInputs) error {
	g, o := t.Graph, of.MessageOptions
	o.Entries = t.options.Entries
	sides := maps.Clone(of.sides)
	sides[solved.SideDictionary] = wire.AppendDense(nil, c.Dictionary)
	made, records, err := t.sums(ctx, stage.NewSpec(solved.StageSolve, o, sides, 2), 1, of.inputs...)
	if err != nil {
		return err
	}
	c.rows = made[0]
	var size solved.MappingSize
	for _, r := range records {
		if err := size.Add(r.Payload); err != nil {
			return err
		}
	}
	if size.Rows != g.Nodes {
		return fmt.Errorf("M has %d rows for %d nodes", size.Rows, g.Nodes)
	}
	c.Rows, c.largest = t.stored(ctx, c), size.Largest
	c.Size = artifact.MappingInfo{Rows: int(size.Rows), Entries: int(size.Entries), MaxPerRow: size.Longest}
	o.Entry = size.Largest
	made, matrix, err := t.sums(ctx, stage.NewSpec(solved.StageNormal, o, of.sides, 2), 0,
		append(slices.Clone(of.inputs), c.rows)...)
	if err != nil {
		return err
	}
	right, err := t.records(ctx, made[1])
	if err != nil {
		return err
	}
	normal, added, err := solved.NormalEquations(o, of.sides, matrix, right)
	if err != nil {
		return err
	}
	c.normal = slices.Clone(normal) // solving makes its own of it
	return t.synthetic(c.clusters, normal, added)
}
