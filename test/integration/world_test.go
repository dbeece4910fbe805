package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/test/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	if trained.Dir != "" {
		_ = os.RemoveAll(trained.Dir)
	}
	os.Exit(code)
}

// trained is the data set and the artifacts that all worlds of this package share.
var trained struct {
	sync.Once
	harness.Workshop
	err error
}

// Formats of arrivals and predictions.
const (
	formatJSON     = "json"
	formatProtobuf = "protobuf"
)

// world is a directory with a data set, two artifacts and configuration files, and the services they name.
type world struct {
	harness.Workshop
	t      *testing.T
	kafka  kafka
	redis  string
	format string // of arrivals and predictions
}

// bareWorld returns a world with services and an empty directory.
func bareWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Workshop: newWorkshop(t), t: t, format: formatJSON}
	w.use(w.services())
	return w
}

// newWorld returns a world whose consumer writes predictions in a format.
func newWorld(t *testing.T, format string) *world {
	t.Helper()
	w := bareWorld(t)
	w.format = format
	trained.Do(func() {
		trained.Workshop = w.Workshop
		trained.Dir, trained.err = os.MkdirTemp("", "rivulet-artifacts") //nolint:usetesting // it outlives the test
		if trained.err == nil {
			trained.err = trained.Train(context.Background(), "1", "2")
		}
	})
	w.must(trained.err)
	for _, name := range []string{"data", "artifact-1", "artifact-2"} {
		w.must(os.Symlink(trained.Path(name), w.Path(name)))
	}
	for _, seed := range []string{"1", "2"} {
		w.write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %s\nredis: {url: %q, prefix: %q}\n", w.Path("artifact-"+seed),
			w.redis, t.Name()))
	}
	w.write("consumer.yaml", fmt.Sprintf(`kafka: {brokers: [%q], group: test, session_timeout: 6s}
redis: {url: %q, prefix: %q, poll_interval: 50ms}
batch: {mode: node, size: 32, linger: 2ms}
output: {format: %s}
http: {listen: ""}
`, w.kafka.Addr, w.redis, t.Name(), format))
	w.write("replay.yaml", fmt.Sprintf("kafka: {brokers: [%q]}\n", w.kafka.Addr))
	return w
}

// as returns the world for a part of the test.
func (w *world) as(t *testing.T) *world {
	part := *w
	part.t = t
	return &part
}

// must ends the test at an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.must(w.Write(name, text))
}

// use makes the broker at an address the world's.
func (w *world) use(broker string) {
	w.t.Helper()
	client, err := harness.NewKafka(broker)
	w.must(err)
	w.kafka = kafka{client}
	w.t.Cleanup(w.kafka.Close)
}

