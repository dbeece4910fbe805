package trainer

import (
	"context"

	"rivulet/graph"
	"rivulet/trainer/condense"
)

// condenseClusters makes solved's S with M = one-hot cluster membership (docs/algorithm.md, section 7).
func (t *task) condenseClusters(ctx context.Context, whole []*fitted, progress Progress) (condensed, error) {
	return t.newClustering(membershipRows).make(ctx, models(whole), progress)
}

func membershipRows(c *clustered) *graph.CSR { return condense.MembershipMapping(c.joined) }
