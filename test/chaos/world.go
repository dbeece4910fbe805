package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/test/harness"
)

const (
	prefix  = "chaos" // of the keys in Redis
	members = 3       // consumers that a group may have: two, and a guest
)

// world is a directory with programs, a data set and artifacts, and the services.
type world struct {
	harness.Workshop
	options
	log       io.Writer
	oldBin    string       // programs of another commit; empty: none
	arrivals  []message    // what is sent, again and again
	released  atomic.Int64 // how many of arrivals are sent by now: the others are for refreshes to come
	byID      map[string]message
	features  int
	artifacts []published

	brokers    harness.Brokers
	kafka      *harness.Kafka
	redis      *harness.Redis            // nil: watched
	watched    *harness.Watched          // nil: redis
	store      *redis.Client             // of redis or watched, past the proxies
	kafkaWays  [members][]*harness.Proxy // to each broker
	redisWays  [members]*harness.Proxy
	traps      traps
	publishing sync.Mutex // one publisher at a time

	mu       sync.Mutex
	said     map[string]map[string]string // version -> id of an arrival -> what it says
	dirs     map[string]string            // where the artifacts of versions are
	complete map[string]time.Time         // when each version was whole first
}

// published is an artifact that a publisher may bring to Redis.
type published struct{ version, config string }

// newWorld builds, trains and starts everything. The caller closes it, also after an error.
func newWorld(ctx context.Context, o options, log io.Writer) (*world, error) {
	w := &world{Workshop: harness.Workshop{Dir: o.dir, Bin: o.bin}, options: o, log: log, byID: map[string]message{},
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
		if err := w.buildOld(ctx); err != nil {
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

// startServices starts Kafka, with a listener behind each proxy, and Redis.
func (w *world) startServices(ctx context.Context) (err error) {
	w.say("starting Kafka, %d brokers, and Redis", w.options.brokers)
	for i := range members {
		if w.redisWays[i], err = harness.NewProxy(ctx); err != nil {
			return err
		}
	}
	if err := w.startKafka(ctx); err != nil {
		return err
	}
	return w.startRedis(ctx)
}

// startRedis starts a Redis, or two with a sentinel, which writes its data to a file: what was acknowledged is there
// when the process is killed.
func (w *world) startRedis(ctx context.Context) (err error) {
	if err := os.MkdirAll(w.Path("redis"), 0o700); err != nil {
		return err
	}
	file := []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	if w.sentinel {
		if w.watched, err = harness.LaunchWatched("redis-server", w.Path("redis"), file...); err != nil { //nolint:contextcheck // it ends by itself
			return err
		}
		w.store = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "rivulet",
			SentinelAddrs: []string{w.watched.Sentinel.Addr},
			Protocol:      2, DisableIdentity: true, MaxRetries: -1})
		return nil
	}
	if w.redis, err = harness.LaunchRedis("redis-server", w.Path("redis"), file...); err != nil { //nolint:contextcheck // it ends by itself
		return err
	}
	w.store = w.redis.Client()
	for i := range members {
		w.redisWays[i].Serve(ctx, w.redis.Addr)
	}
	return nil
}

// startKafka starts the brokers. Member i of every stream comes to each of them through a proxy of its own.
func (w *world) startKafka(ctx context.Context) (err error) {
	ports := make([][]int, w.options.brokers) // of the proxies, by broker
	for i := range members {
		for b := range ports {
			p, err := harness.NewProxy(ctx)
			if err != nil {
				return err
			}
			_, text, _ := net.SplitHostPort(p.Addr())
			port, _ := strconv.Atoi(text)
			w.kafkaWays[i], ports[b] = append(w.kafkaWays[i], p), append(ports[b], port)
		}
	}
	rng := rand.New(rand.NewPCG(w.seed, uint64(os.Getpid())))
	for attempt := range 4 { // a port may be taken
		first, distance := 20000+rng.IntN(10000), harness.BehindProxies+members
		at := make([]int, len(ports))
		for b := range at {
			at[b] = first + b*distance
		}
		w.brokers = harness.NewBrokers(w.Path("kafka"), at, ports, "384m")
		if err = w.brokers.Do(ctx, "start"); err == nil || attempt == 3 {
			break
		}
		_ = w.brokers.Do(ctx, "wipe")
	}
	if err != nil {
		return err
	}
	for i := range members {
		for b, p := range w.kafkaWays[i] {
			p.ServeTapped(ctx, w.brokers[b].Addr(harness.BehindProxies+i), &w.traps)
		}
	}
	w.kafka, err = harness.NewKafka(w.brokers.Addrs()...)
	return err
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
		if err := w.Write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %q\n%s", dir,
			w.redisConfig())); err != nil {
			return err
		}
	}
	return w.Write("versions.yaml", w.redisConfig())
}

// redisConfig returns the configuration of those who come past the proxies.
func (w *world) redisConfig() string {
	addr := ""
	if w.redis != nil {
		addr = w.redis.Addr
	}
	return fmt.Sprintf("redis: {%s, prefix: %s}\n", w.redisURL(addr), prefix)
}

// redisURL returns the settings that say where Redis is: at an address, or wherever the sentinel says.
func (w *world) redisURL(addr string) string {
	if w.watched != nil {
		return fmt.Sprintf("url: \"redis://%s/0\", sentinel: {master: rivulet}", w.watched.Sentinel.Addr)
	}
	return fmt.Sprintf("url: \"redis://%s/0\"", addr)
}

// aRefresh is the number of arrivals that nobody has sent before and that are for one refresh, so that it has
// something to merge. At first a quarter of all arrivals is kept for refreshes; in a soak, what is made beyond the
// number that is asked for.
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
	ms, err := w.store.HGet(ctx, "{"+prefix+"}:"+version+":complete", "published_ms").Int64()
	switch {
	case err != nil && must:
		return fmt.Errorf("reading the marker of %s: %w", version, err)
	case err != nil:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := time.UnixMilli(ms); w.complete[version].IsZero() || at.Before(w.complete[version]) {
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
	_, err := w.Output(ctx, nil, "trainer", "activate", w.artifacts[which].version, "--config",
		w.Path("versions.yaml"))
	if err != nil {
		return w.publish(ctx, which)
	}
	return nil
}

// erase removes a version as trainer prune does, at once and though consumers use it. The marker goes first: a row that
// is gone while the marker stands is an unknown id on a single Redis, which cannot tell the two apart. Notes of
// records in flight stay.
func (w *world) erase(ctx context.Context, version string) error {
	control := "{" + prefix + "}:" + version
	for _, pattern := range []string{control + ":complete", control + ":writing", prefix + ":" + version + ":*"} {
		if err := harness.Erase(ctx, w.store, pattern); err != nil {
			return err
		}
	}
	return w.store.SRem(ctx, "{"+prefix+"}:versions", version).Err()
}

// close ends the services.
func (w *world) close(ctx context.Context) {
	if w.redis != nil {
		w.redis.Kill()
	}
	if w.watched != nil {
		w.watched.Kill()
	}
	if w.store != nil {
		_ = w.store.Close()
	}
	for _, p := range slices.Concat(append(w.kafkaWays[:], w.redisWays[:])...) {
		if p != nil {
			p.Close()
		}
	}
	if w.kafka != nil {
		w.kafka.Close()
	}
	_ = w.brokers.Do(ctx, "kill")
}
