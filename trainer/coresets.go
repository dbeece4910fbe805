package trainer

import (
	"context"
	"math/rand/v2"

	"rivulet/trainer/condense"
)

// Coresets: see their files in package condense for the way in which each chooses nodes of T.

// chooser is a coreset of package condense.
type chooser func(condense.Input, *rand.Rand) *condense.Condensation

// coreset returns the method with this chooser.
func coreset(choose chooser) maker {
	return func(t *task, ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
		return t.onGraph(choose(t.material(), t.rng(purposeClusters))), ctx.Err()
	}
}

// material returns T in the form that the methods of package condense take.
func (t *task) material() condense.Input {
	return condense.Input{Adj: t.original.Adj, X: t.x, Points: t.points(), Labels: t.original.Labels,
		Share: t.share}
}
