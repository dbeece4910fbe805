package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/serving/keyspace"
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

// growthParts holds the parts of a version that give arrivals rows; grower and open are nil if arrivals get none.
type growthParts struct {
	grower  *growth.Grower
	guard   *mapping.Guard
	degrade bool
	log     *slog.Logger

	// open opens the store of the arrivals' rows. A Redis that takes no writes may keep it from being open, and so do
	// settings that are damaged ([Version.opened]).
	open     func(ctx context.Context) (*arrivals.Rows, error)
	arrivals atomic.Pointer[arrivals.Rows]
	mu       sync.Mutex
	tried    time.Time // when open failed last, with failure
	failure  error

	without       atomic.Bool   // the log says that rows or notes are given up
	lost, unnoted atomic.Uint64 // rows and notes that were given up
}

// prepareGrowth makes the solver of the arrivals' rows.
func (v *Version) prepareGrowth(b *artifact.Bundle, o GrowthOptions) (err error) {
	if !o.On {
		return nil
	}
	if v.attachment != artifact.AttachFrozen {
		return fmt.Errorf("growth is on, so attachment must be frozen, and attachment is %s", v.attachment)
	}
	v.growthParts.grower, err = b.Grower(map[string]infer.Deployment{v.Model(): v.predictor.Model})
	if errors.Is(err, artifact.ErrNoGrowth) {
		return fmt.Errorf("growth is on: %w", err)
	}
	return err
}

// openArrivals opens the store of the arrivals' rows of a version that was loaded. If Redis takes no writes a version
// that may degrade is served all the same, and opens the store later. So is any version if the store's settings are
// damaged, for which no waiting helps.
func (l *loader) openArrivals(ctx context.Context, v *Version, p keyspace.Publication) error {
	o := l.options.Growth
	if !o.On {
		return nil
	}
	v.growthParts.guard, v.growthParts.degrade, v.growthParts.log = l.guard, o.Degrade, l.log
	v.growthParts.open = func(ctx context.Context) (*arrivals.Rows, error) {
		return arrivals.Open(ctx, l.client, l.keys.Arrivals(v.ID(), p),
			arrivals.Options{TTL: o.TTL, MaxRows: o.MaxRows, MaxBytes: o.MaxBytes, Replicas: o.Replicas,
				CacheBytes: l.cacheBytes / cacheShare, Limit: l.limit, Log: l.log})
	}
	_, err := v.opened(ctx)
	if v.degrade && mapping.TakesNoWrites(err) || errors.Is(err, mapping.ErrDamaged) {
		return nil
	}
	return err
}

// reopenEvery is the least time between two attempts to open the store of a version that is served.
const reopenEvery = time.Second

