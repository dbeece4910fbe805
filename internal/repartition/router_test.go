package repartition

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/event/form"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/test/expect"
)

// nobody is an observer that counts transactions.
type nobody struct{ committed, letters, dropped atomic.Int64 }

func (*nobody) Retry(string, error)              {}
func (*nobody) Lost(string, int64)               {}
func (*nobody) Rebalance([]kafka.TopicPartition) {}
func (*nobody) Lag(kafka.TopicPartition, int64)  {}
func (n *nobody) Committed(s Stats) {
	n.committed.Add(1)
	n.letters.Add(int64(len(s.DeadLetters)))
	n.dropped.Add(int64(len(s.Dropped)))
}

// stack is an embedded broker with the topics of two tables.
type stack struct {
	*testing.T
	kafka  *devstack.Kafka
	client *kafka.Client
	sink   *kafka.Sink
}

func newStack(t *testing.T) *stack {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"accounts": 3, "transfers": 2,
		"arrivals": 4, "letters": 1}})
	expect.OK(t, err)
	t.Cleanup(k.Close)
	s := &stack{T: t, kafka: k}
	s.client, s.sink = s.connect()
	return s
}

func (s *stack) connect() (*kafka.Client, *kafka.Sink) {
	s.Helper()
	client, err := kafka.Connect(kafka.Options{Brokers: s.kafka.Addrs()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(client.Close)
	sink, err := kafka.NewSink(client, "", retry.Patience{})
	if err != nil {
		s.Fatal(err)
	}
	return client, sink
}

// start runs a member of the group, which end drains.
func (s *stack) start() (seen *nobody, end func()) {
	s.Helper()
	client, sink := s.connect()
	tx, err := sink.Transactions("g", 0)
	if err != nil {
		s.Fatal(err)
	}
	letters, err := producer.New(producer.Options{Sink: sink, DeadLetters: "letters"})
	if err != nil {
		s.Fatal(err)
	}
	seen = &nobody{}
	r, err := New(Options{Kafka: client, Source: kafka.SourceOptions{Group: "g", FetchWait: 20 * time.Millisecond,
		Heartbeat: 20 * time.Millisecond, SessionTimeout: 6 * time.Second}, Nodes: []string{"accounts"},
		Edges: []string{"transfers"}, To: "arrivals", Ends: Both, Sink: sink, Transactions: tx, DeadLetters: letters,
		Observer: seen, DrainTimeout: 10 * time.Second})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	s.Cleanup(cancel)
	return seen, func() {
		s.Helper()
		if cancel(); <-done != nil {
			s.Error("the router failed")
		}
	}
}

// read returns the committed records of a topic.
func (s *stack) read(topic string) (all []kafka.Record) {
	s.Helper()
	r, err := kafka.NewReader(s.client, kafka.ReaderOptions{Topic: topic, FetchWait: time.Millisecond}, retry.Patience{})
	if err == nil {
		_, err = r.ToEnd(s.Context(), nil, func(rec kafka.Record) error { all = append(all, rec); return nil })
	}
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// await waits until a topic has n committed records.
func (s *stack) await(topic string, n int) {
	s.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if got := len(s.read(topic)); got >= n {
			return
		} else if time.Since(begin) > time.Minute {
			s.Fatalf("%d records on %s, want %d", got, topic, n)
		}
	}
}

func (s *stack) send(topic string, records ...kafka.Record) {
	s.Helper()
	if err := s.sink.Send(s.Context(), topic, records); err != nil {
		s.Fatal(err)
	}
}

// While members come and go and answers of the broker are lost, each record is written once under the keys of its
// nodes, those of one key in their order, and what cannot be read is a dead letter.
func TestEachRecordOnce(t *testing.T) {
	s := newStack(t)
	s.kafka.Cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.Cluster.KeepControl()
		if rand.IntN(4) == 0 {
			return nil, errors.New("the connection breaks"), true
		}
		return nil, nil, false
	})
	const rounds, nodes, edges = 12, 40, 50
	draw := rand.New(rand.NewPCG(1, 2))
	want := map[string]int{} // key and value -> how often it was written
	_, end := s.start()
	ends := []func(){end}
	for round := range rounds {
		var accounts, transfers []kafka.Record
		for i := range nodes {
			id := fmt.Sprint("n", i)
			value := fmt.Sprintf(`{"id":%q,"features":[%d]}`, id, round)
			accounts = append(accounts, kafka.Record{Key: []byte("row " + id), Value: []byte(value),
				Time: time.UnixMilli(int64(1000 + round))})
			want[id+" "+value]++
		}
		for i := range edges {
			a, b := fmt.Sprint("n", draw.IntN(nodes)), fmt.Sprint("t", round, "-", i)
			transfers = append(transfers, kafka.Record{Time: time.UnixMilli(int64(1000 + round)),
				Value: fmt.Appendf(nil, `{"source":%q,"target":%q}`, a, b)})
			want[a+fmt.Sprintf(` {"source":%q,"target":%q}`, a, b)]++
			want[b+fmt.Sprintf(` {"source":%q,"target":%q,"weight":1}`, b, a)]++
		}
		transfers = append(transfers, kafka.Record{Key: []byte("bad"), Value: fmt.Appendf(nil, `{"source":%d`, round)})
		s.send("accounts", accounts...)
		s.send("transfers", transfers...)
		switch round {
		case 2, 5, 8:
			_, end = s.start()
			ends = append(ends, end)
		case 4, 7:
			ends[0]()
			ends = ends[1:]
		}
		if round%3 == 0 {
			s.await("arrivals", (round+1)*(nodes+2*edges))
		}
	}
	s.await("arrivals", rounds*(nodes+2*edges))
	s.await("letters", rounds)
	for _, end := range ends {
		end()
	}
	got, features := map[string]int{}, map[string]float32{}
	for _, r := range s.read("arrivals") {
		got[string(r.Key)+" "+string(r.Value)]++
		var a event.Arrival
		if err := (&form.Reader{}).Arrival(r.Headers, r.Value, &a); err == nil {
			if before := features[a.ID]; before > a.Features.Values[0] {
				t.Errorf("%s: %g after %g", a.ID, a.Features.Values[0], before)
			}
			features[a.ID] = a.Features.Values[0]
		}
		if ms := r.Time.UnixMilli(); ms < 1000 || ms >= 1000+rounds {
			t.Fatalf("%s has the time %v", r.Key, r.Time)
		}
	}
	for line, n := range want {
		if got[line] != n {
			t.Errorf("%s is there %d times, want %d", line, got[line], n)
		}
		delete(got, line)
	}
	if len(got) > 0 {
		t.Errorf("%d others are there", len(got))
	}
	var places []string
	for _, r := range s.read("letters") {
		d, _, _ := event.ReadDeadLetter(r.Key, r.Value, r.Headers)
		if d.Reason != event.ReasonUnparsable || d.Source.Topic != "transfers" || string(d.Key) != "bad" ||
			!strings.HasPrefix(string(d.Value), `{"source":`) {
			t.Errorf("%+v", d)
		}
		places = append(places, fmt.Sprint(d.Source))
	}
	if slices.Sort(places); len(slices.Compact(places)) != rounds {
		t.Errorf("dead letters of %q", places)
	}
}

