package consumer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/test/expect"
)

// world is a broker with topics of their own for one consumer: the embedded one, which is taught to refuse what Kafka
// refuses, or the one that tools/kafka/kafka.sh runs in the directory RIVULET_TEST_KAFKA_DIR.
type world struct {
	t                       *testing.T
	client                  *kafka.Client
	admin                   *kgo.Client
	arrivals, outs, letters string
	exact                   bool         // exactly once
	clock                   retry.Clock  // of the sink
	log                     *slog.Logger // of the sink; nil: none
	seen                    *recorder
	records                 []kafka.Record // sent
}

// everywhere runs a test on both brokers and in both modes.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	for _, where := range []string{"embedded", "kafka"} {
		for _, mode := range []string{"at_least_once", "exactly_once"} {
			t.Run(where+"/"+mode, func(t *testing.T) {
				t.Parallel()
				w := &world{t: t, exact: mode == "exactly_once", clock: retry.SystemClock{}, seen: &recorder{}}
				w.connect(where)
				test(t, w)
			})
		}
	}
}

func (w *world) connect(where string) {
	w.t.Helper()
	var addresses []string
	if where == "kafka" {
		dir := os.Getenv("RIVULET_TEST_KAFKA_DIR")
		if dir == "" {
			w.t.Skip("RIVULET_TEST_KAFKA_DIR is not set to the directory of a broker that tools/kafka/kafka.sh runs")
		}
		port, err := os.ReadFile(filepath.Join(dir, "port"))
		if err != nil {
			w.t.Fatal(err)
		}
		addresses = []string{"127.0.0.1:" + strings.TrimSpace(string(port))}
	} else {
		k, err := devstack.StartKafka(devstack.KafkaOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(k.Close)
		teach(k)
		addresses = k.Addrs()
	}
	var err error
	if w.client, err = kafka.Connect(kafka.Options{Brokers: addresses, MetadataTTL: 200 * time.Millisecond}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.client.Close)
	if w.admin, err = kgo.NewClient(kgo.SeedBrokers(addresses...)); err != nil {
		w.t.Fatal(err)
	}
	suffix := fmt.Sprintf("-%d", time.Now().UnixNano())
	w.arrivals, w.outs, w.letters = "arrivals"+suffix, "predictions"+suffix, "letters"+suffix
	w.t.Cleanup(func() {
		remove := kmsg.NewDeleteTopicsRequest()
		remove.TopicNames = []string{w.arrivals, w.outs, w.letters}
		if _, err := remove.RequestWith(context.Background(), w.admin); err != nil {
			w.t.Error(err)
		}
		w.admin.Close()
	})
}

// settings are a topic's, as "max.message.bytes=4096".
type settings []string

// outPartitions is the number of partitions that the topic of predictions has. One key's are in one of them.
const outPartitions = 3

// create makes the topics; those of predictions and dead letters have settings.
func (w *world) create(outs, letters settings) {
	w.t.Helper()
	req := kmsg.NewCreateTopicsRequest()
	for name, settings := range map[string]settings{w.arrivals: nil, w.outs: outs, w.letters: letters} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		if name == w.outs {
			topic.NumPartitions = outPartitions
		}
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
		}
		req.Topics = append(req.Topics, topic)
	}
	res, err := req.RequestWith(w.t.Context(), w.admin)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, topic := range res.Topics {
		if topic.ErrorCode != 0 {
			w.t.Fatalf("creating %s: code %d", topic.Topic, topic.ErrorCode)
		}
	}
}

