package integration

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/infer"
	"rivulet/mapping"
)

// growing is a stream whose consumers have arrivals attach to arrivals: topics of its own, keys in Redis of its own, and readers of
// what is published.
type growing struct {
	*world
	suffix, prefix string
	partitions     int
	store          *redis.Client
	sender         *kgo.Client

	mu        sync.Mutex
	sent      map[string]event.Arrival
	at        [][]string                    // ids by partition and offset
	published map[string][]event.Prediction // by id of the arrival, as a reader of everything sees them, what was aborted with it
	committed map[string][]event.Prediction // as a read-committed reader sees them
	letters   int
}

// services are a broker and a Redis without artifacts; a real broker instead of the embedded one where there is one.
func newServices(t *testing.T, broker *realKafka) *world {
	t.Helper()
	w := bareWorld(t)
	if broker != nil {
		w.broker = broker.addr(plaintext)
	}
	return w
}

// newGrowing makes a stream over topics of as many partitions.
func newGrowing(w *world, partitions int) *growing {
	w.t.Helper()
	suffix := fmt.Sprintf("-%d", time.Now().UnixNano())
	s := &growing{world: w, suffix: suffix, prefix: "grow" + suffix, partitions: partitions, sent: map[string]event.Arrival{},
		at: make([][]string, partitions), published: map[string][]event.Prediction{}, committed: map[string][]event.Prediction{}}
	options, err := redis.ParseURL(w.redis)
	if err != nil {
		w.t.Fatal(err)
	}
	s.store = redis.NewClient(options)
	w.t.Cleanup(s.forget)
	s.topics()
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(w.broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.sender.Close)
	s.read(kgo.ReadUncommitted(), s.published)
	s.read(kgo.ReadCommitted(), s.committed)
	return s
}

// forget removes the stream's keys, of a Redis that others may use.
func (s *growing) forget() {
	ctx := context.Background()
	for _, pattern := range []string{s.prefix + ":*", "{" + s.prefix + "}:*"} {
		for it := s.store.Scan(ctx, 0, pattern, 1000).Iterator(); it.Next(ctx); {
			s.store.Unlink(ctx, it.Val())
		}
	}
	_ = s.store.Close()
}

func (s *growing) topic(name string) string { return name + s.suffix }

func (s *growing) topics() {
	s.t.Helper()
	transport := &kafka.Transport{}
	client := &kafka.Client{Addr: kafka.TCP(s.broker), Transport: transport, Timeout: time.Minute}
	s.t.Cleanup(transport.CloseIdleConnections)
	remove := makeTopics(s.t, client, map[string]int{s.topic("arrivals"): s.partitions, s.topic("predictions"): 2, s.topic("letters"): 1, s.topic("labels"): 1})
	s.t.Cleanup(func() { _ = remove() })
}

