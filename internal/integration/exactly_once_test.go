package integration

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/producer"
)

// Two consumers in delivery: exactly_once under load. They are killed with SIGKILL and started again, one after the other; they
// are stopped for longer than their session and go on afterwards; the broker is killed. A read-committed reader sees each
// arrival predicted once, and those of a key in order.
func TestExactlyOnceOnTheEmbeddedBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of sessions that time out")
	}
	exactlyOnce(t, nil, kill)
}

// The same for longer on a real broker.
func TestExactlyOnceOnARealBroker(t *testing.T) {
	exactlyOnce(t, newRealKafka(t), kill, kill, pause, crash, kill, pause, kill)
}

// disruption is done to a running consumer; what it returns runs from then on.
type disruption func(s *stream, running *exec.Cmd) *exec.Cmd

func kill(s *stream, running *exec.Cmd) *exec.Cmd {
	s.t.Helper()
	if s.real == nil {
		// kfake keeps a member for ever that dies while its first join waits for the others, and what it was assigned with it: it
		// starts the session of a member when it answers the join, and only if somebody hears the answer.
		s.await("the group is stable", s.stable)
	}
	if err := running.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = running.Wait()
	return s.consumer()
}

// pause makes a zombie: the process wakes up with a batch in hand after others have taken its partitions.
func pause(s *stream, running *exec.Cmd) *exec.Cmd {
	s.t.Helper()
	if err := running.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	before := s.seen()
	time.Sleep(sessionTimeout)
	s.await("the other consumer has taken over", func() bool { return s.seen() > before+loadRate })
	if err := running.Process.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
	return running
}

// crash kills the broker with transactions under way and starts it again.
func crash(s *stream, running *exec.Cmd) *exec.Cmd {
	s.t.Helper()
	for _, command := range []string{"kill", "start"} {
		out, err := exec.Command("../../tools/kafka/kafka.sh", command, s.real.dir).CombinedOutput()
		if err != nil {
			s.t.Fatalf("kafka.sh %s: %v\n%s", command, err, out)
		}
	}
	return running
}

const (
	sessionTimeout = 6 * time.Second // the least that brokers allow by default
	loadRate       = 400             // arrivals a second
	loadKeys       = 50
)

func exactlyOnce(t *testing.T, broker *realKafka, disruptions ...disruption) {
	s := newStream(t, broker)
	stopLoad := s.load()
	consumers := [2]*exec.Cmd{s.consumer(), s.consumer()}
	s.await("predictions come", func() bool { return s.seen() > loadRate })
	for i, disrupt := range disruptions {
		before := s.seen()
		consumers[i%2] = disrupt(s, consumers[i%2])
		s.await("predictions go on", func() bool { return s.seen() > before+2*loadRate })
	}
	stopLoad()
	arrivals := s.ends("arrivals" + s.suffix)
	all := 0
	for _, end := range arrivals {
		all += int(end)
	}
	s.await("all arrivals are predicted", func() bool { return s.seen() >= all })
	for _, c := range consumers {
		s.drain(c)
	}
	time.Sleep(time.Second) // for what should not be there
	s.check(arrivals)
}

// stream is a world with topics of its own, a load, and a read-committed reader of the predictions.
type stream struct {
	*world
	real   *realKafka // nil on the embedded broker
	suffix string
	sender *producer.Producer

	mu   sync.Mutex
	got  map[event.Source]int // times that the arrival at a place was predicted
	last map[string]int64     // offset of the arrival that was predicted last, by key
}

