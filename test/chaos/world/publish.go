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
	complete map[string]time.Time         // by version: a time shortly before it was complete first
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
	return err
}

// poll is the pause between two looks at the markers of versions.
const poll = 10 * time.Millisecond

// watchMarkers notes when each version was complete first, until the context ends. A marker read later does not tell:
// a second publisher of the same artifact writes its own time into it, when consumers may serve the version already.
func (w *World) watchMarkers(ctx context.Context) {
	before := time.Now() // no version that is not noted was complete at this time
	for harness.Sleep(ctx, poll) == nil {
		now := time.Now()
		if w.noteMarkers(ctx, before) == nil { // else Redis is down
			before = now
		}
	}
}

// noteMarkers notes versions that have become complete, at some time after the one given.
func (w *World) noteMarkers(ctx context.Context, after time.Time) error {
	const begin, end = "{" + Prefix + "}:", ":complete"
	versions, err := w.Store.SMembers(ctx, begin+"versions").Result()
	if err != nil {
		return err
	}
	for _, version := range versions {
		w.mu.Lock()
		_, known := w.complete[version]
		w.mu.Unlock()
		if known {
			continue
		}
		there, err := w.Store.Exists(ctx, begin+version+end).Result()
		if err != nil {
			return err
		}
		if there == 1 {
			w.mu.Lock()
			w.complete[version] = after
			w.mu.Unlock()
		}
	}
	return nil
}

// Complete returns for each version a time before it was complete first, by a little more than a poll.
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
