package trainer

import (
	"context"
	"math/rand/v2"

	"rivulet/trainer/condense"
)

// Coresets: their files in package condense say how each chooses nodes of T.

// chooser is a coreset of package condense.
type chooser func(condense.Input, *rand.Rand) *condense.Condensed

// coreset is the method that chooses so.
func coreset(choose chooser) func(*task, context.Context, []*fitted, Progress) (condensed, error) {
	return func(t *task, ctx context.Context, _ []*fitted, _ Progress) (condensed, error) {
		return t.onGraph(choose(t.material(), t.rng(purposeClusters))), ctx.Err()
	}
}

// material is T as the methods of package condense see it.
func (t *task) material() condense.Input {
	return condense.Input{Adj: t.original.Adj, X: t.x, Points: t.points(), Labels: t.original.Labels, Share: t.share}
}