func newStream(t *testing.T, broker *realKafka) *stream {
	t.Helper()
	s := &stream{world: newWorld(t), real: broker, suffix: fmt.Sprintf("-%d", time.Now().UnixNano()),
		got: map[event.Source]int{}, last: map[string]int64{}}
	if broker != nil {
		s.broker = broker.addr(plaintext)
	}
	transport := &kafka.Transport{MetadataTTL: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	client := &kafka.Client{Addr: kafka.TCP(s.broker), Transport: transport, Timeout: time.Minute}
	remove := makeTopics(t, client, map[string]int{"arrivals" + s.suffix: 3, "predictions" + s.suffix: 3, "letters" + s.suffix: 1})
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	s.write("exactly-once.yaml", fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %q
  session_timeout: %v
  topics: {arrivals: arrivals%[4]s, predictions: predictions%[4]s, dead_letters: letters%[4]s}
  transaction_timeout: 30s
delivery: exactly_once
artifact: %[5]q
batch: {mode: node, size: 32, linger: 20ms}
http: {listen: ""}
log: {level: warn}
`, s.broker, "exactly-once"+s.suffix, sessionTimeout, s.suffix, s.path("artifact-1")))
	var err error
	s.sender, err = producer.New(producer.Options{Addr: kafka.TCP(s.broker), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	s.read()
	return s
}

// consumer starts one.
func (s *stream) consumer() *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "consumer"), "--config", s.path("exactly-once.yaml"))
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// load sends arrivals until stop is called, which returns when the last one is acknowledged.
func (s *stream) load() (stop func()) {
	sent := 0
	return repeatedly(s.t, func() error {
		var records []producer.Record
		for range loadRate / 20 {
			a := event.Arrival{ID: fmt.Sprintf("n%d", sent), Features: event.Features{Sparse: true}}
			value, err := event.JSON{}.AppendArrival(nil, &a)
			if err != nil {
				return err
			}
			records = append(records, producer.Record{Key: fmt.Appendf(nil, "key-%d", sent%loadKeys), Value: value})
			sent++
		}
		return s.sender.Send(s.t.Context(), "arrivals"+s.suffix, records)
	})
}

// read notes the predictions as another client's read-committed reader gives them, to the end of the test.
func (s *stream) read() {
	s.t.Helper()
	readOn(s.t, s.note, kgo.SeedBrokers(s.broker), kgo.ConsumeTopics("predictions"+s.suffix), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

func (s *stream) note(r *kgo.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p event.Prediction
	if err := (event.JSON{}).DecodePrediction(r.Value, &p); err != nil {
		s.t.Error(err)
	}
	s.got[p.Source]++
	key, offset := string(r.Key), p.Source.Offset // all of a key are in one partition
	if before, ok := s.last[key]; ok && before >= offset {
		s.t.Errorf("%s: the arrival at %d was predicted after the one at %d", key, offset, before)
	}
	s.last[key] = offset
}

// seen is how many arrivals have been predicted.
func (s *stream) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func (s *stream) await(what string, condition func() bool) {
	s.t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			s.t.Logf("the group's offsets, of arrivals up to %v:\n%s", s.ends("arrivals"+s.suffix), s.state())
			s.t.Fatalf("waited two minutes until %s; %d arrivals are predicted", what, s.seen())
		}
	}
}

// state says where the stream stands still: what the group has committed, who its members are, and how far a read-committed
// reader of the predictions can get.
func (s *stream) state() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 10*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(s.broker)}
	group, out := "exactly-once"+s.suffix, &strings.Builder{}
	committed, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group,
		Topics: map[string][]int{"arrivals" + s.suffix: {0, 1, 2}}})
	fmt.Fprintf(out, "committed: %+v %v\n", committed, err)
	members, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	fmt.Fprintf(out, "members: %+v %v\n", members, err)
	for _, level := range []kafka.IsolationLevel{kafka.ReadUncommitted, kafka.ReadCommitted} {
		last, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{IsolationLevel: level, Topics: map[string][]kafka.OffsetRequest{
			"predictions" + s.suffix: {kafka.LastOffsetOf(0), kafka.LastOffsetOf(1), kafka.LastOffsetOf(2)}}})
		fmt.Fprintf(out, "predictions, isolation %d: %+v %v\n", level, last, err)
	}
	return out.String()
}

// stable tells whether all members of the group have their partitions.
func (s *stream) stable() bool {
	client, group := &kafka.Client{Addr: kafka.TCP(s.broker)}, "exactly-once"+s.suffix
	described, err := client.DescribeGroups(s.t.Context(), &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	return err == nil && len(described.Groups) == 1 && described.Groups[0].GroupState == "Stable" && len(described.Groups[0].Members) == 2
}

// check holds the predictions against the arrivals, which are at all offsets up to the ends of their partitions.
func (s *stream) check(ends map[int]int64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all, lost, twice := 0, 0, 0
	for partition, end := range ends {
		for offset := range end {
			all++
			switch times := s.got[event.Source{Topic: "arrivals" + s.suffix, Partition: partition, Offset: offset}]; {
			case times == 0:
				lost++
			case times > 1:
				twice++
			}
		}
	}
	s.t.Logf("%d arrivals: %d lost, %d predicted more than once", all, lost, twice)
	if lost > 0 || twice > 0 || len(s.got) != all {
		s.t.Fail()
	}
}
