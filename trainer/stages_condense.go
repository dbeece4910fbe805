package trainer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/trainer/condense"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// condense makes S and M (docs/algorithm.md, section 5), and the tables of propagation.
func (s *tablesHolder) condense(ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
	c := &stagedGraph{
		task:       s.task,
		graphParts: graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}},
		models:     s.models,
	}
	clusters, sizes, err := s.cluster(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Adj, err = s.adjacency(ctx, clusters, sizes); err != nil {
		return nil, err
	}
	if err := s.tablesOnT(ctx); err != nil {
		return nil, err
	}
	of, err := s.messages(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.means(ctx, c, of, clusters, sizes); err != nil {
		return nil, err
	}
	if err := s.solve(ctx, c, of); err != nil {
		return nil, err
	}
	if c.M, err = s.pickMapping(ctx, c.rows); err != nil {
		return nil, err
	}
	return c, s.spread(ctx, c)
}

// cluster divides the labelled rows into clusters and has all nodes join them: the table of clusters and their
// sizes.
func (s *tablesHolder) cluster(ctx context.Context, c *stagedGraph) (stage.Table, []int64, error) {
	t, g := s.task, s.graph
	points := s.labelled.x
	preparing, sides, _ := s.hopping()
	if s.basis != nil && !s.projected() {
		points = gemm.Mul(gemm.Of(points), gemm.Of(s.basis))
		sides[solved.SideBasis] = solved.AppendMatrix(s.basis)
	}
	labels, order := s.labelled.inOrder(points) // k-means begins with rows in the order of the data, as in memory
	of := condense.Cluster(points, labels, t.share, t.rng(purposeClusters))
	centres := graph.Mul(of.Membership(), points)
	for k := range centres.Data {
		centres.Data[k] /= s.pre.Scale // stages have points without the scale
	}
	c.Labels = of.Labels
	clusters := make([]int32, len(order))
	for k, i := range order {
		clusters[i] = of.Of[k]
	}
	of.Of = clusters
	sides[solved.SideCentres] = solved.AppendMatrix(centres)
	sides[solved.SideClasses] = solved.AppendInts(of.Labels)
	s.labelled.x = nil // only its clusters are still needed
	assigned, err := s.assigned(ctx, of, sides)
	if err != nil {
		return stage.Table{}, nil, err
	}
	spec := stage.NewSpec(solved.StageJoin, solved.JoinOptions{FeatureScaling: preparing, Classes: s.classes}, sides, 2)
	made, err := s.run(ctx, spec, g.Names, g.Features, g.Degrees, s.s1, s.s2, assigned, s.models[0].logits)
	if err != nil {
		return stage.Table{}, nil, err
	}
	records, err := s.records(ctx, made[1])
	if err != nil {
		return stage.Table{}, nil, err
	}
	sizes := make([]int64, t.nodes)
	for _, r := range records {
		for k, n := range solved.ReadInts(r.Payload) {
			sizes[k] += int64(n)
		}
	}
	return made[0], sizes, nil
}

// assigned stores the clusters of the labelled rows. They follow from the centres and the rows.
func (s *tablesHolder) assigned(ctx context.Context, of *condense.Clusters, sides stage.Sides) (stage.Table, error) {
	var records []stage.Record
	for k, node := range s.labelled.nodes {
		if n := len(records); n == 0 || records[n-1].Key != node.Block {
			records = append(records, stage.Record{Key: node.Block})
		}
		last := &records[len(records)-1]
		last.Payload = solved.AppendAssigned(last.Payload, node.Place, of.Of[k])
	}
	name := stage.NewSpec("assigned", s.options.Seed, sides, 1).Table(0, s.s2.Name)
	return s.engine.Put(ctx, name, records)
}

// adjacency is A': edges between clusters over √(size·size).
func (s *tablesHolder) adjacency(ctx context.Context, clusters stage.Table, sizes []int64) (*graph.CSR, error) {
	one := []stage.Table{clusters}
	made, err := stage.Hop(ctx, s.engine, stage.NewSpec(solved.StageMeet, struct{}{}, nil, 1),
		stage.NewSpec(solved.StageCount, struct{}{}, nil, 1), s.graph.Tiles, one, one)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, made[0])
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
func (s *tablesHolder) means(ctx context.Context, c *stagedGraph, of *messageInputs, clusters stage.Table,
	sizes []int64) error {
	sides := s.with(of.sides)
	sides[solved.SideLargest] = solved.AppendDoubles(s.bounds)
	spec := stage.NewSpec(solved.StageMeans,
		solved.MeanOptions{FeatureScaling: s.preparing, MessageOptions: of.MessageOptions},
		sides, 1)
	made, err := s.run(ctx, spec, append(slices.Clone(of.inputs), s.graph.Features, clusters)...)
	if err != nil {
		return err
	}
	records, err := s.records(ctx, made[0])
	if err != nil {
		return err
	}
	if c.X, c.dictionary, err = solved.ClusterMeans(spec, records, sizes); err != nil {
		return err
	}
	for k := range c.X.Data {
		c.X.Data[k] *= s.pre.Scale
	}
	return nil
}

// solve makes M and the tables of S.
func (s *tablesHolder) solve(ctx context.Context, c *stagedGraph, of *messageInputs) error {
	g, o := s.graph, of.MessageOptions
	o.Entries = s.options.Entries
	sides := maps.Clone(of.sides)
	sides[solved.SideDictionary] = solved.AppendMatrix(c.dictionary)
	spec := stage.NewSpec(solved.StageSolve, o, sides, 2)
	made, err := s.run(ctx, spec, of.inputs...)
	if err != nil {
		return err
	}
	c.rows = made[0]
	records, err := s.records(ctx, made[1])
	if err != nil {
		return err
	}
	var size solved.MappingSize
	for _, r := range records {
		if err := size.Add(r.Payload); err != nil {
			return err
		}
	}
	if size.Rows != g.Nodes {
		return fmt.Errorf("M has %d rows for %d nodes", size.Rows, g.Nodes)
	}
	c.stored, c.largest = s.stored(ctx, c.rows), size.Largest
	c.size = artifact.MappingInfo{Rows: int(size.Rows), Entries: int(size.Entries), MaxPerRow: size.Longest}
	o.Entry = size.Largest
	spec = stage.NewSpec(solved.StageNormal, o, of.sides, 2)
	if made, err = s.run(ctx, spec, append(slices.Clone(of.inputs), c.rows)...); err != nil {
		return err
	}
	matrix, err := s.records(ctx, made[0])
	if err != nil {
		return err
	}
	right, err := s.records(ctx, made[1])
	if err != nil {
		return err
	}
	normal, added, err := solved.NormalEquations(spec, matrix, right)
	if err != nil {
		return err
	}
	c.normal = slices.Clone(normal) // of which solving makes its own
	return s.synthetic(normal, added)
}
