package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/artifact"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// Artifact is an artifact that a publisher may bring to Redis.
type Artifact struct{ Version, Config string }

// Versions are artifacts that are published again and again, and those of refreshes, with what each says of every
// arrival.
type Versions struct {
	Artifacts  []Artifact
	Arrivals   []record.Arrival
	Publishing sync.Mutex // one publisher at a time
	copies     atomic.Int64

	mu       sync.Mutex
	said     map[string]map[string]string // version -> id of an arrival -> its answer
	dirs     map[string]string            // where the artifacts of versions are
	complete map[string]time.Time         // when each version was whole first
}

func newVersions() Versions {
	return Versions{said: map[string]map[string]string{}, dirs: map[string]string{}, complete: map[string]time.Time{}}
}

// add takes an artifact of the workshop, and returns the number of features of its arrivals.
func (w *World) add(name string) (features int, err error) {
	dir := w.Path(name)
	bundle, err := artifact.Read(dir)
	if err != nil {
		return 0, err
	}
	config := "publish-" + name + ".yaml"
	w.Artifacts = append(w.Artifacts, Artifact{bundle.Manifest.Version, w.Path(config)})
	w.dirs[bundle.Manifest.Version] = dir
	return bundle.Manifest.Data.Features, w.Write(config, fmt.Sprintf("artifact: %q\n%s", dir, w.RedisConfig()))
}

// PublishOnce runs a publisher; if kill is not 0, only for that long.
func (w *World) PublishOnce(ctx context.Context, which int, kill time.Duration) error {
	w.Publishing.Lock()
	defer w.Publishing.Unlock()
	a := w.Artifacts[which]
	within, cancel := context.WithTimeout(ctx, cmp.Or(kill, time.Minute))
	defer cancel()
	_, err := w.Output(within, nil, "trainer", "publish", "--config", a.Config, "--keep", "-1")
	if kill != 0 && ctx.Err() == nil {
		err = nil
	}
	return errors.Join(err, w.noteComplete(ctx, a.Version, err == nil && kill == 0))
}

// noteComplete remembers when a version was first complete, from its marker in Redis.
func (w *World) noteComplete(ctx context.Context, version string, must bool) error {
	at, err := w.Published(ctx, version)
	switch {
	case err != nil && must:
		return fmt.Errorf("reading the marker of %s: %w", version, err)
	case err != nil:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.complete[version].IsZero() || at.Before(w.complete[version]) {
		w.complete[version] = at
	}
	return nil
}

// Complete returns when each version was complete first.
func (w *World) Complete() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.complete)
}

// Publish brings an artifact to Redis and tries again for as long as Redis is down.
func (w *World) Publish(ctx context.Context, which int) error {
	var last error
	err := harness.Await(ctx, w.Options.Patience, "artifact "+w.Artifacts[which].Version+" is published", func() bool {
		last = w.PublishOnce(ctx, which, 0)
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// Activate points CURRENT at a version, or publishes it if it is no longer in Redis.
func (w *World) Activate(ctx context.Context, which int) error {
	a := w.Artifacts[which]
	if _, err := w.Output(ctx, nil, "trainer", "activate", a.Version, "--config", a.Config); err != nil {
		return w.Publish(ctx, which)
	}
	return nil
}
