package versions

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

// Options say where artifacts are published.
type Options struct {
	harness.Workshop
	Redis string // settings of a publisher
	// Published returns when a version was complete, by its marker in Redis.
	Published func(ctx context.Context, version string) (time.Time, error)
	Patience  time.Duration // for a publisher that cannot reach Redis
}

// Versions are the versions of a run: some artifacts that are published again and again, and those of refreshes.
type Versions struct {
	options    Options
	Artifacts  []Artifact
	Arrivals   []record.Arrival
	Publishing sync.Mutex // one publisher at a time
	copies     atomic.Int64

	mu       sync.Mutex
	said     map[string]map[string]string // version -> id of an arrival -> its answer
	dirs     map[string]string            // where the artifacts of versions are
	complete map[string]time.Time         // when each version was whole first
}

// New returns the versions of a run, which has none yet.
func New(o Options) *Versions {
	return &Versions{options: o, said: map[string]map[string]string{}, dirs: map[string]string{},
		complete: map[string]time.Time{}}
}

// Add takes an artifact of the workshop, and returns the number of features of its arrivals.
func (v *Versions) Add(name string) (features int, err error) {
	dir := v.options.Path(name)
	bundle, err := artifact.Read(dir)
	if err != nil {
		return 0, err
	}
	config := "publish-" + name + ".yaml"
	v.Artifacts = append(v.Artifacts, Artifact{bundle.Manifest.Version, v.options.Path(config)})
	v.dirs[bundle.Manifest.Version] = dir
	return bundle.Manifest.Data.Features, v.options.Write(config, fmt.Sprintf("artifact: %q\n%s", dir, v.options.Redis))
}

// PublishOnce runs a publisher; if kill is not 0, only for that long.
func (v *Versions) PublishOnce(ctx context.Context, which int, kill time.Duration) error {
	v.Publishing.Lock()
	defer v.Publishing.Unlock()
	a := v.Artifacts[which]
	within, cancel := context.WithTimeout(ctx, cmp.Or(kill, time.Minute))
	defer cancel()
	_, err := v.options.Output(within, nil, "trainer", "publish", "--config", a.Config, "--keep", "-1")
	if kill != 0 && ctx.Err() == nil {
		err = nil
	}
	return errors.Join(err, v.noteComplete(ctx, a.Version, err == nil && kill == 0))
}

// noteComplete remembers when a version was first complete, from its marker in Redis.
func (v *Versions) noteComplete(ctx context.Context, version string, must bool) error {
	at, err := v.options.Published(ctx, version)
	switch {
	case err != nil && must:
		return fmt.Errorf("reading the marker of %s: %w", version, err)
	case err != nil:
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.complete[version].IsZero() || at.Before(v.complete[version]) {
		v.complete[version] = at
	}
	return nil
}

// Complete returns when each version was complete first.
func (v *Versions) Complete() map[string]time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.complete)
}

// Publish brings an artifact to Redis and tries again for as long as Redis is down.
func (v *Versions) Publish(ctx context.Context, which int) error {
	var last error
	err := harness.Await(ctx, v.options.Patience, "artifact "+v.Artifacts[which].Version+" is published", func() bool {
		last = v.PublishOnce(ctx, which, 0)
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// Activate points CURRENT at a version, or publishes it if it is no longer in Redis.
func (v *Versions) Activate(ctx context.Context, which int) error {
	a := v.Artifacts[which]
	if _, err := v.options.Output(ctx, nil, "trainer", "activate", a.Version, "--config", a.Config); err != nil {
		return v.Publish(ctx, which)
	}
	return nil
}
