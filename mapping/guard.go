package mapping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"rivulet/infer/attach"
)

// GuardOptions say how lookups end while Redis is down.
type GuardOptions struct {
	// Failures is the number of lookups that fail one after another after which Redis is no longer asked; 0: it is
	// always asked.
	Failures int
	// OpenFor is the time for which it is not asked. Then one lookup is let through; if that fails, too, the time
	// begins again. It must be more than 0 if Failures is.
	OpenFor time.Duration
	// Degrade answers a lookup that fails with rows that are marked as unread, instead of an error.
	Degrade bool
	// Log gets a line when rows begin to be left out and when that ends; nil: no log.
	Log *slog.Logger
}

// Guard stands before lookups in one Redis, of all versions: a circuit breaker, and if asked for, degraded answers
// while Redis is down. It is safe for concurrent use and has no goroutine.
//
// A damaged row is no outage: it is answered as unread, whatever the options say, counted and logged, because
// waiting would not mend it. A bucket that Redis lost is an outage of its ids alone: they are unread where Degrade
// is set, and else the lookup fails, until the artifact is published again.
//
// The breaker is closed at first. It opens after a number of failures in a row; lookups then fail at once, with the
// last failure as the reason. After a while one lookup, and no other at the same time, tries whether Redis is back:
// if it is, the breaker closes. [Unavailable] decides which errors count as failures.
type Guard struct {
	options GuardOptions
	breaker *gobreaker.CircuitBreaker[struct{}] // nil: always ask
	last    atomic.Pointer[error]               // the last failure
	losses  losses

	mu       sync.Mutex
	degraded int // lookups that were answered without rows since the outage began
}

// NewGuard returns a guard whose breaker is closed.
func NewGuard(o GuardOptions) *Guard {
	g := &Guard{options: o}
	if o.Log == nil {
		g.options.Log = slog.New(slog.DiscardHandler)
	}
	g.losses.log, g.losses.degrade = g.options.Log, o.Degrade
	if o.Failures == 0 {
		return g
	}
	if o.Failures < 0 || o.OpenFor <= 0 {
		panic(fmt.Sprintf("mapping: guard that opens after %d failures for %s", o.Failures, o.OpenFor))
	}
	g.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      o.OpenFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(o.Failures) },
		IsSuccessful: func(err error) bool { return !Unavailable(err) },
		IsExcluded:   func(err error) bool { return errors.As(err, new(ended)) },
	})
	return g
}

// Lookup returns inner behind the guard. In degraded answers every row of the call is unread, so put a [Cached]
// before it: it asks for rows that are not in memory only.
func (g *Guard) Lookup(inner Lookup) Lookup { return guardedLookup{g, inner} }

// Losses returns the counts of damaged rows and lost buckets.
func (g *Guard) Losses() LossStats {
	return LossStats{DamagedRows: g.losses.damaged.Load(), EvictedBuckets: g.losses.evicted.Load()}
}

type guardedLookup struct {
	*Guard
	inner Lookup
}

// Rows implements [Lookup].
func (g guardedLookup) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	err := g.ask(ctx, g.inner, ids, rows)
	missing, some := errors.AsType[*incomplete](err)
	switch {
	case err == nil:
		g.over()
		return nil
	case some:
		g.over() // Redis answers
		return g.settle(missing, err, rows)
	case errors.Is(err, ErrDamaged): // an entry of an arrival: any row of the call may be its
		g.losses.count(&incomplete{damaged: []damagedRow{{reason: err}}})
		unread(rows)
		return nil
	case !g.options.Degrade || ctx.Err() != nil || !(Unavailable(err) || errors.Is(err, ErrVanished)):
		return err
	}
	g.without(err)
	unread(rows)
	return nil
}

func unread(rows []attach.Row) {
	for i := range rows {
		rows[i] = attach.Row{Unread: true}
	}
}

// settle marks missing rows of a call as unread, or returns err if the caller has to wait for them.
func (g *Guard) settle(missing *incomplete, err error, rows []attach.Row) error {
	g.losses.count(missing)
	if len(missing.evicted) > 0 && !g.options.Degrade {
		return err
	}
	for _, d := range missing.damaged {
		rows[d.at] = attach.Row{Unread: true}
	}
	for _, b := range missing.evicted {
		for _, at := range b.at {
			rows[at] = attach.Row{Unread: true}
		}
	}
	return nil
}

// ask asks inner if the breaker allows it.
func (g *Guard) ask(ctx context.Context, inner Lookup, ids []string, rows []attach.Row) error {
	if g.breaker == nil {
		return inner.Rows(ctx, ids, rows)
	}
	_, err := g.breaker.Execute(func() (struct{}, error) {
		err := inner.Rows(ctx, ids, rows)
		if err != nil && ctx.Err() != nil {
			err = ended{err} // tells nothing about the state of Redis
		} else if Unavailable(err) {
			g.last.Store(&err)
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return fmt.Errorf("reading %d mapping rows: Redis is not asked for %s after %d failures, the last of which was: %w",
			len(ids), g.options.OpenFor, g.options.Failures, *g.last.Load())
	}
	return err
}

// ended is the error of a lookup whose caller has given up.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

// without counts a lookup that is answered without rows.
func (g *Guard) without(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.degraded == 0 {
		g.options.Log.Warn("mapping rows cannot be read: predictions are made without those that are not in memory, and "+
			"marked as degraded", "error", err)
	}
	g.degraded++
}

// over logs the end of the outage, if there was one.
func (g *Guard) over() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.degraded > 0 {
		g.options.Log.Info("mapping rows are read again", "degraded_lookups", g.degraded)
		g.degraded = 0
	}
}
