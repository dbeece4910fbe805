package observe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/internal/httpd"
	"rivulet/internal/monitor"
	"rivulet/kafka"
	"rivulet/test/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns the status and the text of a path.
func ask(t *testing.T, o *Observer, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	o.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func wantStatus(t *testing.T, o *Observer, path string, status int, text string) {
	t.Helper()
	if s, body := ask(t, o, path); s != status || !strings.Contains(body, text) {
		t.Errorf("%s: got %d %q, want %d %q", path, s, body, status, text)
	}
}

var twoPartitions = []kafka.TopicPartition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}}

// /readyz says what a consumer waits for before it is in its group, and why it has no artifact.
func TestReadyzSaysWhy(t *testing.T) {
	version := ""
	trouble := errors.New("no version is published: trainer publish")
	o := New(monitor.Options{Version: func() string { return version }, Trouble: func() error { return trouble }})
	o.Retry(consumer.StageVersion, errors.New("no version"))
	wantStatus(t, o, "/readyz", 503, "no artifact is loaded: no version is published: trainer publish\n"+
		"the consumer group is not joined")
	version = "v1"
	o.Retry(consumer.StageTopics, errors.New("the topic x does not exist"))
	wantStatus(t, o, "/readyz", 503, "the consumer group is not joined: topics: the topic x does not exist")
	o.Rebalance(twoPartitions)
	wantStatus(t, o, "/readyz", 200, "ok")
	o.Retry(consumer.StageTopics, errors.New("the topic x does not exist")) // between two generations
	wantStatus(t, o, "/readyz", 503, "the topic x does not exist")
}

func TestReady(t *testing.T) {
	version := ""
	o := New(monitor.Options{Version: func() string { return version }})
	wantStatus(t, o, "/readyz", 503, "no artifact is loaded\nthe consumer group is not joined")
	o.Rebalance(nil) // a member without partitions is a member
	wantStatus(t, o, "/readyz", 503, "no artifact is loaded")
	version = "v1"
	wantStatus(t, o, "/readyz", 200, "ok")
	o.Retry(consumer.StageLookup, errors.New("Redis is away"))
	wantStatus(t, o, "/readyz", 200, "ok")
	o.Retry(consumer.StageGroup, errors.New("no coordinator"))
	wantStatus(t, o, "/readyz", 503, "the consumer group is not joined")
	o.Rebalance(twoPartitions)
	wantStatus(t, o, "/readyz", 200, "ok")
}

// A consumer with partitions must give a sign of life: a fetch, a batch or a retry.
// A consumer that Kafka holds to a quota is silent for as long as it was told to be.
func TestAliveInAPause(t *testing.T) {
	o, clock := newTestObserver()
	o.Rebalance(twoPartitions)
	o.Throttled("produce", time.Hour)
	o.Batch(aBatch()) // its own publish has asked for the pause
	clock.now = clock.now.Add(time.Hour + 2*time.Minute)
	wantStatus(t, o, "/healthz", 200, "ok")
	clock.now = clock.now.Add(time.Second)
	wantStatus(t, o, "/healthz", 503, "silent for 2m1s")
}

func TestAlive(t *testing.T) {
	o, clock := newTestObserver()
	later := func(d time.Duration) { clock.now = clock.now.Add(d) }
	later(time.Hour)
	wantStatus(t, o, "/healthz", 200, "ok") // waits for its group
	o.Rebalance(nil)
	later(time.Hour)
	wantStatus(t, o, "/healthz", 200, "ok") // has nothing to do
	o.Rebalance(twoPartitions)
	later(2 * time.Minute)
	wantStatus(t, o, "/healthz", 200, "ok")
	later(time.Second)
	wantStatus(t, o, "/healthz", 503, "the consumer has 2 partitions and was silent for 2m1s")
	for name, sign := range map[string]func(){
		"fetch":     func() { o.Lag(twoPartitions[0], 0) },
		"batch":     func() { o.Batch(aBatch()) },
		"retry":     func() { o.Retry(consumer.StageFetch, io.ErrUnexpectedEOF) },
		"rebalance": func() { o.Rebalance(twoPartitions) },
	} {
		later(time.Hour)
		wantStatus(t, o, "/healthz", 503, "silent")
		sign()
		if status, text := ask(t, o, "/healthz"); status != 200 {
			t.Errorf("after a %s: %d %s", name, status, text)
		}
	}
	o.Retry(consumer.StageGroup, errors.New("no coordinator"))
	later(time.Hour)
	wantStatus(t, o, "/healthz", 200, "ok") // joining has its own time-outs
}

