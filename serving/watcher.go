package serving

import (
	"cmp"
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
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// Clock gives a watcher its pauses.
type Clock interface {
	// NewTimer returns a channel that is sent to once, d from now, and a function that releases the timer.
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func())
}

// WatcherOptions are the options of a watcher.
type WatcherOptions struct {
	// Prefix is the beginning of all keys, the same as the publisher's.
	Prefix string
	// Consumer names this process among the holders of versions, such as host-pid-random. Two processes with one name
	// would release each other's versions.
	Consumer string
	// Interval is the time between two looks at which CURRENT is read and the heartbeat is sent; default 1s.
	Interval time.Duration
	// HoldFor is the time that a heartbeat protects a version; default 30s. It must be more than twice Interval.
	HoldFor time.Duration
	// CacheBytes is the approximate memory for rows of M of each version; 0 caches none.
	CacheBytes int64
	// Version is served in place of the version that CURRENT names; empty: that one.
	Version string
	// LookupTimeout bounds one round trip for rows of M, its retries included; 0: only the client's own
	// time-outs apply.
	LookupTimeout time.Duration
	// Guard guards all lookups of rows that are not in memory; nil: they are only passed on.
	Guard *mapping.Guard
	// Serve chooses among the models and settings of an artifact.
	Serve Options
	// Clock has no default.
	Clock Clock
	// Log has no default. Each new version is logged in one line; otherwise only problems are logged, once.
	Log *slog.Logger
}

// ErrNothingPublished means that CURRENT is not set: nothing has been published under the prefix.
var ErrNothingPublished = errors.New("no version is published")

// Watcher follows CURRENT. [Watcher.Current] is safe for concurrent use.
type Watcher struct {
	o       WatcherOptions
	loader  loader
	current atomic.Pointer[Version]

	last  atomic.Pointer[error] // of the last poll
	again atomic.Bool           // a version that was refused is to be tried again

	mu      sync.Mutex // held while polling, so that Load and Run do not meet
	held    heartbeats
	serving string // id of the marker of the version that is served
	refused string // the last version that was refused, with its marker's id and the time of its publication
	reason  error  // why it was refused
	trouble string // the problem that was logged last, "" if all is well
	warned  string // the last warning about eviction, "" if there is none
	silent  bool   // heartbeats are not taken
	denied  int    // polls one after another that Redis refused
}

// NewWatcher checks the options. It does not connect to Redis yet, and the caller still owns the client.
func NewWatcher(client mapping.Client, o WatcherOptions) (*Watcher, error) {
	k, err := keyspace.New(o.Prefix)
	if err != nil {
		return nil, err
	}
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.HoldFor = cmp.Or(o.HoldFor, 30*time.Second)
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
		held: heartbeats{client: client, keys: k, by: o.Consumer, holdFor: o.HoldFor},
	}, nil
}

// Current returns the version to serve, nil before the first one has been loaded. Call it once a batch, and do not
// hold the result longer than the batch lasts, because a version in use stays in Redis.
func (w *Watcher) Current() *Version { return w.current.Load() }

// Ready reports whether there is a version to serve.
func (w *Watcher) Ready() bool { return w.Current() != nil }

// Trouble returns why the last poll failed, nil if it did not.
func (w *Watcher) Trouble() error {
	if err := w.last.Load(); err != nil {
		return *err
	}
	return nil
}

// StartOver has the next poll try the version that was refused last once more, as what it was refused for may have
// passed.
func (w *Watcher) StartOver() { w.again.Store(true) }

// Losses counts damaged rows and lost buckets of M, of all versions.
func (w *Watcher) Losses() mapping.LossStats { return w.o.Guard.Losses() }

// Load reads CURRENT once and loads the version that it names, for a start that needs one. It returns
// [ErrNothingPublished] if CURRENT is not set, and another error if the version cannot be loaded.
func (w *Watcher) Load(ctx context.Context) error { return w.poll(ctx) }

// Run follows CURRENT until the context ends, then releases its versions and returns nil. Run it as long as batches
// are served, so end it after the last one. If Redis cannot be reached or a version cannot be served, this is logged
// once, and the current version goes on serving.
//
// It returns an error if Redis refuses this client ([mapping.Refused]): at once before there is a version to serve.
// Later the password may just be changing, so it returns the error only after HoldFor, when its heartbeats have lapsed.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.leave(ctx)
	for {
		err := w.poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		w.report(err)
		if err := w.lockedOut(err); err != nil {
			return err
		}
		fired, stop := w.o.Clock.NewTimer(w.o.Interval)
		select {
		case <-fired:
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}

// lockedOut returns the reason for which the watcher has to end, nil if it may go on.
func (w *Watcher) lockedOut(err error) error {
	if !mapping.Refused(err) {
		w.denied = 0
		return nil
	}
	w.denied++
	if lasted := time.Duration(w.denied) * w.o.Interval; w.Current() != nil && lasted < w.o.HoldFor {
		return nil
	}
	return fmt.Errorf("following CURRENT: Redis refuses this client: %w", err)
}

// leave removes the heartbeats, so that removals of versions need not wait until they lapse.
func (w *Watcher) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	// If Redis cannot be reached they lapse.
	_ = w.held.forget(ctx, w.held.held)
}

// poll does the work of one interval.
func (w *Watcher) poll(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := mapping.Misdirected(w.loader.client, w.follow(ctx))
	w.last.Store(&err)
	return err
}