// send adds arrivals to the topic, in order.
func (w *world) send(records ...kafka.Record) {
	w.t.Helper()
	sink, err := kafka.NewSink(w.client, "", retry.Patience{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range records {
		records[i].Position.Offset = int64(len(w.records))
		w.records = append(w.records, records[i])
	}
	if err := sink.Send(w.t.Context(), w.arrivals, records); err != nil {
		w.t.Fatal(err)
	}
}

// good are n arrivals under a key, which go on from those sent before.
func (w *world) good(n int, key []byte) (out []kafka.Record) {
	w.t.Helper()
	for i := range n {
		a := arrival(fmt.Sprintf("n%d", len(w.records)+i), "t0")
		value, err := json.Codec{}.AppendArrival(nil, &a)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, kafka.Record{Key: key, Value: value})
	}
	return out
}

// serve runs a consumer until it has committed all that was sent.
func (w *world) serve(path PipelineOptions, batch int) {
	w.t.Helper()
	sink, err := kafka.NewSink(w.client, "", retry.Patience{Clock: w.clock, Logger: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	o := Options{Kafka: w.client, BatchSize: batch, Path: path, Source: kafka.SourceOptions{Group: w.arrivals,
		Topics: []string{w.arrivals}, FetchWait: 50 * time.Millisecond, SessionTimeout: 6 * time.Second}}
	to := producer.Options{Sink: sink, Predictions: w.outs, DeadLetters: w.letters}
	if w.exact {
		if to.Transactions, err = sink.Transactions(w.arrivals, 0); err != nil {
			w.t.Fatal(err)
		}
	}
	p, err := producer.New(to)
	if err != nil {
		w.t.Fatal(err)
	}
	if o.Path.Deliverer = p; w.exact {
		o.Transactions = to.Transactions
	}
	o.Path.Mode, o.Path.Observer = attach.Node, w.seen
	if o.Path.Versions == nil {
		o.Path.Versions = serve(newTestVersion("v1"))
	}
	c, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	for begin := time.Now(); w.committed() < int64(len(w.records)); {
		select {
		case err := <-done:
			w.t.Fatalf("Run ended by itself: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begin) > time.Minute {
			w.t.Fatalf("waited a minute, %d of %d arrivals are committed", w.committed(), len(w.records))
		}
	}
	cancel()
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// committed is the group's offset.
func (w *world) committed() int64 {
	w.t.Helper()
	req := kmsg.NewOffsetFetchRequest()
	req.Group = w.arrivals
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: w.arrivals, Partitions: []int32{0}}}
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = w.arrivals
	group.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: w.arrivals, Partitions: []int32{0}}}
	req.Groups = append(req.Groups, group)
	shards := w.admin.RequestSharded(w.t.Context(), &req)
	if len(shards) != 1 || shards[0].Err != nil {
		return -1 // the group has no coordinator yet
	}
	res := shards[0].Resp.(*kmsg.OffsetFetchResponse)
	for _, g := range res.Groups {
		for _, t := range g.Topics {
			return t.Partitions[0].Offset
		}
	}
	for _, t := range res.Topics {
		return t.Partitions[0].Offset
	}
	return -1
}

// ends are those of a topic's partitions, at the isolation level 0 with open transactions and at 1 without.
func (w *world) ends(topic string, isolation int8) map[int32]int64 {
	w.t.Helper()
	req := kmsg.NewListOffsetsRequest()
	req.IsolationLevel = isolation
	of := kmsg.NewListOffsetsRequestTopic()
	of.Topic = topic
	partitions := int32(1)
	if topic == w.outs {
		partitions = outPartitions
	}
	for k := range partitions {
		at := kmsg.NewListOffsetsRequestTopicPartition()
		at.Partition, at.Timestamp = k, -1
		of.Partitions = append(of.Partitions, at)
	}
	req.Topics = append(req.Topics, of)
	ends := make(map[int32]int64)
	for _, shard := range w.admin.RequestSharded(w.t.Context(), &req) {
		if shard.Err != nil {
			w.t.Fatal(shard.Err)
		}
		for _, p := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
			ends[p.Partition] = p.Offset
		}
	}
	return ends
}

