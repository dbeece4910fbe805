package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/harness"
)

// growing is a stream whose consumers have arrivals attach to arrivals: topics of its own, keys in Redis of its own,
// and readers of published records.
type growing struct {
	*world
	suffix, prefix string
	partitions     int
	attach         string // settings beside those of rows
	store          *redis.Client
	sender         *kgo.Client

	mu   sync.Mutex
	sent map[string]event.Arrival
	at   [][]string // ids by partition and offset
	// by id of the arrival, as a read-uncommitted reader sees them, aborted ones included
	published map[string][]event.Prediction
	committed map[string][]event.Prediction // as a read-committed reader sees them
	letters   int
}

// newServices returns a broker and a Redis without artifacts; a real broker instead of the embedded one if there is
// one.
func newServices(t *testing.T, broker *harness.Broker) *world {
	t.Helper()
	w := bareWorld(t)
	if broker != nil {
		w.use(broker.Addr(harness.Plaintext))
	}
	return w
}

// newGrowing makes a stream over topics with a number of partitions.
func newGrowing(w *world, partitions int) *growing {
	w.t.Helper()
	suffix := newSuffix()
	s := &growing{world: w, suffix: suffix, prefix: "grow" + suffix, partitions: partitions,
		sent: map[string]event.Arrival{},
		at:   make([][]string, partitions), published: map[string][]event.Prediction{},
		committed: map[string][]event.Prediction{}}
	options, err := redis.ParseURL(w.redis)
	w.must(err)
	s.store = redis.NewClient(options)
	w.t.Cleanup(func() { // of a Redis that others may use
		_ = harness.Erase(context.Background(), s.store, harness.Below(s.prefix)...)
		_ = s.store.Close()
	})
	s.makeTopics(map[string]int{s.topic("arrivals"): s.partitions, s.topic("predictions"): 2, s.topic("letters"): 1,
		s.topic("labels"): 1})
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(-1))
	w.must(err)
	w.t.Cleanup(s.sender.Close)
	s.read(kgo.ReadUncommitted(), s.published)
	s.read(kgo.ReadCommitted(), s.committed)
	return s
}

func (s *growing) topic(name string) string { return name + s.suffix }

// member starts a consumer that reaches the broker at an address, with a setting of delivery.
func (s *growing) member(broker, delivery string) *harness.Process {
	s.t.Helper()
	name := "consumer-" + s.suffix + strings.ReplaceAll(broker, ":", "-") + ".yaml"
	s.write(name, fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %q
  session_timeout: %v
  topics: {arrivals: %q, predictions: %q, dead_letters: %q}
redis: {url: %q, prefix: %q, poll_interval: 50ms}
delivery: %s
attach: {arrivals: on, ttl: 1h%s}
batch: {mode: node, size: 32, linger: 20ms}
output: {probabilities: true, logits: true}
http: {listen: ""}
log: {level: warn}
`, broker, s.topic("group"), sessionTimeout, s.topic("arrivals"), s.topic("predictions"), s.topic("letters"),
		s.redis, s.prefix, delivery, s.attach))
	return s.consumer(name)
}

// publish makes an artifact CURRENT.
func (s *growing) publish(artifact string) {
	s.t.Helper()
	file := "publish" + s.suffix + ".yaml"
	s.write(file, fmt.Sprintf("artifact: %q\nredis: {url: %q, prefix: %q}\n", s.Path(artifact), s.redis, s.prefix))
	s.run("trainer", "publish", "--config", s.Path(file))
}

// send writes arrivals to the partitions in turn and returns when they are stored.
func (s *growing) send(arrivals ...event.Arrival) error {
	var records []*kgo.Record
	for k := range arrivals {
		value, err := json.Codec{}.AppendArrival(nil, &arrivals[k])
		if err != nil {
			return err
		}
		s.mu.Lock()
		partition := len(s.sent) % s.partitions
		s.sent[arrivals[k].ID] = arrivals[k]
		s.at[partition] = append(s.at[partition], arrivals[k].ID)
		s.mu.Unlock()
		records = append(records, &kgo.Record{Topic: s.topic("arrivals"), Partition: int32(partition),
			Key: []byte(arrivals[k].ID), Value: value})
	}
	return s.sender.ProduceSync(s.t.Context(), records...).FirstErr()
}

// load sends the results of next for numbers from 0, a number of them every 50 ms, until stop is called; it returns
// when all is stored.
func (s *growing) load(each int, next func(n int) event.Arrival) (stop func()) {
	n := 0
	return repeatedly(s.t, func() error {
		arrivals := make([]event.Arrival, each)
		for k := range arrivals {
			arrivals[k] = next(n + k)
		}
		n += each
		return s.send(arrivals...)
	})
}

// read records predictions, and counts committed dead letters, until the test ends.
func (s *growing) read(level kgo.IsolationLevel, into map[string][]event.Prediction) {
	s.t.Helper()
	note := func(r *kgo.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var p event.Prediction
		if r.Topic == s.topic("letters") {
			if level == kgo.ReadCommitted() {
				s.letters++
			}
		} else if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
			s.t.Error(err)
		} else {
			into[p.ID] = append(into[p.ID], p)
		}
	}
	s.follow(note, level, s.topic("predictions"), s.topic("letters"))
}

// await waits until a condition holds; the records do not change while it is checked.
func (s *growing) await(what string, condition func() bool) {
	s.t.Helper()
	s.world.await(what, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return condition()
	}, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Sprintf("%d of %d arrivals are predicted, the group has %v", len(s.committed), len(s.sent),
			s.groupOffsets())
	})
}

// awaitMembers waits until the group has this number of members, the dead ones gone, and each of them partitions.
func (s *growing) awaitMembers(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("the group has %d members with partitions", n), func() bool {
		stable, err := s.kafka.stable(s.t.Context(), s.topic("group"), n)
		s.must(err)
		return stable
	})
}

// groupOffsets returns the group's committed offsets, by partition.
func (s *growing) groupOffsets() map[int]int64 {
	s.t.Helper()
	offsets, err := s.kafka.committed(context.WithoutCancel(s.t.Context()), s.topic("group"), s.topic("arrivals"))
	s.must(err)
	return offsets
}

// storedRows returns the rows of arrivals of a version in Redis, by id. Their keys must expire.
func (s *growing) storedRows(version string) map[string]string {
	s.t.Helper()
	rows := map[string]string{}
	keys, err := harness.Keys(s.t.Context(), s.store, s.prefix+":"+version+":*:a:*")
	s.must(err)
	for _, key := range keys {
		row, err := s.store.Get(s.t.Context(), key).Result()
		s.must(err)
		if left := s.store.PTTL(s.t.Context(), key).Val(); left <= 0 {
			s.t.Errorf("%s does not expire", key)
		}
		_, id, _ := strings.Cut(key, ":a:")
		rows[id] = row
	}
	return rows
}
