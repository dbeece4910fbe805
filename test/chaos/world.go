package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/artifact"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/services"
	"rivulet/test/chaos/trap"
	"rivulet/test/harness"
)

const (
	prefix  = services.Prefix
	members = services.Members
)

// world is a directory with programs, a data set and artifacts, and the services.
type world struct {
	harness.Workshop
	options
	log       io.Writer
	oldBin    string           // programs of another commit; empty: none
	arrivals  []record.Arrival // to be sent, again and again
	released  atomic.Int64     // how many of arrivals are sent by now: the others are for refreshes to come
	byID      map[string]record.Arrival
	features  int
	artifacts []published

	services.Services
	traps      trap.Traps
	publishing sync.Mutex   // one publisher at a time
	copies     atomic.Int64 // of artifacts of refreshes
	ahead      atomic.Int64 // by how much the clocks were stepped that were stepped last, in ns

	mu       sync.Mutex
	said     map[string]map[string]string // version -> id of an arrival -> its answer
	dirs     map[string]string            // where the artifacts of versions are
	complete map[string]time.Time         // when each version was whole first
}

// published is an artifact that a publisher may bring to Redis.
type published struct{ version, config string }

// newWorld builds, trains and starts everything. The caller closes it, also after an error.
func newWorld(ctx context.Context, o options, log io.Writer) (*world, error) {
	w := &world{Workshop: harness.Workshop{Dir: o.dir, Bin: o.bin}, options: o, log: log,
		byID: map[string]record.Arrival{},
		said: map[string]map[string]string{}, dirs: map[string]string{}, complete: map[string]time.Time{}}
	for _, need := range []string{"redis-server", "java", "openssl"} {
		if _, err := exec.LookPath(need); err != nil {
			return w, fmt.Errorf("a real Kafka and a real Redis are needed: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{w.build, w.startServices, w.train, w.expect} {
		if err := step(ctx); err != nil {
			return w, err
		}
	}
	return w, w.publish(ctx, 0)
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.log, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}

func (w *world) build(ctx context.Context) error {
	if w.old != "" {
		w.say("building the programs of %s", w.old)
		w.oldBin = w.Path("old-bin")
		if err := harness.BuildCommit(ctx, w.old, w.Path("old-tree"), w.oldBin); err != nil {
			return err
		}
	}
	if w.Bin != "" {
		return nil
	}
	w.say("building the programs")
	w.Bin = w.Path("bin")
	return harness.Build(ctx, w.Bin, "-tags", "chaos") // their clocks can be stepped
}

// startServices starts Kafka, with a listener behind each proxy, Redis and the rest.
func (w *world) startServices(ctx context.Context) (err error) {
	w.say("starting Kafka, %d brokers, and Redis", w.options.brokers)
	return w.Launch(ctx, services.Options{Dir: w.Dir, Brokers: w.options.brokers, Sentinel: w.sentinel, Seed: w.seed,
		Tap: &w.traps})
}

// train makes a data set, two artifacts and the configuration of their publishers.
func (w *world) train(ctx context.Context) error {
	w.say("training two artifacts")
	seeds := []string{"1", "2"}
	if err := w.Train(ctx, seeds...); err != nil {
		return err
	}
	for _, seed := range seeds {
		dir := w.Path("artifact-" + seed)
		bundle, err := artifact.Read(dir)
		if err != nil {
			return err
		}
		w.features = bundle.Manifest.Data.Features
		a := published{version: bundle.Manifest.Version, config: w.Path("publish-" + seed + ".yaml")}
		w.artifacts = append(w.artifacts, a)
		if err := w.Write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %q\n%s", dir, w.redisConfig())); err != nil {
			return err
		}
	}
	return w.Write("versions.yaml", w.redisConfig())
}

// redisConfig returns the configuration for clients that come past the proxies.
func (w *world) redisConfig() string {
	addr := ""
	if w.Redis != nil {
		addr = w.Redis.Addr
	}
	return fmt.Sprintf("redis: {%s, prefix: %s}\n", w.RedisURL(addr), prefix)
}

// aRefresh is the number of unsent arrivals for one refresh, so that it has something to merge. At first a quarter of
// all arrivals is kept for refreshes; in a soak, all that are made beyond the number that is asked for.
const aRefresh = 40

// release lets the next arrivals be sent that are for a refresh.
func (w *world) release() { w.released.Store(min(w.released.Load()+aRefresh, int64(len(w.arrivals)))) }

// expect makes the arrivals, and notes each artifact's answers to them.
func (w *world) expect(ctx context.Context) error {
	if err := w.makeArrivals(ctx, w.ids); err != nil {
		return err
	}
	w.released.Store(int64(len(w.arrivals) - len(w.arrivals)/4))
	if w.ids > 0 {
		w.released.Store(int64(w.ids))
	}
	for i, a := range w.artifacts {
		if err := w.learn(ctx, a.version, w.Path("artifact-"+strconv.Itoa(i+1))); err != nil {
			return err
		}
	}
	return nil
}

// publishOnce runs a publisher; if kill is not 0, only for that long.
func (w *world) publishOnce(ctx context.Context, which int, kill time.Duration) error {
	w.publishing.Lock()
	defer w.publishing.Unlock()
	a := w.artifacts[which]
	within, cancel := context.WithTimeout(ctx, cmp.Or(kill, time.Minute))
	defer cancel()
	_, err := w.Output(within, nil, "trainer", "publish", "--config", a.config, "--keep", "-1")
	if kill != 0 && ctx.Err() == nil {
		err = nil
	}
	return errors.Join(err, w.noteComplete(ctx, a.version, err == nil && kill == 0))
}

// noteComplete remembers when a version was first complete, from its marker in Redis.
func (w *world) noteComplete(ctx context.Context, version string, must bool) error {
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

// publish brings an artifact to Redis and tries again for as long as Redis is down.
func (w *world) publish(ctx context.Context, which int) error {
	var last error
	err := harness.Await(ctx, patience, "artifact "+w.artifacts[which].version+" is published", func() bool {
		last = w.publishOnce(ctx, which, 0)
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// activate points CURRENT at a version, or publishes it if it is no longer in Redis.
func (w *world) activate(ctx context.Context, which int) error {
	_, err := w.Output(ctx, nil, "trainer", "activate", w.artifacts[which].version, "--config", w.Path("versions.yaml"))
	if err != nil {
		return w.publish(ctx, which)
	}
	return nil
}
