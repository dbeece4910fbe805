package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rivulet/artifact"
	"rivulet/event"
)

const (
	script  = "tools/kafka/kafka.sh"
	prefix  = "chaos" // of the keys in Redis
	members = 3       // consumers that a group may have: two, and a guest
)

// world is a directory with binaries, a data set and artifacts, and the services.
type world struct {
	dir, bin  string
	seed      uint64
	log       io.Writer
	arrivals  []message // what is sent, again and again
	features  int
	artifacts []published
	said      map[string]map[string]string // version -> id of an arrival -> what it says

	kafkaPort  int
	redis      *redisServer
	kafkaWays  [members]*proxy
	redisWays  [members]*proxy
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
	w := &world{dir: o.dir, bin: o.bin, seed: o.seed, log: log, said: map[string]map[string]string{}, complete: map[string]time.Time{}}
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

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) program(name string) string { return filepath.Join(w.bin, name) }

func (w *world) write(name, text string) error {
	return os.WriteFile(w.path(name), []byte(text), 0o600)
}

// run runs a program to its end and returns what it wrote to standard output.
func (w *world) run(ctx context.Context, stdin io.Reader, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, trouble bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &trouble
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, trouble.Bytes())
	}
	return out.Bytes(), nil
}

func (w *world) build(ctx context.Context) error {
	if w.bin != "" {
		return nil
	}
	w.say("building the programs")
	w.bin = w.path("bin")
	_, err := w.run(ctx, nil, "go", "build", "-o", w.bin+string(filepath.Separator), "./cmd/...")
	return err
}

// startServices starts Kafka, with a listener behind each proxy, and Redis.
func (w *world) startServices(ctx context.Context) (err error) {
	w.say("starting Kafka and Redis")
	ways := make([]string, members)
	for i := range members {
		w.kafkaWays[i], err = newProxy(ctx)
		if err == nil {
			w.redisWays[i], err = newProxy(ctx)
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
		w.kafkaPort = 20000 + rng.IntN(10000)
		if err = w.kafka(ctx, "start"); err == nil || attempt == 3 {
			break
		}
		_ = w.kafka(ctx, "wipe")
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.path("redis"), 0o700); err != nil {
		return err
	}
	if w.redis, err = newRedis(ctx, w.path("redis")); err != nil {
		return err
	}
	for i := range members {
		w.kafkaWays[i].serve(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(w.kafkaPort+5+i)))
		w.redisWays[i].serve(ctx, w.redis.addr())
	}
	return nil
}

// kafka calls kafka.sh.
func (w *world) kafka(ctx context.Context, command string) error {
	_, err := w.run(ctx, nil, script, command, w.path("kafka"), strconv.Itoa(w.kafkaPort))
	return err
}

// broker is the address past the proxies.
func (w *world) broker() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.kafkaPort)) }

// train makes a data set, two artifacts and the configuration of their publishers.
func (w *world) train(ctx context.Context) error {
	w.say("training two artifacts")
	if _, err := w.run(ctx, nil, w.program("rivulet"), "generate", "--preset", "small", "--out", w.path("data")); err != nil {
		return err
	}
	for _, seed := range []string{"1", "2"} {
		dir := w.path("artifact-" + seed)
		if _, err := w.run(ctx, nil, w.program("trainer"), "train", "--data", w.path("data"), "--out", dir, "--seed", seed); err != nil {
			return err
		}
		bundle, err := artifact.Read(dir)
		if err != nil {
			return err
		}
		w.features = bundle.Manifest.Data.Features
		a := published{version: bundle.Manifest.Version, config: w.path("publish-" + seed + ".yaml")}
		w.artifacts = append(w.artifacts, a)
		if err := w.write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %q\n%s", dir, w.redisConfig(w.redis.addr()))); err != nil {
			return err
		}
	}
	return w.write("versions.yaml", w.redisConfig(w.redis.addr()))
}

func (w *world) redisConfig(addr string) string {
	return fmt.Sprintf("redis: {url: \"redis://%s/0\", prefix: %s}\n", addr, prefix)
}

// expect reads the arrivals, and what each artifact says of them without any service.
func (w *world) expect(ctx context.Context) error {
	lines, err := w.run(ctx, nil, w.program("rivulet"), "replay", "--data", w.path("data"), "--out", "-")
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
		dir := w.path("artifact-" + strconv.Itoa(i+1))
		out, err := w.run(ctx, bytes.NewReader(lines), w.program("rivulet"), "predict", "--artifact", dir, "--mode", "node", "--logits")
		if err != nil {
			return err
		}
		says := map[string]string{}
		for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
			var p event.Prediction
			if err := (event.JSON{}).DecodePrediction(scan.Bytes(), &p); err != nil {
				return err
			}
			says[strings.Clone(p.ID)] = numbers(&p)
		}
		if len(says) != len(w.arrivals) {
			return fmt.Errorf("artifact %s predicts %d of %d arrivals", a.version, len(says), len(w.arrivals))
		}
		w.said[a.version] = says
	}
	return nil
}

// numbers are what a prediction says, to the bit.
func numbers(p *event.Prediction) string {
	text := fmt.Sprintf("class %d, probability %08x, %d known and %d unknown, logits", p.Class, math.Float32bits(p.Probability), p.Known, p.Unknown)
	for _, v := range p.Logits {
		text += fmt.Sprintf(" %08x", math.Float32bits(v))
	}
	return text
}

// expected is an [expectation].
func (w *world) expected(version, id string) (string, bool) {
	said, known := w.said[version][id]
	return said, known
}

// publishOnce runs a publisher; where kill is not 0, for that long only.
func (w *world) publishOnce(ctx context.Context, which int, kill time.Duration) error {
	w.publishing.Lock()
	defer w.publishing.Unlock()
	a := w.artifacts[which]
	within, cancel := context.WithTimeout(ctx, cmp.Or(kill, time.Minute))
	defer cancel()
	_, err := w.run(within, nil, w.program("trainer"), "publish", "--config", a.config, "--keep", "-1")
	if kill != 0 && ctx.Err() == nil {
		err = nil
	}
	return errors.Join(err, w.noteComplete(ctx, a.version, err == nil && kill == 0))
}

// noteComplete remembers when a version was whole first, from its marker in Redis.
func (w *world) noteComplete(ctx context.Context, version string, must bool) error {
	ms, err := w.redis.client.HGet(ctx, "{"+prefix+"}:"+version+":complete", "published_ms").Int64()
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
	err := await(ctx, patience, "artifact "+w.artifacts[which].version+" is published", func() bool {
		last = w.publishOnce(ctx, which, 0)
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// activate points CURRENT at a version, or publishes it where it is not in Redis any more.
func (w *world) activate(ctx context.Context, which int) error {
	_, err := w.run(ctx, nil, w.program("trainer"), "activate", w.artifacts[which].version, "--config", w.path("versions.yaml"))
	if err != nil {
		return w.publish(ctx, which)
	}
	return nil
}

// close ends the services.
func (w *world) close(ctx context.Context) {
	if w.redis != nil {
		_ = w.redis.signal(syscall.SIGCONT) // it may be stopped
		w.redis.close()
	}
	for _, p := range append(w.kafkaWays[:], w.redisWays[:]...) {
		if p != nil {
			p.close()
		}
	}
	if w.kafkaPort != 0 {
		_ = w.kafka(ctx, "kill")
	}
}
