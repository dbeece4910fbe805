package trainer

import (
	"context"

	"rivulet/graph"
)

// condenseSolved does docs/algorithm.md, section 5: one M for all models, solved for their messages.
func (t *task) condenseSolved(ctx context.Context, whole []*fitted, progress Progress) (condensed, error) {
	return t.newClustering(solveRows).make(ctx, models(whole), progress)
}

func solveRows(c *clustered) *graph.CSR { return c.dictionary().Solve(c.options.Entries) }
