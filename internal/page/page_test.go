package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rivulet/artifact/artifacttest"
	"rivulet/consumer"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "localhost:9466"

// nowhere takes no predictions: what is explained is not delivered.
type nowhere struct{}

func (nowhere) Publish(context.Context, event.Batch, kafka.Offsets) ([]kafka.Refusal, error) {
	panic("an explanation was delivered")
}

// pinnedVersion serves one version, or none.
type pinnedVersion struct{ v *serving.Version }

func (p pinnedVersion) Current() *serving.Version { return p.v }

// redis has the contents of Redis.
type redis struct {
	mu       sync.Mutex
	versions []serving.VersionInfo
	err      error
	asked    [][2]string
}

func (r *redis) Versions(context.Context) ([]serving.VersionInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.versions), r.err
}

func (r *redis) Activate(_ context.Context, version, expected string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, [2]string{version, expected})
	if expected != "old" {
		return &serving.ConflictError{Version: version, Expected: expected, Found: "old"}
	}
	return nil
}

// bench is a page with a broker.
type bench struct {
	t     *testing.T
	kafka *devstack.Kafka
	sink  *kafka.Sink
	page  *Page
	redis *redis
	ids   []string // of T
	log   bytes.Buffer
}

// newBench returns a page that does not run yet.
func newBench(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, redis: &redis{}}
	var err error
	b.kafka, err = devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 2, "predictions": 2,
		"dead": 1, "labels": 1}})
	expect.OK(t, err)
	client, err := kafka.Connect(kafka.Options{Brokers: b.kafka.Addrs(), MetadataTTL: 100 * time.Millisecond})
	expect.OK(t, err)
	t.Cleanup(func() {
		client.Close()
		b.kafka.Close()
	})
	if b.sink, err = kafka.NewSink(client, "", retry.Patience{}); err != nil {
		t.Fatal(err)
	}
	bundle := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, bundle.Seal())
	b.ids = bundle.Mapping.IDs
	v, _, err := serving.New(bundle, mapping.FromArtifact(bundle.Mapping), serving.Options{})
	expect.OK(t, err)
	o := Options{Topics: Topics{"arrivals", "predictions", "dead"}, Group: "g", History: time.Minute,
		Versions:     pinnedVersion{v},
		Publications: b.redis, Guard: Guard{Hosts: []string{host}}, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		LabelForms: (&read.Reader{}).OfLabels(), Decoder: consumer.NewDecoder(read.Reader{}, event.Limits{}),
		LitDecoder: consumer.NewDecoder(read.Reader{}, event.Limits{})}
	for topic, to := range map[string]**kafka.Reader{"arrivals": &o.Arrivals, "predictions": &o.Predictions,
		"dead": &o.DeadLetters, "labels": &o.Labels} {
		if *to, err = kafka.NewReader(client, kafka.ReaderOptions{Topic: topic}, retry.Patience{}); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&o)
	}
	var pinned consumer.Pin
	if v := o.Versions.Current(); v != nil {
		pinned.Version = v
	}
	path := consumer.PipelineOptions{Versions: pinned, Deliverer: nowhere{},
		Mode:   attach.Node,
		Output: consumer.Output{Probabilities: true}}
	for _, to := range []**consumer.Pipeline{&o.Records, &o.Tried} {
		if *to, err = consumer.NewPipeline(path); err != nil {
			t.Fatal(err)
		}
	}
	b.page = New(o)
	return b
}

// start runs the page until the test ends.
func (b *bench) start() {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.page.Run(ctx, l) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bench) send(topic string, records ...kafka.Record) {
	b.t.Helper()
	if err := b.sink.Send(b.t.Context(), topic, records); err != nil {
		b.t.Fatal(err)
	}
}

// predict publishes predictions of arrivals.
func (b *bench) predict(all ...event.Prediction) {
	b.t.Helper()
	var records []kafka.Record
	for i := range all {
		p := &all[i]
		value, err := (eventjson.Codec{}).AppendPrediction(nil, p)
		if err != nil {
			b.t.Fatal(err)
		}
		headers, _ := event.AppendPredictionHeaders(nil, nil, p, "application/json")
		records = append(records, kafka.Record{Key: []byte(p.ID), Value: value, Headers: headers})
	}
	b.send("predictions", records...)
}

func prediction(id string, class int, version string, at event.Source) event.Prediction {
	return event.Prediction{ID: id, Class: class, ClassName: fmt.Sprint("c", class), Probability: 0.75, Artifact: version,
		Source: at,
		Known:  1, Unknown: 1, IngestTime: time.Now().Add(-20 * time.Millisecond)}
}