// read returns what a read-committed reader finds in a topic.
func (w *world) read(topic string) (out []*kgo.Record) {
	w.t.Helper()
	for begin := time.Now(); !maps.Equal(w.ends(topic, 0), w.ends(topic, 1)); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			w.t.Fatalf("waited a minute for the end of a transaction in %s", topic)
		}
	}
	left := w.ends(topic, 1)
	maps.DeleteFunc(left, func(_ int32, end int64) bool { return end == 0 })
	reader, err := kgo.NewClient(kgo.SeedBrokers(w.admin.OptValue(kgo.SeedBrokers).([]string)...),
		kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 == left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// predicted holds the predictions against the arrivals of the offsets from 0 without some: each once, in order.
func (w *world) predicted(without ...int64) (out []*kgo.Record) {
	w.t.Helper()
	var want, got []string
	for i := range w.records {
		left := true
		for _, k := range without {
			left = left && k != int64(i)
		}
		if left {
			want = append(want, fmt.Sprint(i))
		}
	}
	out = w.read(w.outs)
	for _, r := range out {
		got = append(got, header(r, event.HeaderSourceOffset))
	}
	if a, b := strings.Join(want, " "), strings.Join(got, " "); a != b {
		w.t.Errorf("predictions are of the offsets\n%s\nwant\n%s", b, a)
	}
	return out
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// manyHeaders are 80,650 small ones: as a whole an arrival of just under 1 MiB, to which nothing can be added.
func manyHeaders() (headers []kafka.Header) {
	for range 80_650 {
		headers = append(headers, kafka.Header{Key: "h", Value: []byte("0123456789")})
	}
	return headers
}

// A dead letter that is larger than its record because of its own headers is published without the record's content.
func TestADeadLetterOfManyHeadersIsTrimmed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		w.create(nil, nil)
		w.send(w.good(3, []byte("k"))...)
		w.send(kafka.Record{Key: []byte("bad"), Value: []byte("{"), Headers: manyHeaders()})
		w.send(w.good(3, []byte("k"))...)
		w.serve(PipelineOptions{}, 16)
		w.predicted(3)
		letters := w.read(w.letters)
		if len(letters) != 1 || string(letters[0].Key) != "bad" || letters[0].Value != nil ||
			header(letters[0], event.HeaderSourceOffset) != "3" ||
			header(letters[0], event.HeaderTrimmed) != "80650 headers of 887150 bytes, value of 1 bytes" {
			t.Fatalf("%d dead letters, the first with the headers %v", len(letters),
				letters[0].Headers[:min(10, len(letters[0].Headers))])
		}
	})
}

// A topic that is compacted takes no record without a key.
func TestKeylessArrivalsGoToCompactedTopics(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		compacted := settings{"cleanup.policy=compact"}
		w.create(compacted, compacted)
		w.send(w.good(2, []byte("k"))...)
		w.send(w.good(1, nil)...)
		w.send(kafka.Record{Value: []byte("{")})
		w.send(w.good(2, nil)...)
		w.serve(PipelineOptions{}, 2)
		var keys []string
		seen := map[string]bool{}
		for _, r := range w.read(w.outs) {
			keys = append(keys, string(r.Key))
			seen[header(r, event.HeaderSourceOffset)] = true
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != "k k n2 n4 n5" || len(seen) != 5 {
			t.Errorf("predictions have the keys %s, of %d arrivals", got, len(seen))
		}
		letters := w.read(w.letters)
		if want := w.arrivals + "/0/3"; len(letters) != 1 || string(letters[0].Key) != want ||
			string(letters[0].Value) != "{" {
			t.Errorf("dead letters %v, want one under the key %s", letters, want)
		}
	})
}

// G7: A batch that is larger than the topic's max.message.bytes is split, an arrival whose prediction alone is larger
// becomes a dead letter and no node, a dead letter goes without its value, and one that is too large even so is
// dropped.
func TestSmallMessageSizes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		w.create(settings{"max.message.bytes=4096"}, settings{"max.message.bytes=2500"})
		w.send(w.good(100, []byte("k"))...)
		large := arrival(strings.Repeat("x", 6000), "t0")
		value, err := json.Codec{}.AppendArrival(nil, &large)
		expect.OK(t, err)
		w.send(kafka.Record{Key: []byte("large"), Value: value, Headers: []kafka.Header{{Key: "h", Value: []byte("1")}}})
		w.send(w.good(100, []byte("k"))...)
		w.send(kafka.Record{Key: []byte("bad"), Value: append([]byte("{"), bytes.Repeat([]byte(" "), 5000)...)})
		v := newGrowingVersion()
		w.serve(PipelineOptions{Versions: serve(v), Arrivals: true}, 128)
		w.predicted(100, 201)
		letters := w.read(w.letters)
		if len(letters) != 2 {
			t.Fatalf("%d dead letters, want 2", len(letters))
		}
		for k, want := range [][]string{{"large", "100", event.ReasonPredictionRefused},
			{"bad", "201", event.ReasonUnparsable}} {
			got := []string{string(letters[k].Key), header(letters[k], event.HeaderSourceOffset),
				header(letters[k], event.HeaderReason)}
			if fmt.Sprint(got) != fmt.Sprint(want) || letters[k].Value != nil ||
				!strings.Contains(header(letters[k], event.HeaderTrimmed), "value of ") {
				t.Errorf("dead letter %d is %v, want %v; trimmed %q", k, got, want, header(letters[k], event.HeaderTrimmed))
			}
		}
		if _, kept := v.store[large.ID]; kept || len(v.store) != 200 {
			t.Errorf("%d arrivals have rows, want 200 without the one that was not predicted", len(v.store))
		}
		if got := fmt.Sprint(w.seen.letters, w.seen.dropped); got != "[prediction_refused unparsable] []" {
			t.Errorf("dead letters and drops are counted as %s", got)
		}
	})
}

