package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// binaries builds the programs once.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rivulet-binaries")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "rivulet/cmd/...").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binaries(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// world is a directory with a data set, two artifacts and configuration files, and the services they name.
type world struct {
	t             *testing.T
	dir, bin      string
	broker, redis string
	format        string // of arrivals and predictions
}

// bareWorld has services, and nothing in its directory.
func bareWorld(t *testing.T) *world {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: t.TempDir(), bin: bin, format: "json"}
	w.services()
	return w
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t)
	w.run("rivulet", "generate", "--preset", "small", "--out", w.path("data"))
	for _, seed := range []string{"1", "2"} {
		w.run("trainer", "train", "--data", w.path("data"), "--out", w.path("artifact-"+seed), "--seed", seed)
		w.write("publish-"+seed+".yaml", fmt.Sprintf("artifact: %s\nredis: {url: %q, prefix: %q}\n", w.path("artifact-"+seed), w.redis, t.Name()))
	}
	w.write("consumer.yaml", fmt.Sprintf(`kafka: {brokers: [%q], group: test, session_timeout: 6s}
redis: {url: %q, prefix: %q, poll_interval: 50ms}
batch: {mode: node, size: 32, linger: 2ms}
http: {listen: ""}
`, w.broker, w.redis, t.Name()))
	w.write("replay.yaml", fmt.Sprintf("kafka: {brokers: [%q]}\n", w.broker))
	return w
}

// as is the world for a part of the test.
func (w *world) as(t *testing.T) *world {
	part := *w
	part.t = t
	return &part
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// services starts devstack and reads the addresses that it says.
func (w *world) services() {
	w.t.Helper()
	args := []string{"devstack", "--kafka", "127.0.0.1:0", "--redis", "127.0.0.1:0", "--partitions", "3"}
	w.redis = os.Getenv("RIVULET_TEST_REDIS")
	if w.redis != "" {
		args[4] = ""
	}
	cmd := exec.Command(filepath.Join(w.bin, "rivulet"), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for w.broker == "" || w.redis == "" {
		if !lines.Scan() {
			w.t.Fatalf("devstack ended: %v", lines.Err())
		}
		if at, ok := strings.CutPrefix(lines.Text(), "embedded Kafka broker on "); ok {
			w.broker, _, _ = strings.Cut(at, ",")
		}
		if at, ok := strings.CutPrefix(lines.Text(), "embedded Redis on "); ok {
			w.redis = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

// run runs a program to its end.
func (w *world) run(program string, args ...string) {
	w.t.Helper()
	if err := w.start(program, args...).Wait(); err != nil {
		w.t.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
	}
}

// start starts a program; its output is the test's where it says something worth reading.
func (w *world) start(program string, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, program), args...)
	cmd.Stdout, cmd.Stderr = w.t.Output(), w.t.Output()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

// consumer starts the consumer from its configuration file.
func (w *world) consumer() *exec.Cmd {
	w.t.Helper()
	cmd := w.start("consumer", "--config", w.path("consumer.yaml"))
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// drain stops a consumer as an orchestrator does; it must end by itself with status 0.
func (w *world) drain(cmd *exec.Cmd) {
	w.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		w.t.Errorf("the consumer ended with %v after SIGTERM", err)
	}
}

// predictions reads the topic until ids are all there, and then what else is in it.
func (w *world) predictions(ids int) []event.Prediction {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var all []event.Prediction
	seen := map[string]bool{}
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for partition := range 3 {
		wg.Go(func() {
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{w.broker}, Topic: "predictions", Partition: partition, MaxWait: 100 * time.Millisecond})
			defer r.Close()
			for {
				m, err := r.ReadMessage(ctx)
				if err != nil {
					return
				}
				p, err := w.decode(m.Headers, m.Value)
				if err != nil {
					w.t.Errorf("partition %d, offset %d: %v", partition, m.Offset, err)
				}
				mu.Lock()
				all = append(all, p)
				if before := len(seen); !seen[p.ID] {
					if seen[p.ID] = true; before+1 == ids {
						close(enough)
					}
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
		time.Sleep(500 * time.Millisecond) // for duplicates behind the last
	case <-ctx.Done():
	}
	cancel()
	wg.Wait()
	if len(seen) != ids {
		w.t.Fatalf("%d of %d arrivals were predicted", len(seen), ids)
	}
	return all
}

// decode reads a prediction, whose header must name the form that the consumer was told to write.
func (w *world) decode(headers []kafka.Header, value []byte) (p event.Prediction, err error) {
	codec, _ := event.ForFormat(w.format)
	for _, h := range headers {
		if h.Key == event.HeaderContentType && string(h.Value) == codec.ContentType() {
			return p, codec.DecodePrediction(value, &p)
		}
	}
	return p, fmt.Errorf("no content-type %s in %v", codec.ContentType(), headers)
}

// ends are the log end offsets of a topic's partitions.
func (w *world) ends(topic string) map[int]int64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(w.broker)}
	answer, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.LastOffsetOf(0), kafka.LastOffsetOf(1), kafka.LastOffsetOf(2)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ends := map[int]int64{}
	for _, p := range answer.Topics[topic] {
		ends[p.Partition] = p.LastOffset
	}
	return ends
}

// awaitPredictions returns when at least n predictions are published.
func (w *world) awaitPredictions(n int64) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		published := int64(0)
		for _, end := range w.ends("predictions") {
			published += end
		}
		if published >= n {
			return
		}
	}
	w.t.Fatalf("there are fewer than %d predictions after a minute", n)
}

// lag is how many arrivals the group has not committed.
func (w *world) lag() int64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(w.broker)}
	committed, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: "test", Topics: map[string][]int{"arrivals": {0, 1, 2}}})
	if err != nil {
		w.t.Fatal(err)
	}
	lag := int64(0)
	for _, end := range w.ends("arrivals") {
		lag += end
	}
	for _, p := range committed.Topics["arrivals"] {
		lag -= max(0, p.CommittedOffset)
	}
	return lag
}