// services starts devstack, which says its addresses, and returns that of the broker.
func (w *world) services() (broker string) {
	w.t.Helper()
	args := []string{"devstack", "--kafka", "127.0.0.1:0", "--redis", "127.0.0.1:0", "--partitions", "3"}
	w.redis = os.Getenv("RIVULET_TEST_REDIS")
	if w.redis != "" {
		args[4] = ""
	}
	out, said := io.Pipe()
	devstack, err := w.Start(said, "rivulet", args...)
	w.must(err)
	w.t.Cleanup(devstack.Kill)
	go func() { _ = said.CloseWithError(devstack.Wait()) }()
	lines := bufio.NewScanner(out)
	for broker == "" || w.redis == "" {
		if !lines.Scan() {
			w.t.Fatalf("devstack ended: %v", lines.Err())
		}
		if at, ok := strings.CutPrefix(lines.Text(), "embedded Kafka broker on "); ok {
			broker, _, _ = strings.Cut(at, ",")
		}
		if at, ok := strings.CutPrefix(lines.Text(), "embedded Redis on "); ok {
			w.redis = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return broker
}

// run runs a program to its end.
func (w *world) run(program string, args ...string) {
	w.t.Helper()
	if err := w.start(program, args...).Wait(); err != nil {
		w.t.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
	}
}

// start starts a program that ends with the test; its output is the test's.
func (w *world) start(program string, args ...string) *harness.Process {
	w.t.Helper()
	p, err := w.Start(w.t.Output(), program, args...)
	w.must(err)
	w.t.Cleanup(p.Kill)
	return p
}

// consumer starts the consumer from a configuration file.
func (w *world) consumer(file string) *harness.Process {
	w.t.Helper()
	return w.start("consumer", "--config", w.Path(file))
}

// drain stops a consumer as an orchestrator does; it must end by itself with status 0.
func (w *world) drain(p *harness.Process) {
	w.t.Helper()
	if err := p.Drain(time.Minute); err != nil {
		w.t.Errorf("the consumer: %v", err)
	}
}

// makeTopics makes topics for as long as the test runs.
func (w *world) makeTopics(partitions map[string]int) {
	w.t.Helper()
	w.must(w.kafka.MakeTopics(w.t.Context(), partitions))
	w.t.Cleanup(func() { _, _ = w.kafka.DeleteTopics(context.Background(), slices.Collect(maps.Keys(partitions))...) })
}

// follow records topics, read by another client than ours, until the test ends.
func (w *world) follow(note func(*kgo.Record), level kgo.IsolationLevel, topics ...string) {
	w.t.Helper()
	stop, err := harness.Follow(note, kgo.SeedBrokers(w.kafka.Addr), kgo.ConsumeTopics(topics...),
		kgo.FetchIsolationLevel(level))
	w.must(err)
	w.t.Cleanup(stop)
}

// await waits for a condition; if it does not hold within two minutes, state says why.
func (w *world) await(what string, so func() bool, state func() string) {
	w.t.Helper()
	if err := harness.Await(w.t.Context(), 2*time.Minute, what, so); err != nil {
		w.t.Fatalf("%v; %s", err, state())
	}
}

// collected reads the committed predictions of a topic until a number of different arrivals are predicted, and then for
// further ones within half a second.
func (w *world) collected(topic string, ids int) []event.Prediction {
	w.t.Helper()
	var mu sync.Mutex
	var all []event.Prediction
	seen := map[string]bool{}
	w.follow(func(r *kgo.Record) {
		p, err := w.decode(r)
		if err != nil {
			w.t.Errorf("partition %d, offset %d: %v", r.Partition, r.Offset, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all, seen[p.ID] = append(all, p), true
	}, kgo.ReadCommitted(), topic)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	w.await("all arrivals are predicted", func() bool {
		return count() >= ids
	}, func() string { return fmt.Sprintf("%d of %d are", count(), ids) })
	time.Sleep(500 * time.Millisecond) // for duplicates behind the last
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != ids {
		w.t.Fatalf("%d arrivals are predicted, want %d", len(seen), ids)
	}
	return slices.Clone(all)
}

// decode reads a prediction, whose header must name the form that the consumer was told to write.
func (w *world) decode(r *kgo.Record) (p event.Prediction, err error) {
	codec, _ := read.Lookup(w.format)
	for _, h := range r.Headers {
		if h.Key == event.HeaderContentType && string(h.Value) == codec.ContentType() {
			return p, codec.DecodePrediction(r.Value, &p)
		}
	}
	return p, fmt.Errorf("no content-type %s in %v", codec.ContentType(), r.Headers)
}

// ends returns the next offsets of a topic's partitions.
func (w *world) ends(topic string) map[int]int64 {
	w.t.Helper()
	ends, err := w.kafka.ends(w.t.Context(), topic)
	w.must(err)
	return ends
}

func sum(of map[int]int64) (n int64) {
	for _, v := range of {
		n += v
	}
	return n
}

// awaitPredictions returns when at least n predictions are published.
func (w *world) awaitPredictions(n int64) {
	w.t.Helper()
	published := func() int64 { return sum(w.ends("predictions")) }
	w.await(fmt.Sprintf("%d predictions are published", n), func() bool {
		return published() >= n
	}, func() string { return fmt.Sprintf("%d are", published()) })
}

// lag returns how many arrivals the group has not committed.
func (w *world) lag() int64 {
	w.t.Helper()
	committed, err := w.kafka.committed(w.t.Context(), "test", "arrivals")
	w.must(err)
	return sum(w.ends("arrivals")) - sum(committed)
}
