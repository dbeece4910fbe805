package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/mapping"
)

// Clock gives a watcher its pauses.
type Clock interface {
	// NewTimer returns a channel that is sent to once, d from now, and a function that releases the timer.
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func())
}

// WatcherOptions say what to follow, and how.
type WatcherOptions struct {
	// Prefix is what all keys begin with; the publisher's.
	Prefix string
	// Consumer names this process among the holders of versions, such as host-pid-random. Two processes of one name
	// would let go of each other's versions.
	Consumer string
	// Interval is how often CURRENT is read and the heartbeat is sent; default 1s.
	Interval time.Duration
	// HoldFor is how long a heartbeat protects a version; default 30s. It must be more than twice Interval.
	HoldFor time.Duration
	// CacheBytes is about the memory for rows of M of each version; 0 keeps none.
	CacheBytes int64
	// LookupTimeout bounds one round trip for rows of M, its retries included; 0: the client's own time-outs alone do.
	LookupTimeout time.Duration
	// Guard stands before all lookups of rows that are not in memory; nil: one that only passes them on.
	Guard *mapping.Guard
	// Serve chooses among what the artifact offers.
	Serve Options
	// Clock has no default.
	Clock Clock
	// Log has no default. A version that is taken over is one line; otherwise only trouble is logged, once.
	Log *slog.Logger
}

// ErrNothingPublished says that CURRENT is not set: nothing has been published under the prefix.
var ErrNothingPublished = errors.New("no version is published")

// Watcher follows CURRENT. [Watcher.Current] is safe for concurrent use.
type Watcher struct {
	o       WatcherOptions
	loader  loader
	current atomic.Pointer[Version]

	mu      sync.Mutex // held while polling, so that Load and Run do not meet
	uses    uses
	serving string // id of the marker of the version that is served
	refused string // the last version that was refused, with its marker's id
	reason  error  // why it was
	trouble string // the trouble that was logged last, "" where all is well
}

// NewWatcher checks the options. It does not reach out yet, and the client stays the caller's.
func NewWatcher(client redis.UniversalClient, o WatcherOptions) (*Watcher, error) {
	k, err := newKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.HoldFor == 0 {
		o.HoldFor = 30 * time.Second
	}
	switch {
	case o.Consumer == "":
		return nil, errors.New("watcher: consumer is empty, want a name that no other process has")
	case o.Interval < 0:
		return nil, fmt.Errorf("watcher: interval is %s, want more than 0", o.Interval)
	case o.HoldFor <= 2*o.Interval:
		return nil, fmt.Errorf("watcher: hold is %s, want more than twice the interval of %s", o.HoldFor, o.Interval)
	case o.Clock == nil || o.Log == nil:
		return nil, errors.New("watcher: clock or log is not set")
	}
	if o.Guard == nil {
		o.Guard = mapping.NewGuard(mapping.GuardOptions{})
	}
	return &Watcher{
		o: o,
		loader: loader{client: client, keys: k, options: o.Serve, cacheBytes: o.CacheBytes,
			guard: o.Guard, limit: o.LookupTimeout, log: o.Log},
		uses: uses{client: client, keys: k, by: o.Consumer, holdFor: o.HoldFor},
	}, nil
}

// Current is the version to serve, nil before the first one has been loaded. Ask once a batch, and keep it no longer than
// the batch lasts: what is kept stays in Redis.
func (w *Watcher) Current() *Version { return w.current.Load() }

// Ready tells whether there is a version to serve.
func (w *Watcher) Ready() bool { return w.Current() != nil }

// Load reads CURRENT once and loads what it names, for a start that must not go on without. It returns [ErrNothingPublished]
// where CURRENT is not set, and else why the version cannot be had.
func (w *Watcher) Load(ctx context.Context) error { return w.poll(ctx) }

// Run follows CURRENT until the context ends, and then lets go of what it held; it returns nil then. Run it for as long as
// batches are served, so end it after the last one. Redis that cannot be reached, and a version that cannot be served, are
// logged once, and the version that is there goes on.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.leave(ctx)
	for {
		err := w.poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		w.report(err)
		fired, stop := w.o.Clock.NewTimer(w.o.Interval)
		select {
		case <-fired:
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}

// leave removes the heartbeats, so that versions need not wait for them to lapse.
func (w *Watcher) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	// Where Redis cannot be reached they lapse.
	_ = w.uses.drop(ctx)
}

// poll does everything that is due once an interval.
func (w *Watcher) poll(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, err := readCurrent(ctx, w.loader.client, w.loader.keys)
	if err != nil {
		return err
	}
	if name == "" {
		if _, err := w.uses.beat(ctx, ""); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s is not set", ErrNothingPublished, w.loader.keys.current())
	}
	if err := artifact.ValidVersion(name); err != nil {
		return refuse("reading %s: %w", w.loader.keys.current(), err)
	}
	id, err := w.uses.beat(ctx, name)
	if err != nil {
		return err
	}
	switch v := w.Current(); {
	case v != nil && v.ID() == name && w.serving == id:
		w.refused = ""
		return nil
	case w.refused == name+" "+id:
		return w.reason
	}
	return w.take(ctx, name, id)
}

// take loads a version and swaps it in, or remembers why not.
func (w *Watcher) take(ctx context.Context, name, id string) error {
	var v *Version
	var warnings []string
	err := refuse("%w: it is not whole, or has been removed", ErrIncomplete)
	if id != "" {
		v, warnings, err = w.loader.load(ctx, name, id, func() error {
			_, err := w.uses.beat(ctx, name)
			return err
		})
	}
	if err != nil {
		err = fmt.Errorf("loading version %s: %w", name, err)
		if errors.As(err, new(refusal)) {
			w.refused, w.reason = name+" "+id, err
		}
		return err
	}
	w.refused = ""
	w.uses.add(v)
	before := w.current.Swap(v)
	w.serving = id
	w.logTaken(v, before, warnings)
	return nil
}

func (w *Watcher) logTaken(v, before *Version, warnings []string) {
	for _, text := range warnings {
		w.o.Log.Warn("serving an artifact as it was not made for", "version", v.ID(), "reason", text)
	}
	previous := ""
	if before != nil {
		previous = before.ID()
	}
	w.o.Log.Info("serving version", "version", v.ID(), "previous", previous, "model", v.Model(), "attachment", v.Attachment(),
		"calibration", v.Calibration().Kind, "synthetic_nodes", v.SyntheticNodes(), "rows", v.manifest.Mapping.Rows)
}

// report logs trouble when it begins or becomes another one, and its end.
func (w *Watcher) report(err error) {
	trouble := ""
	switch {
	case err == nil:
	case errors.As(err, new(refusal)):
		trouble = err.Error()
	case errors.Is(err, ErrNothingPublished):
		trouble = "no version"
	default:
		trouble = "unreachable" // messages of one outage differ in ports and times
	}
	if trouble == w.trouble {
		return
	}
	serves := "nothing"
	if v := w.Current(); v != nil {
		serves = v.ID()
	}
	if trouble != "" {
		w.o.Log.Warn("cannot follow CURRENT", "serving", serves, "reason", strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		w.o.Log.Info("following CURRENT again", "serving", serves)
	}
	w.trouble = trouble
}