// Where no topic takes a dead letter, however small, it is dropped and counted, and the stream goes on.
func TestWhatNoTopicTakesIsDropped(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		w.create(nil, settings{"max.message.bytes=100"})
		w.send(w.good(2, []byte("k"))...)
		w.send(kafka.Record{Key: []byte("bad"), Value: []byte("{")})
		w.send(w.good(2, []byte("k"))...)
		w.serve(PipelineOptions{}, 16)
		w.predicted(2)
		if got := fmt.Sprint(w.seen.letters, w.seen.dropped); got != "[] [too_large]" || len(w.read(w.letters)) != 0 {
			t.Errorf("dead letters and drops are counted as %s", got)
		}
	})
}

// wrongClock is a clock that differs from the machine's, in nanoseconds, until that is set to 0.
type wrongClock struct{ by atomic.Int64 }

func (w *wrongClock) Now() time.Time { return time.Now().Add(time.Duration(w.by.Load())) }

func (*wrongClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	return retry.SystemClock{}.NewTimer(d)
}

// While this machine's clock is wrong by more than the topics allow, ahead or behind, publishing waits, and the log has
// both clocks. Once it is set right the stream goes on: nothing was dropped, and each record has the time at which it
// was published.
func TestAWrongClockIsAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit string
		by    time.Duration
	}{
		"ahead":  {"message.timestamp.after.max.ms=3600000", 61 * time.Minute},
		"behind": {"message.timestamp.before.max.ms=3600000", -61 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(t *testing.T, w *world) {
				var clock wrongClock
				clock.by.Store(int64(c.by))
				lines := &said{}
				w.clock, w.log = &clock, slog.New(slog.NewTextHandler(lines, nil))
				w.create(settings{c.limit}, settings{c.limit})
				w.send(w.good(20, []byte("k"))...)
				w.send(kafka.Record{Key: []byte("bad"), Value: []byte("{")})
				mended := make(chan error, 1)
				go func() { mended <- lines.mend(w, &clock) }()
				w.serve(PipelineOptions{}, 8)
				expect.OK(t, <-mended)
				for _, r := range append(w.predicted(20), w.read(w.letters)...) {
					if d := time.Since(r.Timestamp); d < -time.Second || d > time.Minute {
						t.Errorf("offset %d of %s is of %v, %v ago", r.Offset, r.Topic, r.Timestamp, d)
					}
				}
				if len(w.seen.dropped) > 0 || fmt.Sprint(w.seen.letters) != "[unparsable]" {
					t.Errorf("dead letters %v, dropped %v", w.seen.letters, w.seen.dropped)
				}
			})
		})
	}
}

// said is a log that is read while it is written.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// mend waits for the line of the outage, sees that nothing was published, and sets the clock right.
func (s *said) mend(w *world, clock *wrongClock) error {
	for begin := time.Now(); !strings.Contains(s.String(), "waiting for the brokers to take records"); {
		if time.Since(begin) > 30*time.Second {
			return fmt.Errorf("the log has no outage:\n%s", s)
		}
		time.Sleep(20 * time.Millisecond)
	}
	line := s.String()
	day, broker := clock.Now().UTC().Format("2006-01-02T15:"), time.Now().UTC().Format("2006-01-02T15:")
	if !strings.Contains(line, "this machine's clock says "+day) || !strings.Contains(line, "broker") ||
		strings.Contains(w.t.Name(), "ahead") && !strings.Contains(line, "the broker's "+broker) {
		return fmt.Errorf("the line does not have both clocks:\n%s", line)
	}
	time.Sleep(300 * time.Millisecond) // for what should not be there
	for at, end := range w.ends(w.outs, 0) {
		if end > 0 {
			return fmt.Errorf("partition %d has %d predictions", at, end)
		}
	}
	clock.by.Store(0)
	return nil
}