// ask asks the page's handler.
func (b *bench) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for k := 0; k < len(headers); k += 2 {
		if headers[k] == "Host" {
			r.Host = headers[k+1]
			continue
		}
		r.Header.Set(headers[k], headers[k+1])
	}
	w := httptest.NewRecorder()
	b.page.Handler().ServeHTTP(w, r)
	return w
}

// get asks for data.
func get[V any](b *bench, path string) (v V) {
	b.t.Helper()
	w := b.ask(http.MethodGet, path, "")
	if w.Code != http.StatusOK {
		b.t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		b.t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return v
}

func (b *bench) await(what string, so func() bool) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if so() {
			return
		}
	}
	b.t.Fatalf("not in 20 s: %s", what)
}

func TestTheStreamIsWhatTheTopicsSay(t *testing.T) {
	b := newBench(t, nil)
	for i := range 6 {
		b.send("arrivals", kafka.Record{Value: fmt.Appendf(nil, `{"id":"%d","features":[1,2,3]}`, i)})
	}
	b.predict(prediction("before", 1, "v1", event.Source{Topic: "arrivals"}))
	b.start() // it begins with what was there
	b.await("the first prediction", func() bool { return len(get[Stream](b, "/api/stream").Feed) == 1 })
	b.predict(prediction("a", 0, "v1", event.Source{Topic: "arrivals", Offset: 1}),
		prediction("b", 1, "v1", event.Source{Topic: "arrivals", Partition: 1, Offset: 7}))
	b.send("dead", kafka.Record{Key: []byte("x"), Value: []byte(`{"id":"x","features":[1]}`)})
	var s Stream
	b.await("all of it", func() bool {
		s = get[Stream](b, "/api/stream")
		return len(s.Feed) == 3 && s.Totals == [topics]int64{6, 3, 1} && s.Lagged
	})
	if s.Latency.Samples != 3 || s.Latency.P50 == nil || *s.Latency.P50 < 15 || *s.Latency.P50 > 10_000 {
		t.Errorf("latency is %+v, want 3 samples of some 20 ms", s.Latency)
	}
	if len(s.Marks) != 1 || s.Marks[0].Text != "version v1 predicts" {
		t.Errorf("marks are %+v, want one of v1", s.Marks)
	}
	lag := int64(0)
	for _, l := range s.Lag {
		lag += l.Lag
		if l.Committed != nil {
			t.Errorf("partition %d: %d was committed, want nothing", l.Partition, *l.Committed)
		}
	}
	if lag != 6 || len(s.Lag) != 2 {
		t.Errorf("lag is %+v, want 6 in 2 partitions", s.Lag)
	}
	if c := s.Drift.Classes; len(c) != 2 || c[0].Name != "c1" || c[0].Share < 0.66 || c[0].Share > 0.67 {
		t.Errorf("classes are %+v, want c1 with two thirds", c)
	}
	if u := s.Drift.Unknown; u == nil || *u != 0.5 {
		t.Errorf("share of unknown neighbours is %v, want 0.5", u)
	}
	last := s.Feed[0].Seq
	if again := get[Stream](b, fmt.Sprint("/api/stream?sample=", last)); len(again.Feed) != 0 {
		t.Errorf("after the last sample came %+v", again.Feed)
	}
	b.await("the rates of the last seconds", func() bool {
		c := get[Stream](b, "/api/stream").Columns
		return len(c.Time) > 0 && len(c.In) == len(c.Time) && c.In[len(c.In)-1] != nil && *c.In[len(c.In)-1] == 0
	})
}

