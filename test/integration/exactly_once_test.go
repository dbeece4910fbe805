package integration

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/harness"
)

// G2: Two consumers in delivery: exactly_once under load. They are killed with SIGKILL and started again, one after the
// other; they are stopped for longer than their session and continue afterwards; the broker is killed. A read-committed
// reader sees each arrival predicted once, and the arrivals of a key in order.
func TestExactlyOnce(t *testing.T) {
	if broker := realOrEmbedded(t); broker != nil {
		exactlyOnce(t, broker, kill, pause, crash, kill)
	} else {
		exactlyOnce(t, nil, kill)
	}
}

// disruption disturbs a running consumer and returns the one that runs from then on.
type disruption func(s *stream, running *harness.Process) *harness.Process

func kill(s *stream, running *harness.Process) *harness.Process {
	s.t.Helper()
	if s.real == nil {
		// kfake never removes a member that dies while its first join waits for the others, nor its assignment: it
		// starts the session of a member when it answers the join, and only if somebody hears the answer.
		s.await("the group is stable", func() bool {
			stable, err := s.kafka.stable(s.t.Context(), s.group(), 2)
			return err == nil && stable
		})
	}
	running.Kill()
	return s.consumer(streamConfig)
}

// pause makes a zombie: the process wakes up with a batch in hand after others have taken its partitions.
func pause(s *stream, running *harness.Process) *harness.Process {
	s.t.Helper()
	s.must(running.Signal(syscall.SIGSTOP))
	before := s.seen()
	time.Sleep(sessionTimeout)
	s.await("the other consumer has taken over", func() bool { return s.seen() > before+loadRate })
	s.must(running.Signal(syscall.SIGCONT))
	return running
}

// crash kills the broker with transactions under way and starts it again.
func crash(s *stream, running *harness.Process) *harness.Process {
	s.t.Helper()
	for _, command := range []string{"kill", "start"} {
		s.must(s.real.Do(s.t.Context(), command))
	}
	return running
}

const (
	sessionTimeout = 6 * time.Second // the least that brokers allow by default
	loadRate       = 400             // arrivals a second
	loadKeys       = 50
)

func exactlyOnce(t *testing.T, broker *harness.Broker, disruptions ...disruption) {
	s := newStream(t, broker)
	stopLoad := s.load()
	consumers := [2]*harness.Process{s.consumer(streamConfig), s.consumer(streamConfig)}
	s.await("predictions come", func() bool { return s.seen() > loadRate })
	for i, disrupt := range disruptions {
		before := s.seen()
		consumers[i%2] = disrupt(s, consumers[i%2])
		s.await("predictions go on", func() bool { return s.seen() > before+2*loadRate })
	}
	stopLoad()
	arrivals := s.ends(s.topic("arrivals"))
	s.await("all arrivals are predicted", func() bool { return s.seen() >= int(sum(arrivals)) })
	for _, c := range consumers {
		s.drain(c)
	}
	time.Sleep(time.Second) // for what should not be there
	s.check(arrivals)
}

// stream is a world with topics of its own, a load, and a read-committed reader of the predictions.
type stream struct {
	*world
	real   *harness.Broker // nil: the embedded one
	suffix string
	sender *kgo.Client

	mu   sync.Mutex
	got  map[event.Source]int // times that the arrival at a place was predicted
	last map[string]int64     // offset of the arrival that was predicted last, by key
}

// streamConfig is the configuration file of a stream's consumers.
const streamConfig = "exactly-once.yaml"

