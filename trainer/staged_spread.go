package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/tables"
)

// spread makes the hops of label and error propagation on S and on the nodes of T that are read: one sequence of
// hops for both kinds and all α (docs/algorithm.md, section 6).
func (s *staged) spread(ctx context.Context, c *stagedGraph) error {
	if !s.options.Propagate {
		return nil
	}
	g := s.graph
	o := solved.SpreadOptions{
		Preparing: s.preparing,
		Classes:   s.classes,
		Clusters:  s.task.nodes,
		Degree:    g.HighestDegree,
		Entry:     c.size.Largest,
	}
	c.hops = map[string]*infer.Tables{infer.PropagateLabels: {}, infer.PropagateErrors: {}}
	c.hopsOnT = map[string]*infer.Tables{infer.PropagateLabels: {}, infer.PropagateErrors: {}}
	sides := s.weights(stage.Sides{solved.SideBias: solved.AppendVector(s.whole.model.Layers[0].Bias)})
	made, err := s.run(ctx, stage.NewSpec(solved.StageSeeds, o, sides, 3), g.Names, g.Features, g.Degrees, s.s1,
		s.s2, c.rows, s.held.asked)
	if err != nil {
		return err
	}
	for t := 0; ; t++ {
		if err := s.keepHop(ctx, c, o, made); err != nil || t+1 == infer.PropagationSteps {
			return err
		}
		made, err = stage.Hop(ctx, s.engine, stage.NewSpec(solved.StageSpread, o, nil, 1),
			stage.NewSpec(solved.StageGather, o, nil, 3), g.Tiles, []stage.Table{made[0], g.Degrees},
			[]stage.Table{made[0], g.Degrees, c.rows, s.held.asked})
		if err != nil {
			return err
		}
	}
}

// keepHop adds the tables of a hop on S and on the nodes of T that are read.
func (s *staged) keepHop(ctx context.Context, c *stagedGraph, o solved.SpreadOptions, made []stage.Table) error {
	records, err := s.records(ctx, made[1])
	if err != nil {
		return err
	}
	right, err := solved.SpreadRight(o, records)
	if err != nil {
		return err
	}
	onS, err := tables.Solve(slices.Clone(c.normal), right, s.task.nodes)
	if err != nil {
		return err
	}
	onT, err := s.readSpread(ctx, made[2])
	if err != nil {
		return err
	}
	classes := len(s.classes)
	for k, kind := range propagationKinds { // in the order of the stages' columns
		for to, from := range map[*infer.Tables]*graph.Dense{c.hops[kind]: onS, c.hopsOnT[kind]: onT} {
			to.U = append(to.U, columnsOf(from, k*classes, classes))
		}
	}
	return nil
}

// readSpread reads the rows of a table of propagation of the nodes of T that are read.
func (s *staged) readSpread(ctx context.Context, t stage.Table) (*graph.Dense, error) {
	out := graph.NewDense(len(s.held.original), 2*len(s.classes))
	at := 0
	for r, err := range s.engine.Read(ctx, t) {
		if err != nil {
			return nil, err
		}
		places, u, err := solved.ReadSpread(r.Payload)
		if err != nil {
			return nil, err
		}
		for k, place := range places {
			if at >= out.Rows || s.held.original[at] != (solved.Number{Block: r.Key, Place: place}) {
				return nil, fmt.Errorf("block %d, place %d was spread to and not asked for", r.Key, place)
			}
			copy(out.Row(at), u.Row(k))
			at++
		}
	}
	if at != out.Rows {
		return nil, fmt.Errorf("%d nodes were spread to, %d asked for", at, out.Rows)
	}
	return out, nil
}