func TestAPageCopesWithWhatIsMissing(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Versions = pinnedVersion{} })
	b.start()
	b.await("an empty stream", func() bool { return get[Stream](b, "/api/stream").Lagged })
	s := get[Stream](b, "/api/stream")
	if s.Latency.P50 != nil || len(s.Feed) != 0 || s.Drift.Samples != 0 || len(s.Status.Troubles) != 0 {
		t.Errorf("an empty stream is %+v", s)
	}
	if w := b.ask(http.MethodPost, "/api/try", `{"id":"x","features":[1,2,3]}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without a version: status %d, %s", w.Code, w.Body)
	}
	b.redis.mu.Lock()
	b.redis.err = io.ErrUnexpectedEOF
	b.redis.mu.Unlock()
	b.await("Redis is said to be lost", func() bool {
		return get[Versions](b, "/api/versions").Status.last("redis: versions") != nil
	})
	b.redis.mu.Lock()
	b.redis.err = nil
	b.redis.mu.Unlock()
	b.await("Redis is back", func() bool {
		return get[Versions](b, "/api/versions").Status.last("redis: versions") == nil
	})
	expect.OK(t, b.kafka.Cluster.DeleteTopic("predictions"))
	b.await("the topic is said to be gone", func() bool {
		return get[Stream](b, "/api/stream").Status.last("kafka: topic predictions") != nil
	})
	expect.OK(t, b.kafka.Cluster.CreateTopic("predictions", 2, nil))
	b.predict(prediction("new", 0, "v2", event.Source{Topic: "arrivals"}))
	b.await("the new topic is read, and said to be new", func() bool {
		s := get[Stream](b, "/api/stream")
		return len(s.Feed) == 1 && slices.ContainsFunc(s.Marks, func(m Mark) bool {
			return m.Text == "topic predictions was made anew"
		})
	})
}

func TestAnArrivalIsTakenApart(t *testing.T) {
	b := newBench(t, nil)
	body := fmt.Sprintf(`{"id":"n","features":[1,-2,0.5],"edges":[%q,"nobody"]}`, b.ids[0])
	b.send("arrivals", kafka.Record{Key: []byte("n"), Value: []byte(body)})
	place := Place{-1, 0}
	for p := range 2 {
		if _, err := b.page.o.Arrivals.At(t.Context(), p, 0); err == nil {
			place.Partition = p
		}
	}
	b.start()
	b.predict(prediction("n", 0, "v1", event.Source{Topic: "arrivals", Partition: place.Partition}))
	b.await("the prediction", func() bool { return len(get[Stream](b, "/api/stream").Feed) == 1 })
	byPlace := get[Answer](b, fmt.Sprintf("/api/arrival?partition=%d&offset=0", place.Partition))
	byID := get[Answer](b, "/api/arrival?id=n")
	if byPlace.ID != "n" || byID.ID != "n" || *byID.Place != place {
		t.Errorf("by place: %+v; by id: %+v", byPlace, byID)
	}
	if byID.Published == nil || byID.Published.Artifact != "v1" {
		t.Errorf("published is %+v, want the prediction on the topic", byID.Published)
	}
	if byID.Known != 1 || byID.Unknown != 1 || len(byID.Neighbours) != 2 || len(byID.Features) != 3 ||
		len(byID.Scores) != 2 {
		t.Errorf("the answer is %+v", byID)
	}
	sum := byID.Bias.Margin + byID.Centring.Margin
	for _, term := range slices.Concat(byID.Features, byID.Neighbours) {
		sum += term.Share.Margin
	}
	if d := sum - byID.Logit.Margin; d > 1e-4 || d < -1e-4 {
		t.Errorf("the shares add up to %g, want the lead of %g", sum, byID.Logit.Margin)
	}
	// The arrival, written on the page, has the same answer; a changed one has another.
	tried := func(body string) (a Answer) {
		w := b.ask(http.MethodPost, "/api/try", body)
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		return a
	}
	if again := tried(string(byID.Arrival)); again.Probability != byID.Probability || again.Class != byID.Class {
		t.Errorf("tried again: %g of class %d, want %g of %d", again.Probability, again.Class, byID.Probability, byID.Class)
	}
	if other := tried(strings.Replace(body, "-2", "20", 1)); other.Probability == byID.Probability {
		t.Error("another feature changes nothing")
	}
	for body, reason := range map[string]string{`{"id":"n","features":[1]}`: event.ReasonFeatureLength,
		`{"id":`: event.ReasonUnparsable} {
		if w := b.ask(http.MethodPost, "/api/try", body); w.Code != http.StatusUnprocessableEntity ||
			!strings.Contains(w.Body.String(), reason) {
			t.Errorf("%s: status %d, %s; want %s", body, w.Code, w.Body, reason)
		}
	}
	for path, status := range map[string]int{"/api/arrival?id=nobody": 404, "/api/arrival?partition=0&offset=99": 404,
		"/api/arrival?partition=9&offset=0": 404,
		"/api/arrival":                      400, "/api/arrival?partition=-1&offset=0": 400, "/api/stream?after=x": 400} {
		if w := b.ask(http.MethodGet, path, ""); w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

func TestActivatingSaysWhatItExpects(t *testing.T) {
	info := []serving.VersionInfo{{Version: "old", State: serving.Complete, Current: true},
		{Version: "new", State: serving.Complete}}
	without := newBench(t, nil)
	without.redis.versions = info
	if w := without.ask(http.MethodPost, "/api/activate", `{"version":"new","expect":"old"}`); w.Code == http.StatusOK ||
		len(without.redis.asked) > 0 {
		t.Errorf("without credentials: status %d", w.Code)
	}
	expect.OK(t, without.page.list(t.Context()))
	if v := get[Versions](without, "/api/versions"); v.CanActivate || v.Current != "old" || len(v.Versions) != 2 ||
		v.Versions[0].Version != "new" {
		t.Errorf("versions are %+v", v)
	}
	b := newBench(t, nil)
	b.redis.versions = info
	b.page.o.Activator = b.redis
	for body, status := range map[string]int{`{"version":"new","expect":"old"}`: 200,
		`{"version":"new","expect":"other"}`: 409,
		`{"version":"a/b","expect":"old"}`:   400, `[]`: 400} {
		if w := b.ask(http.MethodPost, "/api/activate", body); w.Code != status {
			t.Errorf("%s: status %d (%s), want %d", body, w.Code, w.Body, status)
		}
	}
	if !slices.Contains(b.redis.asked, [2]string{"new", "old"}) || len(b.redis.asked) != 2 {
		t.Errorf("Redis was asked %v", b.redis.asked)
	}
	if !strings.Contains(b.log.String(), "CURRENT was moved on the page") ||
		!strings.Contains(b.log.String(), "CURRENT was not moved on the page") {
		t.Errorf("the log has\n%s", &b.log)
	}
	if !get[Versions](b, "/api/versions").CanActivate {
		t.Error("the page does not say that versions can be activated")
	}
}

func TestLabelsGiveAccuracyByVersion(t *testing.T) {
	b := newBench(t, nil)
	b.redis.versions = []serving.VersionInfo{{Version: "v1", State: serving.Complete}}
	b.start()
	b.predict(prediction("right", 1, "v1", event.Source{}), prediction("wrong", 0, "v1", event.Source{Offset: 1}))
	b.await("predictions", func() bool { return len(get[Stream](b, "/api/stream").Feed) == 2 })
	for _, l := range []event.Label{{ID: "right", Class: 1}, {ID: "wrong", Class: event.ByName, ClassName: "c1"},
		{ID: "nobody", Class: 1}} {
		value, err := (eventjson.Codec{}).AppendLabel(nil, &l)
		expect.OK(t, err)
		b.send("labels", kafka.Record{Value: value})
	}
	b.await("accuracy", func() bool {
		all := get[Versions](b, "/api/versions").Versions
		return len(all) == 1 && all[0].Accuracy != nil && *all[0].Accuracy == Accuracy{"v1", 2, 1}
	})
}

// last is the error of something that fails now.
func (s Status) last(what string) error {
	for _, t := range s.Troubles {
		if t.What == what {
			return fmt.Errorf("%s: %s", t.What, t.Error)
		}
	}
	return nil
}

// A body that is late is 408, and not said to be too large.
func TestLateBody(t *testing.T) {
	w := httptest.NewRecorder()
	if _, ok := readBody(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/try", late{})); ok ||
		w.Code != http.StatusRequestTimeout {
		t.Errorf("status %d, want 408", w.Code)
	}
	w = httptest.NewRecorder()
	large := strings.NewReader(strings.Repeat(" ", maxBody+1))
	if _, ok := readBody(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/try", large)); ok ||
		w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", w.Code)
	}
}

// late is a body whose deadline has passed.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// Other writers of the topic of dead letters decide how long texts are; the page keeps the beginning.
func TestDeadLettersAreCut(t *testing.T) {
	long := []byte(strings.Repeat("x", 1<<20))
	d := deadLetterOf(&kafka.Record{Key: long, Value: long, Headers: []kafka.Header{{Key: event.HeaderReason, Value: long},
		{Key: event.HeaderDetail, Value: append([]byte("features: "), long...)},
		{Key: event.HeaderSourceTopic, Value: long}}})
	if kept := len(d.Key) + len(d.Value) + len(d.Reason) + len(d.Detail) + len(d.Topic) + len(d.Field); kept > 8<<10 ||
		d.Field != "features" {
		t.Errorf("%d bytes are kept of a dead letter of five texts of 1 MiB, its field is %q", kept, d.Field)
	}
}
