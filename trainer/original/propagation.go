package original

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
func (t *Tables) spread(ctx context.Context, c *Synthetic) error {
	if !t.options.Propagate {
		return nil
	}
	g := t.Graph
	o := solved.SpreadOptions{Classes: t.Classes, Models: len(t.models), Clusters: c.clusters, Degree: g.HighestDegree,
		Entry: c.largest}
	for _, side := range []*Frozen{t.OnT, t.OnS} {
		side.labels, side.errors = &infer.Tables{}, make([]*infer.Tables, len(t.models))
		for k := range side.errors {
			side.errors[k] = &infer.Tables{}
		}
	}
	inputs := []stage.Table{g.Names, g.Degrees, c.rows}
	for _, m := range t.models {
		inputs = append(inputs, m.logits)
	}
	made, err := t.run(ctx, stage.NewSpec(solved.StageSeeds, o, nil, 3), append(inputs, t.held.asked)...)
	if err != nil {
		return err
	}
	for hop := 0; ; hop++ {
		if err := t.keepHop(ctx, c, o, made); err != nil || hop+1 == infer.PropagationSteps {
			return err
		}
		made, err = stage.Hop(ctx, t.engine, stage.NewSpec(solved.StageSpread, o, nil, 1),
			stage.NewSpec(solved.StageGather, o, nil, 3), g.Tiles, []stage.Table{made[0], g.Degrees},
			[]stage.Table{made[0], g.Degrees, c.rows, t.held.asked})
		if err != nil {
			return err
		}
	}
}

// keepHop adds the tables of a hop on S and on the nodes of T that are read.
func (t *Tables) keepHop(ctx context.Context, c *Synthetic, o solved.SpreadOptions, made []stage.Table) error {
	records, err := t.records(ctx, made[1])
	if err != nil {
		return err
	}
	right, err := solved.SpreadRight(o, records)
	if err != nil {
		return err
	}
	onS, err := tables.Solve(slices.Clone(c.normal), right, c.clusters)
	if err != nil {
		return err
	}
	classes := len(t.Classes)
	onT, err := t.readPicked(ctx, made[2], (1+len(t.models))*classes)
	if err != nil {
		return err
	}
	add := func(k int, toS, toT *infer.Tables) { // k-th in the stages' columns
		toS.U = append(toS.U, onS.Columns(k*classes, (k+1)*classes))
		toT.U = append(toT.U, onT.Columns(k*classes, (k+1)*classes))
	}
	add(0, t.OnS.labels, t.OnT.labels)
	for k := range t.models {
		add(1+k, t.OnS.errors[k], t.OnT.errors[k])
	}
	return nil
}
