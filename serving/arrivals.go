package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/version"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/serving/keyspace"
)

// GrowthOptions say whether arrivals get rows of M of their own, and how long and how many are stored.
type GrowthOptions struct {
	// On gives arrivals rows. The artifact must hold the tables that rows are solved with, and attachment must be
	// frozen.
	On bool
	// TTL is the time that a row is stored, at least a second.
	TTL time.Duration
	// MaxRows is the largest number of rows of arrivals of a version, at least 1, and MaxBytes the most memory for
	// them; 0: no limit ([arrivals.Options]).
	MaxRows  int
	MaxBytes int64
	// Degrade leaves rows out while Redis is down or takes no writes, instead of failing.
	Degrade bool
}

// cacheShare describes how much memory rows of arrivals may take: this part of the memory for rows of M,
// and in addition to it.
const cacheShare = 8

// growthParts are the parts of a version that give arrivals rows; grower is nil if arrivals get none. It implements
// [version.Growth].
type growthParts struct {
	of      string // the version's id
	grower  *growth.Grower
	arrived *arrivals.Rows
	guarded mapping.Lookup // arrived, behind the guard of all lookups
	degrade bool
	log     *slog.Logger

	without atomic.Bool   // the log says that rows are given up
	lost    atomic.Uint64 // rows that were given up
}

// prepareGrowth makes the solver of the arrivals' rows.
func (v *Version) prepareGrowth(b *artifact.Bundle, o GrowthOptions) (err error) {
	if !o.On {
		return nil
	}
	if v.attachment != artifact.AttachFrozen {
		return fmt.Errorf("growth is on, so attachment must be frozen, and attachment is %s", v.attachment)
	}
	v.growth.of = v.ID()
	v.growth.grower, err = b.Grower(map[string]infer.Deployment{v.Model(): v.predictor.Model})
	if errors.Is(err, artifact.ErrNoGrowth) {
		return fmt.Errorf("growth is on: %w", err)
	}
	return err
}

// openArrivals opens the store of the arrivals' rows of a version that was loaded.
func (l *loader) openArrivals(v *Version, p keyspace.Publication) {
	o := l.options.Growth
	if !o.On {
		return
	}
	parts := &v.growth
	parts.degrade, parts.log = o.Degrade, l.log
	parts.arrived = arrivals.New(l.client, l.keys.Arrivals(v.ID(), p), arrivals.Options{TTL: o.TTL, MaxRows: o.MaxRows,
		MaxBytes: o.MaxBytes, CacheBytes: l.cacheBytes / cacheShare, Limit: l.limit, Log: l.log})
	parts.guarded = l.guard.Lookup(parts.arrived)
}

// Growth gives arrivals rows of M; nil if they get none.
func (v *Version) Growth() version.Growth {
	if v.growth.grower == nil {
		return nil
	}
	return &v.growth
}

// Find fills rows[i] for each id ids[i] that is not in T but belongs to an arrival with a row. If the version may
// degrade and Redis cannot be asked, all rows are Unread.
func (g *growthParts) Find(ctx context.Context, ids []string, rows []attach.Row) error {
	if err := g.guarded.Rows(ctx, ids, rows); err != nil {
		return fmt.Errorf("version %s: %w", g.of, err)
	}
	return nil
}

// Solve solves rows for the arrivals of a batch.
func (g *growthParts) Solve(b *attach.Batch) *growth.Solution { return g.grower.Grow(b) }

// Keep writes rows of arrivals, see [arrivals.Rows.Keep]. The arrivals get no rows if the version is no longer in
// Redis, or if it may degrade and Redis cannot be reached or takes no writes.
func (g *growthParts) Keep(ctx context.Context, arrived []growth.ArrivalRow) error {
	switch err := g.arrived.Keep(ctx, arrived); {
	case err == nil:
		if g.without.Load() && g.without.Swap(false) && g.log != nil {
			g.log.Info("rows of arrivals are written again", "version", g.of, "rows_lost", g.lost.Load())
		}
	case ctx.Err() == nil && (errors.Is(err, mapping.ErrVanished) || errors.Is(err, mapping.ErrDamaged) ||
		g.degrade && (mapping.Unavailable(err) || mapping.TakesNoWrites(err))):
		g.lost.Add(uint64(len(arrived)))
		if g.log != nil && !g.without.Swap(true) {
			g.log.Warn("rows of arrivals cannot be written: predictions go on, later ones lack these neighbours",
				"version", g.of, "error", err)
		}
	default:
		return fmt.Errorf("version %s: %w", g.of, err)
	}
	return nil
}

// ArrivalStats returns the counts of rows of arrivals; ok is false if arrivals get none.
func (v *Version) ArrivalStats() (stats arrivals.Stats, ok bool) {
	if v.growth.arrived == nil {
		return stats, false
	}
	stats = v.growth.arrived.Stats()
	stats.Lost = v.growth.lost.Load()
	return stats, true
}
