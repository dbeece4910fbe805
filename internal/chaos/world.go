package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/internal/harness"
)

const (
	prefix  = "chaos" // of the keys in Redis
	members = 3       // consumers that a group may have: two, and a guest
)

// world is a directory with programs, a data set and artifacts, and the services.
type world struct {
	harness.Workshop
	seed      uint64
	log       io.Writer
	arrivals  []message // what is sent, again and again
	features  int
	artifacts []published
	said      map[string]map[string]string // version -> id of an arrival -> what it says

	broker     harness.Broker
	kafka      *harness.Kafka
	redis      *harness.Redis
	store      *redis.Client // of redis, past the proxies
	kafkaWays  [members]*harness.Proxy
	redisWays  [members]*harness.Proxy
	publishing sync.Mutex // one publisher at a time

	mu       sync.Mutex
	complete map[string]time.Time // when each version was whole first
}

// message is an arrival that can be predicted.
type message struct {
	id    string
	value []byte
}

// published is an artifact that a publisher may bring to Redis.
type published struct{ version, config string }

// newWorld builds, trains and starts everything. The caller closes it, also after an error.
func newWorld(ctx context.Context, o options, log io.Writer) (*world, error) {
	w := &world{Workshop: harness.Workshop{Dir: o.dir, Bin: o.bin}, seed: o.seed, log: log, said: map[string]map[string]string{}, complete: map[string]time.Time{}}
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
	if w.Bin != "" {
		return nil
	}
	w.say("building the programs")
	w.Bin = w.Path("bin")
	return harness.Build(ctx, w.Bin)
}

// startServices starts Kafka, with a listener behind each proxy, and Redis.
func (w *world) startServices(ctx context.Context) (err error) {
	w.say("starting Kafka and Redis")
	ways := make([]string, members)
	for i := range members {
		w.kafkaWays[i], err = harness.NewProxy(ctx)
		if err == nil {
			w.redisWays[i], err = harness.NewProxy(ctx)
		}
		if err != nil {
			return err
		}
		_, ways[i], _ = net.SplitHostPort(w.kafkaWays[i].Addr())
	}
	if err := os.Setenv("KAFKA_PROXIES", strings.Join(ways, " ")); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(w.seed, uint64(os.Getpid())))
	for attempt := range 4 { // a port may be taken
		w.broker = harness.Broker{Dir: w.Path("kafka"), Port: 20000 + rng.IntN(10000)}
		if err = w.broker.Do(ctx, "start"); err == nil || attempt == 3 {
			break
		}
		_ = w.broker.Do(ctx, "wipe")
	}
	if err != nil {
		return err
	}
	if w.kafka, err = harness.NewKafka(w.broker.Addr(harness.Plaintext)); err != nil {
		return err
	}
	if err := os.MkdirAll(w.Path("redis"), 0o700); err != nil {
		return err
	}
	w.redis, err = harness.LaunchRedis("redis-server", w.Path("redis")) //nolint:contextcheck // it ends by itself
	if err != nil {
		return err
	}
	w.store = w.redis.Client()
	for i := range members {
		w.kafkaWays[i].Serve(ctx, w.broker.Addr(harness.BehindProxies+i))
		w.redisWays[i].Serve(ctx, w.redis.Addr)
	}
	return nil
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
		if err := w.Write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %q\n%s", dir, w.redisConfig(w.redis.Addr))); err != nil {
			return err
		}
	}
	return w.Write("versions.yaml", w.redisConfig(w.redis.Addr))
}

func (w *world) redisConfig(addr string) string {
	return fmt.Sprintf("redis: {url: \"redis://%s/0\", prefix: %s}\n", addr, prefix)
}

// expect reads the arrivals, and each artifact's answers to them without any service.
func (w *world) expect(ctx context.Context) error {
	lines, err := w.Output(ctx, nil, "rivulet", "replay", "--data", w.Path("data"), "--out", "-")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(lines) {
		var a event.Arrival
		if err := (event.JSON{}).DecodeArrival(bytes.TrimSpace(line), &a); err != nil {
			return err
		}
		w.arrivals = append(w.arrivals, message{strings.Clone(a.ID), bytes.TrimSpace(line)})
	}
	for i, a := range w.artifacts {
		dir := w.Path("artifact-" + strconv.Itoa(i+1))
		out, err := w.Output(ctx, bytes.NewReader(lines), "rivulet", "predict", "--artifact", dir, "--mode", "node", "--logits")
		if err != nil {
			return err
		}
		says := map[string]string{}
		for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
			var p event.Prediction
			if err := (event.JSON{}).DecodePrediction(scan.Bytes(), &p); err != nil {
				return err
			}
			says[strings.Clone(p.ID)] = harness.Says(&p)
		}
		if len(says) != len(w.arrivals) {
			return fmt.Errorf("artifact %s predicts %d of %d arrivals", a.version, len(says), len(w.arrivals))
		}
		w.said[a.version] = says
	}
	return nil
}

// expected implements [expectation].
func (w *world) expected(version, id string) (string, bool) {
	said, known := w.said[version][id]
	return said, known
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
	_, err := w.Output(ctx, nil, "trainer", "activate", w.artifacts[which].version, "--config", w.Path("versions.yaml"))
	if err != nil {
		return w.publish(ctx, which)
	}
	return nil
}

// erase removes all keys of a version, the marker first: a row that is gone while the marker stands is an unknown id on
// a single Redis, which cannot tell the two apart.
func (w *world) erase(ctx context.Context, version string) error {
	for _, pattern := range []string{"{" + prefix + "}:" + version + ":*", prefix + ":" + version + ":*"} {
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
		_ = w.store.Close()
	}
	for _, p := range append(w.kafkaWays[:], w.redisWays[:]...) {
		if p != nil {
			p.Close()
		}
	}
	if w.kafka != nil {
		w.kafka.Close()
	}
	if w.broker.Port != 0 {
		_ = w.broker.Do(ctx, "kill")
	}
}