func newStream(t *testing.T, broker *harness.Broker) *stream {
	t.Helper()
	s := &stream{world: newWorld(t, formatJSON), real: broker, suffix: newSuffix(), got: map[event.Source]int{},
		last: map[string]int64{}}
	if broker != nil {
		s.use(broker.Addr(harness.Plaintext))
	}
	s.makeTopics(map[string]int{s.topic("arrivals"): 3, s.topic("predictions"): 3, s.topic("letters"): 1})
	s.write(streamConfig, fmt.Sprintf(`kafka:
  brokers: [%q]
  group: %q
  session_timeout: %v
  topics: {arrivals: %q, predictions: %q, dead_letters: %q}
  transaction_timeout: 30s
delivery: exactly_once
artifact: %q
batch: {mode: node, size: 32, linger: 20ms}
http: {listen: ""}
log: {level: warn}
`, s.kafka.Addr, s.group(), sessionTimeout, s.topic("arrivals"), s.topic("predictions"), s.topic("letters"),
		s.Path("artifact-1")))
	var err error
	s.sender, err = kgo.NewClient(kgo.SeedBrokers(s.kafka.Addr), kgo.UnknownTopicRetries(-1))
	s.must(err)
	t.Cleanup(s.sender.Close)
	s.follow(s.note, kgo.ReadCommitted(), s.topic("predictions"))
	return s
}

func (s *stream) topic(name string) string { return name + s.suffix }

func (s *stream) group() string { return s.topic("exactly-once") }

// load sends arrivals until stop is called, which returns when the last one is acknowledged.
func (s *stream) load() (stop func()) {
	sent := 0
	stop = repeatedly(s.t, func() error {
		var records []*kgo.Record
		for range loadRate / 20 {
			a := event.Arrival{ID: fmt.Sprintf("n%d", sent), Features: event.Features{Sparse: true}}
			value, err := json.Codec{}.AppendArrival(nil, &a)
			if err != nil {
				return err
			}
			records = append(records, &kgo.Record{Topic: s.topic("arrivals"), Key: fmt.Appendf(nil, "key-%d", sent%loadKeys),
				Value: value})
			sent++
		}
		return s.sender.ProduceSync(s.t.Context(), records...).FirstErr()
	})
	// If the test ends while the broker is down, stop would wait for what is on its way for ever. Clean-ups run in
	// reverse order: this one fails these records first.
	s.t.Cleanup(s.sender.Close)
	return stop
}

// note records a prediction.
func (s *stream) note(r *kgo.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p event.Prediction
	if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
		s.t.Error(err)
	}
	s.got[p.Source]++
	key, offset := string(r.Key), p.Source.Offset // all of a key are in one partition
	if before, ok := s.last[key]; ok && before >= offset {
		s.t.Errorf("%s: the arrival at %d was predicted after the one at %d", key, offset, before)
	}
	s.last[key] = offset
}

// seen returns how many arrivals have been predicted.
func (s *stream) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func (s *stream) await(what string, so func() bool) {
	s.t.Helper()
	s.world.await(what, so, s.state)
}

// state describes a stream that stands still: the group's committed offsets, and the ends of the predictions for
// readers.
func (s *stream) state() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 10*time.Second)
	defer cancel()
	committed, err := s.kafka.committed(ctx, s.group(), s.topic("arrivals"))
	stable, stableErr := s.kafka.stable(ctx, s.group(), 2)
	text := fmt.Sprintf("%d arrivals are predicted; the group has committed %v (%v), and is stable with two members: "+
		"%t (%v)",
		s.seen(), committed, err, stable, stableErr)
	arrivals, err := s.kafka.ends(ctx, s.topic("arrivals"))
	readable, readableErr := s.kafka.ListCommittedOffsets(ctx, s.topic("predictions"))
	return text + fmt.Sprintf("; arrivals end at %v (%v), committed predictions at %v (%v)", arrivals, err,
		readable.Offsets(), readableErr)
}

// check compares the predictions with the arrivals, which are at all offsets up to the ends of their partitions.
func (s *stream) check(ends map[int]int64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all, lost, twice := 0, 0, 0
	for partition, end := range ends {
		for offset := range end {
			all++
			switch times := s.got[event.Source{Topic: s.topic("arrivals"), Partition: partition, Offset: offset}]; {
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