func TestHandler(t *testing.T) {
	o, _ := newTestObserver()
	wantStatus(t, o, "/metrics", 200, `rivulet_arrivals_total{version="v1"} 0`)
	wantStatus(t, o, "/metrics", 200, "go_goroutines")
	wantStatus(t, o, "/elsewhere", 404, "")
	w := httptest.NewRecorder()
	o.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/healthz", http.NoBody))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /healthz: got %d", w.Code)
	}
}

// Serve answers until its context ends; then it returns nil and the port is free again.
func TestServe(t *testing.T) {
	o, _ := newTestObserver()
	listener, err := httpd.Listen(t.Context(), "http.listen", "127.0.0.1:0")
	expect.OK(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- o.Serve(ctx, listener, nil) }()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/healthz",
		http.NoBody)
	expect.OK(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	expect.OK(t, err)
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "ok\n" {
		t.Errorf("got %q, %v", body, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}

	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve gives %v", err)
	}
	again, err := new(net.ListenConfig).Listen(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A stream whose batch waits for Redis is told from one that moves: by the metric at once, by readiness after half a
// minute. It is alive all the while, because a restart would not help.
func TestAStreamThatStandsIsNotReady(t *testing.T) {
	o, clock := newTestObserver()
	o.Rebalance([]kafka.TopicPartition{{Topic: "arrivals"}})
	stalled := func(want string) {
		t.Helper()
		text := "# HELP rivulet_stalled_seconds How long a batch in hand has waited without any delivery, or an arrival for " +
			"edges beyond attach.wait; 0: the stream moves.\n" +
			"# TYPE rivulet_stalled_seconds gauge\nrivulet_stalled_seconds " + want + "\n"
		if err := testutil.GatherAndCompare(o.metrics.registry, strings.NewReader(text), "rivulet_stalled_seconds"); err != nil {
			t.Error(err)
		}
	}
	o.Retry(consumer.StageFetch, errors.New("a broker is away"))
	clock.now = clock.now.Add(time.Hour)
	stalled("0")
	for range 4 {
		o.Retry(consumer.StageRows, errors.New("OOM command not allowed"))
		clock.now = clock.now.Add(10 * time.Second)
	}
	stalled("40")
	wantStatus(t, o, "/readyz", 503, "the stream has stood for 40s: rows: OOM command not allowed")
	wantStatus(t, o, "/healthz", 200, "ok")
	o.Batch(consumer.BatchStats{Delivered: &event.Batch{}})
	stalled("0")
	wantStatus(t, o, "/readyz", 200, "ok")
}

// An arrival's time has the id of its trace beside it, in the form that Prometheus asks for exemplars in.
func TestExemplars(t *testing.T) {
	o, _ := newTestObserver()
	b := aBatch()
	for i := range b.Delivered.Predictions {
		b.Delivered.Predictions[i].IngestTime = b.Published.Add(-time.Second)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	b.Delivered.Predictions[0].Trace.Parent = []byte("00-" + id + "-b7ad6b7169203331-01")
	o.Batch(b)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	o.Handler().ServeHTTP(w, r)
	if want := `# {trace_id="` + id + `"} 1.0`; strings.Count(w.Body.String(), want) != 1 {
		t.Errorf("%q is not there once", want)
	}
}

// A consumer whose arrivals wait for edges for half a minute too long is not ready, and says which arrival holds them.
func TestArrivalsThatWaitTooLongAreAStall(t *testing.T) {
	o := New(monitor.Options{Version: func() string { return "v1" }})
	o.Rebalance(twoPartitions)
	first := kafka.Position{Topic: "a", Partition: 1, Offset: 7}
	o.Window(twoPartitions[0], window.Stats{Overdue: 3 * time.Second})
	o.Window(twoPartitions[1], window.Stats{First: first, Held: 36 * time.Second, Overdue: 29 * time.Second})
	wantStatus(t, o, "/readyz", 200, "ok")
	o.Window(twoPartitions[1], window.Stats{First: first, Held: 38 * time.Second, Overdue: 31 * time.Second})
	wantStatus(t, o, "/readyz", 503, "has stood for 31s: the arrival at offset 7 of a/1 has held its partition for 38s")
	wantStatus(t, o, "/metrics", 200, "rivulet_stalled_seconds 31\n")
	wantStatus(t, o, "/healthz", 200, "ok") // a new process would read the same records
	o.Window(twoPartitions[1], window.Stats{})
	wantStatus(t, o, "/readyz", 200, "ok")
	wantStatus(t, o, "/metrics", 200, "rivulet_stalled_seconds 3\n")
	o.Rebalance(twoPartitions[1:])
	wantStatus(t, o, "/metrics", 200, "rivulet_stalled_seconds 0\n")
}
