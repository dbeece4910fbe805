package consumer

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Forgetter removes rows of M and stored features by the ids of arrivals.
type Forgetter interface {
	// Forget removes the rows of M and the features of ids, and returns for how many of them there were some. It may be
	// called again.
	Forget(ctx context.Context, ids []string) (known int, err error)
}

// store removes the rows of the ids that the batch forgets, and writes its arrivals' rows. It is called when the
// batch's turn to be published has come, so that of each id the last published record of its partition decides.
func (p *Pipeline) store(ctx context.Context, version Version, b *batch, stats *BatchStats) error {
	if err := p.forgetIDs(ctx, b, stats); err != nil {
		return err
	}
	return p.keep(ctx, version, &b.growth)
}

// forgetIDs removes the rows and features of the ids that the batch forgets. In a consumer it tries again until that is
// done: no outage lets an id stay.
func (p *Pipeline) forgetIDs(ctx context.Context, b *batch, stats *BatchStats) error {
	ids := slices.Sorted(maps.Keys(b.decoded.forgets))
	if p.Forget == nil || len(ids) == 0 {
		return nil
	}
	stats.Forgets = len(ids)
	return p.untilStored(ctx, func() (err error) {
		if stats.Forgotten, err = p.Forget.Forget(ctx, ids); err != nil {
			return fmt.Errorf("forgetting %d ids: %w", len(ids), err)
		}
		return nil
	})
}
