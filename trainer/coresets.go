package trainer

import (
	"context"

	"rivulet/trainer/condense"
)

// Coresets: their files in package condense say how each chooses nodes of T.

func (t *task) condenseRandom(ctx context.Context, _ []*fitted, _ Progress) (condensed, error) {
	return t.onGraph(condense.Random(t.material(), t.rng(purposeClusters))), ctx.Err()
}

func (t *task) condenseDegree(ctx context.Context, _ []*fitted, _ Progress) (condensed, error) {
	return t.onGraph(condense.Degree(t.material())), ctx.Err()
}

func (t *task) condenseHerding(ctx context.Context, _ []*fitted, _ Progress) (condensed, error) {
	return t.onGraph(condense.Herding(t.material())), ctx.Err()
}

func (t *task) condenseKCenter(ctx context.Context, _ []*fitted, _ Progress) (condensed, error) {
	return t.onGraph(condense.KCenter(t.material())), ctx.Err()
}

// material is T as the methods of package condense see it.
func (t *task) material() condense.Input {
	return condense.Input{Adj: t.original.Adj, X: t.x, Points: t.points(), Labels: t.original.Labels, Share: t.share}
}
