package serving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
)

// GrowthOptions say whether arrivals get rows of M of their own, and how long and how many are stored.
type GrowthOptions struct {
	// On gives arrivals rows. The artifact must hold the tables that rows are solved with, and attachment must be
	// frozen.
	On bool
	// TTL is the shortest time for which a row is stored; it is stored for at most twice as long. 0: as long as its
	// version.
	TTL time.Duration
	// MaxRows is the largest number of rows of arrivals of a version, at least 1, and MaxBytes the most memory for
	// them; 0: no limit ([arrivals.Options]).
	MaxRows  int
	MaxBytes int64
	// Replicas is how many replicas of Redis must have rows and notes before these count as written; 0: none.
	Replicas int
	// Degrade leaves rows and notes out while Redis is down or takes no writes, instead of failing.
	Degrade bool
}

// cacheShare says how much memory rows of arrivals may take: this part of the memory for rows of M,
// and in addition to it.
const cacheShare = 8

// growing holds the parts of a version that give arrivals rows; all are nil if arrivals get none.
type growing struct {
	grower   *infer.Grower
	arrivals *arrivals.Rows
	guard    *mapping.Guard
	degrade  bool
}

// prepareGrowth makes the solver of the arrivals' rows.
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

// openArrivals opens the store of the arrivals' rows of a version that was loaded.
func (l *loader) openArrivals(ctx context.Context, v *Version, p publication) (err error) {
	o := l.options.Growth
	if !o.On {
		return nil
	}
	v.growing.guard, v.growing.degrade = l.guard, o.Degrade
	v.growing.arrivals, err = arrivals.Open(ctx, l.client, l.keys.arrivals(v.ID(), p),
		arrivals.Options{TTL: o.TTL, MaxRows: o.MaxRows,
			MaxBytes: o.MaxBytes, Replicas: o.Replicas, CacheBytes: l.cacheBytes / cacheShare, Limit: l.limit,
			Log: l.log})
	return err
}

// FindArrivals fills rows[i] for each id ids[i] that is not in T but belongs to an arrival with a row; seen reports
// which of the ids in own have a row. See [arrivals.Rows.Find]. If the version may degrade and Redis cannot be
// asked, all rows are Unread, those of seen among them.
func (v *Version) FindArrivals(ctx context.Context, ids []string, rows []infer.Row, own []string,
	seen []*infer.ArrivalRow) (asOf int64, err error) {
	find := finding{of: v.arrivals, own: own, seen: seen}
	if err := v.guard.Lookup(&find).Rows(ctx, ids, rows); err != nil {
		return 0, fmt.Errorf("version %s: %w", v.ID(), err)
	}
	if !find.answered {
		for i, id := range own {
			seen[i] = &infer.ArrivalRow{ID: id, Row: infer.Row{Unread: true}}
		}
	}
	return find.asOf, nil
}

// finding is a lookup of rows of arrivals, which also asks about the batch's own ids.
type finding struct {
	of       *arrivals.Rows
	own      []string
	seen     []*infer.ArrivalRow
	asOf     int64
	answered bool
}

func (f *finding) Rows(ctx context.Context, ids []string, rows []infer.Row) (err error) {
	f.asOf, err = f.of.Find(ctx, ids, rows, f.own, f.seen)
	f.answered = err == nil
	return err
}

// NoteArrivals stores notes or reads those that are there, see [arrivals.Rows.Note]. If the version may
// degrade and Redis cannot be reached or takes no writes, the notes are Lost.
func (v *Version) NoteArrivals(ctx context.Context, notes []infer.Note) error {
	err := v.arrivals.Note(ctx, notes)
	if err == nil {
		return nil
	}
	if !v.mayDoWithout(ctx, err) && !(v.degrade && errors.Is(err, mapping.ErrVanished)) {
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	for i := range notes {
		notes[i].Lost = true
	}
	v.arrivals.GiveUp(0, len(notes))
	return nil
}

// ForgetNotes removes the notes of each place below an offset, see [arrivals.Rows.Forget].
func (v *Version) ForgetNotes(ctx context.Context, below map[string]int64) error {
	return v.arrivals.Forget(ctx, below)
}

// Grow solves rows for the arrivals of a batch.
func (v *Version) Grow(b *infer.Batch) *infer.Grown { return v.grower.Grow(b) }

// KeepArrivals writes rows of arrivals, see [arrivals.Rows.Keep]. The arrivals get no rows if the version is
// no longer in Redis, or if it may degrade and Redis cannot be reached or takes no writes.
func (v *Version) KeepArrivals(ctx context.Context, arrived []infer.ArrivalRow) error {
	err := v.arrivals.Keep(ctx, arrived)
	switch {
	case err == nil:
	case errors.Is(err, mapping.ErrVanished), v.mayDoWithout(ctx, err):
		v.arrivals.GiveUp(len(arrived), 0)
	default:
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	return nil
}

// mayDoWithout reports whether the batch goes on although Redis did not take what was to be written.
func (v *Version) mayDoWithout(ctx context.Context, err error) bool {
	return v.degrade && ctx.Err() == nil && (mapping.Unavailable(err) || mapping.TakesNoWrites(err))
}

// ArrivalStats returns the counts of rows of arrivals; ok is false if arrivals get none.
func (v *Version) ArrivalStats() (stats arrivals.Stats, ok bool) {
	if v.arrivals == nil {
		return stats, false
	}
	return v.arrivals.Stats(), true
}
