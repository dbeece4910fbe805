package mapping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"rivulet/infer"
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
// The breaker is closed at first. It opens after a number of failures in a row; lookups then fail at once, with the
// last failure as the reason. After a while one lookup, and no other at the same time, tries whether Redis is back:
// if it is, the breaker closes. [Unavailable] decides which errors count as failures.
type Guard struct {
	options GuardOptions
	breaker *gobreaker.CircuitBreaker[struct{}] // nil: always ask
	last    atomic.Pointer[error]               // the last failure

	mu       sync.Mutex
	degraded int // lookups that were answered without rows since the outage began
}

// NewGuard returns a guard whose breaker is closed.
func NewGuard(o GuardOptions) *Guard {
	g := &Guard{options: o}
	if o.Log == nil {
		g.options.Log = slog.New(slog.DiscardHandler)
	}
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
func (g *Guard) Lookup(inner Lookup) Lookup { return guarded{g, inner} }

type guarded struct {
	*Guard
	inner Lookup
}

// Rows implements [Lookup].
func (g guarded) Rows(ctx context.Context, ids []string, rows []infer.Row) error {
	err := g.ask(ctx, g.inner, ids, rows)
	switch {
	case err == nil:
		g.over()
		return nil
	case !g.options.Degrade || ctx.Err() != nil || !(Unavailable(err) || errors.Is(err, ErrVanished)):
		return err
	}
	g.without(err)
	for i := range rows {
		rows[i] = infer.Row{Unread: true}
	}
	return nil
}

// ask asks inner if the breaker allows it.
func (g *Guard) ask(ctx context.Context, inner Lookup, ids []string, rows []infer.Row) error {
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
		g.options.Log.Warn("mapping rows cannot be read: predictions are made without those that are not in memory, and marked as degraded", "error", err)
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

// Unavailable reports whether rows could not be read because Redis could not be reached, did not answer in time, or
// answered that it cannot serve now. Other errors do not count: missing rights, a version that vanished, a damaged row.
func Unavailable(err error) bool {
	var answer redis.Error
	switch {
	case err == nil, errors.Is(err, ErrVanished), errors.Is(err, ErrDamaged), errors.Is(err, redis.ErrClosed):
		return false
	case errors.As(err, &answer):
		return slices.ContainsFunc(notNow, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
	}
	return true
}

// notNow lists the beginnings of answers of a server that cannot serve now. Redirections are among them, because one
// may be left after the last retry.
var notNow = []string{"LOADING ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ", "READONLY ", "BUSY ", "MOVED ", "ASK ", "max number of clients"}

// refused is an error that another attempt would not cure.
type refused struct{ error }

// Unwrap returns the error itself.
func (r refused) Unwrap() error { return r.error }

// Permanent reports that waiting for rows does not help.
func (refused) Permanent() bool { return true }

// final returns err, marked as refused if a row is damaged, or rights or the password are wrong.
func final(err error) error {
	if errors.Is(err, ErrDamaged) || slices.ContainsFunc(notEver, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }) {
		return refused{err}
	}
	return err
}

// notEver lists the beginnings of answers to a client without the needed rights, or of keys of another type.
var notEver = []string{"NOPERM ", "NOAUTH ", "WRONGPASS ", "WRONGTYPE "}