// limit sets the size of the largest record that a topic takes.
func (s *stack) limit(topic, bytes string) {
	s.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...))
	if err != nil {
		s.Fatal(err)
	}
	defer admin.Close()
	req := kmsg.NewIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "max.message.bytes", Value: &bytes}}
	req.Resources = append(req.Resources, resource)
	if _, err := req.RequestWith(s.Context(), admin); err != nil {
		s.Fatal(err)
	}
}

// A record that the topic of arrivals does not take becomes a dead letter, also an edge of two ends becomes one.
func TestRefusedRecords(t *testing.T) {
	s := newStack(t)
	s.limit("arrivals", "2000")
	seen, end := s.start()
	long := strings.Repeat("x", 3000)
	s.send("accounts", kafka.Record{Key: []byte("k"), Value: []byte(`{"id":"n1","features":[1]}`)},
		kafka.Record{Key: []byte("k"), Value: fmt.Appendf(nil, `{"id":"n3","features":[1],"note":%q}`, long)})
	s.send("transfers", kafka.Record{Value: fmt.Appendf(nil, `{"source":"a%s","target":"b%s"}`, long, long)})
	s.await("letters", 2)
	s.send("accounts", kafka.Record{Key: []byte("k"), Value: []byte(`{"id":"n2","features":[1]}`)})
	s.await("arrivals", 2)
	s.limit("letters", "80") // takes no dead letter in any form
	s.send("accounts", kafka.Record{Key: []byte("k"), Value: []byte(`{"id":"n4"`)})
	s.send("accounts", kafka.Record{Key: []byte("k"), Value: []byte(`{"id":"n5","features":[1]}`)})
	s.await("arrivals", 3)
	end()
	if seen.letters.Load() != 2 || seen.dropped.Load() != 1 {
		t.Errorf("%d dead letters, %d dropped records", seen.letters.Load(), seen.dropped.Load())
	}
	for _, r := range s.read("letters") {
		d, _, _ := event.ReadDeadLetter(r.Key, r.Value, r.Headers)
		if d.Reason != event.ReasonTooLarge || !strings.HasPrefix(d.Detail, "topic arrivals does not take the record: ") {
			t.Errorf("%s: %s", d.Reason, d.Detail)
		}
	}
	if a, l := len(s.read("arrivals")), len(s.read("letters")); a != 3 || l != 2 || seen.committed.Load() < 2 {
		t.Errorf("%d arrivals, %d dead letters, %d transactions", a, l, seen.committed.Load())
	}
}