// follow reads CURRENT and takes the version that it names.
func (w *Watcher) follow(ctx context.Context) error {
	if w.again.Swap(false) {
		w.refused = ""
	}
	name := w.o.Version
	var err error
	if name == "" {
		name, err = readCurrent(ctx, w.loader.client, w.loader.keys)
	}
	if err != nil {
		return err
	}
	if name == "" {
		if _, err := w.held.beat(ctx, ""); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s is not set", ErrNothingPublished, w.loader.keys.Current)
	}
	if err := artifact.ValidVersion(name); err != nil {
		if w.o.Version != "" {
			return refuse("%w: %w", errPinned(name), err)
		}
		return refuse("reading %s: %w", w.loader.keys.Current, err)
	}
	id, err := w.beat(ctx, name)
	if err != nil {
		return err
	}
	if v := w.Current(); v != nil && v.ID() == name && w.serving == id {
		w.refused = ""
		return nil
	}
	marks, err := w.loader.client.HMGet(ctx, w.loader.keys.Complete(name), "published_ms", fieldOtherData,
		script.FieldSignature).Result()
	if err != nil {
		return fmt.Errorf("reading %s: %w", w.loader.keys.Complete(name), err)
	}
	if tried := fmt.Sprint(name, " ", id, " ", marks); w.refused != tried {
		return w.take(ctx, name, id, tried, marks[1] != nil)
	}
	return w.reason
}

// beat sends the heartbeat, and returns the id of a version's marker. If Redis takes no writes, serving goes on: a line
// in the log says so once.
func (w *Watcher) beat(ctx context.Context, name string) (id string, err error) {
	id, err = w.held.beat(ctx, name)
	silent := id != "" && mapping.TakesNoWrites(err)
	if silent && !w.silent {
		w.o.Log.Warn("heartbeats cannot be written: the version is served all the same, and may be removed once Redis "+
			"takes writes again", "version", name, "error", err)
	} else if err == nil && w.silent {
		w.o.Log.Info("heartbeats are written again", "version", name)
	}
	if silent {
		err = nil
	}
	w.silent = silent
	return id, err
}

// take loads a version and swaps it in; if it refuses it, refused remembers tried. A version of other data than the
// served one is refused unless otherData says that this is meant.
func (w *Watcher) take(ctx context.Context, name, id, tried string, otherData bool) error {
	var v *Version
	var sample *artifact.Mapping
	var warnings []string
	err := refuse("%w: it is incomplete, or has been removed", ErrIncomplete)
	if w.o.Version != "" {
		err = refuse("%w: %w: it is not published yet, is incomplete, or has been removed; trainer versions lists those "+
			"that are there", errPinned(name), ErrIncomplete)
	}
	if id != "" {
		if err := w.checkEviction(ctx); err != nil {
			return err
		}
		v, sample, warnings, err = w.loader.load(ctx, name, id, func() error {
			_, err := w.beat(ctx, name)
			return err
		})
	}
	if before := w.Current(); err == nil && before != nil && !otherData {
		if err = compare(ctx, v, before, sample); errors.As(err, new(*OtherDataError)) {
			err = refuse("%w (publish or activate it with --other-data if that is meant)", err)
		}
	}
	if err != nil {
		err = fmt.Errorf("loading version %s: %w", name, err)
		if errors.As(err, new(refusal)) || redis.HasErrorPrefix(err, "WRONGTYPE ") {
			w.refused, w.reason = tried, err
		}
		return err
	}
	w.refused = ""
	w.held.add(v)
	w.serving = id
	w.logTaken(v, w.current.Swap(v), warnings)
	return nil
}

// errPinned names the setting that pins a version.
func errPinned(name string) error { return fmt.Errorf("the setting version is %q", name) }

// checkEviction refuses, before there is a version to serve, a Redis that would remove its rows. Later it only logs so.
func (w *Watcher) checkEviction(ctx context.Context) error {
	_, warning, err := mapping.CheckEviction(ctx, w.loader.client)
	if errors.Is(err, mapping.ErrEvicts) && w.Current() != nil {
		warning, err = err.Error(), nil
	}
	if warning != "" && warning != w.warned {
		w.o.Log.Warn("Redis may not keep rows of M, or not take more", "reason", warning)
	}
	w.warned = warning
	return err
}

func (w *Watcher) logTaken(v, before *Version, warnings []string) {
	for _, text := range warnings {
		w.o.Log.Warn("serving an artifact in a way for which it was not made", "version", v.ID(), "reason", text)
	}
	previous := ""
	if before != nil {
		previous = before.ID()
	}
	w.o.Log.Info("serving version", "version", v.ID(), "previous", previous, "model", v.Model(), "attachment",
		v.Attachment(),
		"calibration", v.Calibration().Kind, "synthetic_nodes", v.info.SyntheticNodes, "rows", v.manifest.Mapping.Rows,
		"features", v.info.Features, "classes", len(v.info.Classes), "fingerprint", v.manifest.Data.Fingerprint)
}

// report logs a problem when it begins or changes, and when it ends.
func (w *Watcher) report(err error) {
	trouble := ""
	switch {
	case err == nil:
	case errors.As(err, new(refusal)):
		trouble = err.Error()
	case errors.Is(err, ErrNothingPublished):
		trouble = "no version"
	case mapping.Refused(err):
		trouble = "refused"
	default:
		trouble = "unreachable" // the error texts of one outage differ in ports and times
	}
	if trouble == w.trouble {
		return
	}
	serves := "nothing"
	if v := w.Current(); v != nil {
		serves = v.ID()
	}
	begins, ends := "cannot follow CURRENT", "following CURRENT again"
	if w.o.Version != "" {
		begins, ends = "cannot load the version that is pinned", "the version that is pinned is there"
	}
	if trouble != "" {
		w.o.Log.Warn(begins, "serving", serves, "reason", strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		w.o.Log.Info(ends, "serving", serves)
	}
	w.trouble = trouble
}
