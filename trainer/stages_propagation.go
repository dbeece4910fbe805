package trainer

import (
	"context"
	"slices"

	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/tables"
)

// spread makes the hops of label and error propagation on S and on the nodes of T that are read: one sequence of
// hops for both kinds, all models and all α (docs/algorithm.md, section 6).
func (s *tablesHolder) spread(ctx context.Context, c *stagedGraph) error {
	if !s.options.Propagate {
		return nil
	}
	g := s.graph
	o := solved.SpreadOptions{
		Classes:  s.classes,
		Models:   len(s.models),
		Clusters: s.task.nodes,
		Degree:   g.HighestDegree,
		Entry:    c.largest,
	}
	c.labels, s.labelsOnT = &infer.Tables{}, &infer.Tables{}
	inputs := []stage.Table{g.Names, g.Degrees, c.rows}
	for _, m := range s.models {
		m.errorsOnS, m.errorsOnT = &infer.Tables{}, &infer.Tables{}
		inputs = append(inputs, m.logits)
	}
	made, err := s.run(ctx, stage.NewSpec(solved.StageSeeds, o, nil, 3), append(inputs, s.held.asked)...)
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
func (s *tablesHolder) keepHop(ctx context.Context, c *stagedGraph, o solved.SpreadOptions, made []stage.Table) error {
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
	classes := len(s.classes)
	onT, err := s.readPicked(ctx, made[2], (1+len(s.models))*classes)
	if err != nil {
		return err
	}
	add := func(k int, toS, toT *infer.Tables) { // k-th in the stages' columns
		toS.U = append(toS.U, onS.Columns(k*classes, (k+1)*classes))
		toT.U = append(toT.U, onT.Columns(k*classes, (k+1)*classes))
	}
	add(0, c.labels, s.labelsOnT)
	for k, m := range s.models {
		add(1+k, m.errorsOnS, m.errorsOnT)
	}
	return nil
}