// opened returns the store of the arrivals' rows, and opens it if it is not open yet.
func (v *Version) opened(ctx context.Context) (*arrivals.Rows, error) {
	if a := v.arrivals.Load(); a != nil {
		return a, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := v.arrivals.Load(); a != nil {
		return a, nil
	}
	if v.failure != nil && time.Since(v.tried) < reopenEvery {
		return nil, v.failure
	}
	a, err := v.open(ctx)
	v.tried, v.failure = time.Now(), err
	if err == nil {
		v.arrivals.Store(a)
	}
	return a, err
}

// giveUp counts rows and notes without which the version goes on, and logs so once.
func (v *Version) giveUp(rows, notes int, err error) {
	v.lost.Add(uint64(rows))
	v.unnoted.Add(uint64(notes))
	if v.log != nil && !v.without.Swap(true) {
		v.log.Warn("rows and notes of arrivals cannot be written: predictions go on, later ones lack these rows, "+
			"and those without a note are marked as degraded", "version", v.ID(), "error", err)
	}
}

// taken says once that rows or notes are written again.
func (v *Version) taken() {
	if v.without.Load() && v.without.Swap(false) && v.log != nil {
		v.log.Info("rows and notes of arrivals are written again", "version", v.ID(), "rows_lost", v.lost.Load(),
			"notes_lost", v.unnoted.Load())
	}
}

// FindArrivals fills rows[i] for each id ids[i] that is not in T but belongs to an arrival with a row; seen reports
// which of the ids in own have a row. See [arrivals.Rows.Find]. If the version may degrade and Redis cannot be
// asked, or if the store's settings are damaged, all rows are Unread, those of seen among them.
func (v *Version) FindArrivals(ctx context.Context, ids []string, rows []attach.Row, own []string,
	seen []*growth.ArrivalRow) (asOf int64, err error) {
	find := arrivalLookup{own: own, seen: seen}
	if find.of, err = v.opened(ctx); err == nil {
		err = v.guard.Lookup(&find).Rows(ctx, ids, rows)
	} else if v.mayDoWithout(ctx, err) {
		for i := range rows {
			rows[i] = attach.Row{Unread: true}
		}
		v.giveUp(len(own), 0, err) // their predictions are degraded, so they get no rows
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("version %s: %w", v.ID(), err)
	}
	if !find.answered {
		for i, id := range own {
			seen[i] = &growth.ArrivalRow{ID: id, Row: attach.Row{Unread: true}}
		}
	}
	return find.asOf, nil
}

// arrivalLookup is a lookup of rows of arrivals, which also asks about the batch's own ids.
type arrivalLookup struct {
	of       *arrivals.Rows
	own      []string
	seen     []*growth.ArrivalRow
	asOf     int64
	answered bool
}

func (f *arrivalLookup) Rows(ctx context.Context, ids []string, rows []attach.Row) (err error) {
	f.asOf, err = f.of.Find(ctx, ids, rows, f.own, f.seen)
	f.answered = err == nil
	return err
}

// NoteArrivals stores notes, or reads stored ones, see [arrivals.Rows.Note]. If the version may degrade and Redis
// cannot be reached or takes no writes, the notes are Lost.
func (v *Version) NoteArrivals(ctx context.Context, notes []growth.Note) error {
	a, err := v.opened(ctx)
	if err == nil {
		err = a.Note(ctx, notes)
	}
	if err == nil {
		v.taken()
		return nil
	}
	if !v.mayDoWithout(ctx, err) && !(v.degrade && errors.Is(err, mapping.ErrVanished)) {
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	for i := range notes {
		notes[i].Lost = true
	}
	v.giveUp(0, len(notes), err)
	return nil
}

// ForgetNotes removes the notes of each place below an offset, see [arrivals.Rows.Forget].
func (v *Version) ForgetNotes(ctx context.Context, below map[string]int64) error {
	a, err := v.opened(ctx)
	if err != nil {
		return err
	}
	return a.Forget(ctx, below)
}

// Grow solves rows for the arrivals of a batch.
func (v *Version) Grow(b *attach.Batch) *growth.Solution { return v.grower.Grow(b) }

// KeepArrivals writes rows of arrivals, see [arrivals.Rows.Keep]. The arrivals get no rows if the version is
// no longer in Redis, or if it may degrade and Redis cannot be reached or takes no writes.
func (v *Version) KeepArrivals(ctx context.Context, arrived []growth.ArrivalRow, by growth.Fence) error {
	a, err := v.opened(ctx)
	if err == nil {
		err = a.Keep(ctx, arrived, by)
	}
	switch {
	case err == nil:
		v.taken()
	case errors.Is(err, mapping.ErrVanished), v.mayDoWithout(ctx, err):
		v.giveUp(len(arrived), 0, err)
	default:
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	return nil
}

// mayDoWithout reports whether the batch goes on although Redis did not take a write.
func (v *Version) mayDoWithout(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (v.degrade && (mapping.Unavailable(err) || mapping.TakesNoWrites(err)) ||
		errors.Is(err, mapping.ErrDamaged))
}

// ArrivalStats returns the counts of rows of arrivals; ok is false if arrivals get none.
func (v *Version) ArrivalStats() (stats arrivals.Stats, ok bool) {
	if v.open == nil {
		return stats, false
	}
	if a := v.arrivals.Load(); a != nil {
		stats = a.Stats()
	}
	stats.Lost, stats.Unnoted = v.lost.Load(), v.unnoted.Load()
	return stats, true
}
