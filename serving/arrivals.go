package serving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/mapping"
)

// GrowthOptions say whether arrivals get rows of M of their own, and how these are kept.
type GrowthOptions struct {
	// On has them get rows. The artifact must keep what they are solved against, and attachment must be frozen.
	On bool
	// TTL is how long a row is kept at least; it is kept at most twice as long. 0: as long as its version.
	TTL time.Duration
	// MaxRows is how many rows of arrivals a version has at most, at least 1.
	MaxRows int
	// Degrade leaves rows out while Redis is down, instead of failing.
	Degrade bool
	// Now is the time.
	Now func() time.Time
}

// cacheShare is the part of the memory for rows of M that rows of arrivals may take besides.
const cacheShare = 8

// growing is what a version needs to give arrivals rows; none of it where they get none.
type growing struct {
	grower   *infer.Grower
	arrivals *mapping.ArrivalRows
	guard    *mapping.Guard
	degrade  bool
}

// prepareGrowth makes what rows of arrivals are solved by.
func (v *Version) prepareGrowth(b *artifact.Bundle, o GrowthOptions) (err error) {
	if !o.On {
		return nil
	}
	if v.attachment != artifact.AttachFrozen {
		return fmt.Errorf("growth is on, so attachment must be frozen, and attachment is %s", v.attachment)
	}
	v.growing.grower, err = b.Grower(map[string]infer.Deployment{v.model.Name: v.predictor.Model})
	if errors.Is(err, artifact.ErrNoGrowth) {
		return fmt.Errorf("growth is on: %w", err)
	}
	return err
}

// openArrivals makes the place for rows of arrivals of a version that was loaded.
func (l *loader) openArrivals(ctx context.Context, v *Version, p publication) (err error) {
	o := l.options.Growth
	if !o.On {
		return nil
	}
	v.growing.guard, v.growing.degrade = l.guard, o.Degrade
	v.growing.arrivals, err = mapping.OpenArrivalRows(ctx, l.client, l.keys.arrivals(v.ID(), p), mapping.ArrivalOptions{TTL: o.TTL, MaxRows: o.MaxRows,
		CacheBytes: l.cacheBytes / cacheShare, Limit: l.limit, Now: o.Now, Log: l.log})
	return err
}

// FindArrivals fills rows[i] of ids[i], which is not in T, where an arrival of that id has a row; seen says what is kept of the ids of
// own. See [mapping.ArrivalRows.Find].
func (v *Version) FindArrivals(ctx context.Context, ids []string, rows []infer.Row, own []string, seen []*infer.Arrived) error {
	find := finding{v.arrivals, own, seen}
	if err := v.guard.Lookup(find).Rows(ctx, ids, rows); err != nil {
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	return nil
}

// finding is a lookup of rows of arrivals, which asks for more beside them.
type finding struct {
	*mapping.ArrivalRows
	own  []string
	seen []*infer.Arrived
}

func (f finding) Rows(ctx context.Context, ids []string, rows []infer.Row) error {
	return f.Find(ctx, ids, rows, f.own, f.seen)
}

// Grow solves rows for the arrivals of a batch.
func (v *Version) Grow(b *infer.Batch) *infer.Grown { return v.grower.Grow(b) }

// KeepArrivals writes rows of arrivals, see [mapping.ArrivalRows.Keep]. Where the version was made to degrade and Redis is not there, the
// arrivals get none.
func (v *Version) KeepArrivals(ctx context.Context, arrived []infer.Arrived, again []string) error {
	err := v.arrivals.Keep(ctx, arrived, again)
	if err == nil || (v.degrade && ctx.Err() == nil && mapping.Unavailable(err)) {
		return nil
	}
	return fmt.Errorf("version %s: %w", v.ID(), err)
}

// ArrivalStats count rows of arrivals; ok is false where they get none.
func (v *Version) ArrivalStats() (stats mapping.ArrivalStats, ok bool) {
	if v.arrivals == nil {
		return stats, false
	}
	return v.arrivals.Stats(), true
}