// member starts a consumer that reaches the broker at an address, and delivers as that says.
func (s *growing) member(broker, delivery string) *exec.Cmd {
	s.t.Helper()
	name := "consumer-" + strings.ReplaceAll(broker, ":", "-") + ".yaml"
	s.write(name, fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %q
  session_timeout: %v
  topics: {arrivals: %q, predictions: %q, dead_letters: %q}
redis: {url: %q, prefix: %q, poll_interval: 50ms}
delivery: %s
attach: {arrivals: on, ttl: 1h}
batch: {mode: node, size: 32, linger: 20ms}
output: {probabilities: true, logits: true}
http: {listen: ""}
log: {level: warn}
`, broker, s.topic("group"), sessionTimeout, s.topic("arrivals"), s.topic("predictions"), s.topic("letters"), s.redis, s.prefix, delivery))
	cmd := exec.Command(filepath.Join(s.bin, "consumer"), "--config", s.path(name))
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// publish makes an artifact CURRENT.
func (s *growing) publish(artifact string) {
	s.t.Helper()
	file := "publish" + s.suffix + ".yaml"
	s.write(file, fmt.Sprintf("artifact: %q\nredis: {url: %q, prefix: %q}\n", s.path(artifact), s.redis, s.prefix))
	s.run("trainer", "publish", "--config", s.path(file))
}

// send writes arrivals to the partitions in turn and returns when they are stored.
func (s *growing) send(arrivals ...event.Arrival) error {
	var records []*kgo.Record
	for k := range arrivals {
		value, err := event.JSON{}.AppendArrival(nil, &arrivals[k])
		if err != nil {
			return err
		}
		s.mu.Lock()
		partition := len(s.sent) % s.partitions
		s.sent[arrivals[k].ID] = arrivals[k]
		s.at[partition] = append(s.at[partition], arrivals[k].ID)
		s.mu.Unlock()
		records = append(records, &kgo.Record{Topic: s.topic("arrivals"), Partition: int32(partition), Key: []byte(arrivals[k].ID), Value: value})
	}
	return s.sender.ProduceSync(s.t.Context(), records...).FirstErr()
}

// load sends what next makes of numbers from 0, so many every 50 ms, until stop is called; it returns when all is stored.
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

// read notes predictions and counts dead letters until the test ends.
func (s *growing) read(level kgo.IsolationLevel, into map[string][]event.Prediction) {
	s.t.Helper()
	note := func(r *kgo.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var p event.Prediction
		if r.Topic == s.topic("letters") {
			s.letters++
		} else if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
			s.t.Error(err)
		} else {
			into[p.ID] = append(into[p.ID], p)
		}
	}
	readOn(s.t, note, kgo.SeedBrokers(s.broker), kgo.ConsumeTopics(s.topic("predictions"), s.topic("letters")),
		kgo.FetchIsolationLevel(level), kgo.FetchMaxWait(50*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
}

// await waits until a condition holds; it is asked for with what is noted held still.
func (s *growing) await(what string, condition func() bool) {
	s.t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		done, sent, predicted := condition(), len(s.sent), len(s.committed)
		s.mu.Unlock()
		if done {
			return
		}
		if time.Since(begin) > time.Minute {
			s.t.Fatalf("waited a minute until %s; %d of %d arrivals are predicted, the group has %v of %v", what, predicted, sent, s.groupOffsets(), s.at)
		}
	}
}

// awaitMembers waits until the group has so many members, the dead ones gone, and each of them partitions.
func (s *growing) awaitMembers(n int) {
	s.t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(s.broker), Timeout: time.Minute}
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		groups, err := client.DescribeGroups(s.t.Context(), &kafka.DescribeGroupsRequest{GroupIDs: []string{s.topic("group")}})
		if err != nil {
			s.t.Fatal(err)
		}
		g := groups.Groups[0]
		assigned := 0
		for _, m := range g.Members {
			if len(m.MemberAssignments.Topics) > 0 {
				assigned++
			}
		}
		if g.GroupState == "Stable" && len(g.Members) == n && assigned == n {
			return
		}
		if time.Since(begin) > time.Minute {
			s.t.Fatalf("the group is still %s after a minute, with %d members of which %d have partitions", g.GroupState, len(g.Members), assigned)
		}
	}
}

// groupOffsets are what the group has committed, by partition.
func (s *growing) groupOffsets() []int64 {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 30*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(s.broker)}
	offsets, asked := make([]int64, s.partitions), make([]int, s.partitions)
	for p := range asked {
		asked[p] = p
	}
	committed, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: s.topic("group"), Topics: map[string][]int{s.topic("arrivals"): asked}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range committed.Topics[s.topic("arrivals")] {
		offsets[p.Partition] = max(0, p.CommittedOffset)
	}
	return offsets
}

// storedRows are the rows of arrivals of a version as they lie in Redis, by id; an id has one. Their keys must expire.
func (s *growing) storedRows(version string) map[string]string {
	s.t.Helper()
	rows := map[string]string{}
	var keys []string
	it := s.store.Scan(s.t.Context(), 0, s.prefix+":"+version+":*:arrivals:*", 1000).Iterator()
	for it.Next(s.t.Context()) {
		if !strings.Contains(it.Val(), ":arrivals:count:") && !slices.Contains(keys, it.Val()) { // SCAN may repeat itself
			keys = append(keys, it.Val())
		}
	}
	if err := it.Err(); err != nil {
		s.t.Fatal(err)
	}
	for _, key := range keys {
		fields, err := s.store.HGetAll(s.t.Context(), key).Result()
		if err != nil {
			s.t.Fatal(err)
		}
		if left := s.store.PTTL(s.t.Context(), key).Val(); len(fields) > 0 && left <= 0 {
			s.t.Errorf("%s does not expire", key)
		}
		for id, row := range fields {
			if _, there := rows[id]; there {
				s.t.Errorf("version %s has two rows of %s", version, id)
			}
			rows[id] = row
		}
	}
	return rows
}

// arrived decodes a stored row.
func (s *growing) arrived(row string, synthetic int) *infer.Arrived {
	s.t.Helper()
	a, err := mapping.DecodeArrived([]byte(row), synthetic)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// says is what a prediction says, to the bit.
func says(p *event.Prediction) string {
	text := fmt.Sprintf("%s by %s: class %d, probability %08x, neighbours %d known, %d arrivals, %d in the batch, %d unknown", p.ID, p.Artifact, p.Class,
		math.Float32bits(p.Probability), p.Known, p.Arrivals, p.InBatch, p.Unknown)
	return fmt.Sprintf("%s, probabilities %s, logits %s", text, bits(p.Probabilities), bits(p.Logits))
}

func bits(values []float32) string {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintf(&text, " %08x", math.Float32bits(v))
	}
	return text.String()
}
