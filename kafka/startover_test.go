package kafka

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// journal is a log that a test reads while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) has(words ...string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

// impatient has all waits of a bench start over at once.
func (b *bench) impatient() *journal {
	j := new(journal)
	b.with.StartOver, b.with.Logger = time.Nanosecond, slog.New(slog.NewTextHandler(j, nil))
	return j
}

// lasting makes requests of a kind fail for as long as the test goes on, or until it is taken away.
func (b *bench) lasting(key kmsg.Key, err *kerr.Error) *kfake.FaultHandle {
	return b.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err, Count: -1})
}

// G12: Each wait within a generation ends it where its condition can no longer become true, and the line says so. Where
// brokers are only away the generation goes on.
func TestAWaitInAGenerationStartsOver(t *testing.T) {
	type wait struct {
		what  string // in the log
		fault kmsg.Key
		work  func(b *bench, s *Source, g *Generation) error
	}
	for _, w := range []wait{
		{"the group's offsets", kmsg.OffsetFetch, func(b *bench, _ *Source, g *Generation) error {
			_, err := g.Cursors(b.t.Context())
			return err
		}},
		{"records", kmsg.Fetch, func(b *bench, s *Source, g *Generation) error {
			c := s.client.cursor(TopicPartition{Topic: "arrivals"}, 0, 1<<20, 0, time.Millisecond, b.with)
			c.ofGroup(g.trail, noMark)
			_, _, err := c.Await(b.t.Context())
			return err
		}},
		{"the brokers to take records", kmsg.Produce, func(b *bench, _ *Source, _ *Generation) error {
			sh := b.sink().Shipment()
			expect.OK(b.t, sh.Add(b.t.Context(), "predictions", &Record{Value: []byte("x")}))
			_, err := b.sink().Publish(b.t.Context(), sh)
			return err
		}},
		{"the brokers to take records", kmsg.InitProducerID, func(b *bench, _ *Source, g *Generation) error {
			tx, err := b.sink().Transactions("tx", b.timeout)
			expect.OK(b.t, err)
			return tx.Begin(b.t.Context(), g, g.Assigned())
		}},
	} {
		t.Run(w.what+", "+w.fault.Name(), func(t *testing.T) {
			b := newBench(t, 1)
			log := b.impatient()
			s := b.source(asIs)
			g := b.joined(s)
			defer s.Leave()
			fault := b.lasting(w.fault, kerr.UnknownTopicOrPartition)
			if err := w.work(b, s, g); !errors.Is(err, retry.ErrGeneration) {
				t.Errorf("the wait ended with %v, want the end of the generation", err)
			}
			if !log.has("still waiting for "+w.what+": starting over", "gives_up=", "generation", "error=") {
				t.Errorf("no line says so: %s", log.text.String())
			}
			fault.Remove()

			fault = b.lasting(w.fault, kerr.NotLeaderForPartition)
			ended := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			b.t = within{b.t, ctx}
			go func() { ended <- w.work(b, s, g) }()
			if err := <-ended; errors.Is(err, retry.ErrGeneration) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while brokers are away the wait ended with %v, want it to go on", err)
			}
			fault.Remove()
		})
	}
}

// within is a test with another context.
type within struct {
	testing.TB
	ctx context.Context
}

func (w within) Context() context.Context { return w.ctx }

// A wait for what is outside of a generation gives connections up, and what is known of the cluster.
func TestAWaitOutsideOfAGenerationStartsOver(t *testing.T) {
	for what, fault := range map[string]kmsg.Key{"the topics": kmsg.Metadata, "the consumer group": kmsg.JoinGroup} {
		work := func(s *Source, ctx context.Context) error {
			_, err := s.Join(ctx)
			return err
		}
		if fault == kmsg.Metadata {
			work = (*Source).Await
		}
		t.Run(what, func(t *testing.T) {
			b := newBench(t, 1)
			log := b.impatient()
			s := b.source(asIs)
			var dials atomic.Int32
			b.way.dialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			})
			f := b.lasting(fault, kerr.UnknownServerError)
			joined := make(chan error, 1)
			go func() { joined <- work(s, context.WithoutCancel(t.Context())) }()
			b.until("it starts over", func() bool {
				return log.has("still waiting for "+what+": starting over", "gives_up=") && dials.Load() > 0
			})
			f.Remove()
			expect.OK(t, <-joined)
			s.Leave()
		})
	}
}

// A coordinator that has a member join again and again, for ever, is met as a new member.
func TestAMemberThatIsAlwaysToJoinAgainIsANewOne(t *testing.T) {
	b := newBench(t, 1)
	log := b.impatient()
	s := b.source(asIs)
	g := b.joined(s)
	old := g.Member().ID
	expect.OK(t, g.End(t.Context(), nil))
	var left atomic.Int32
	left.Store(5)
	b.kafka.Cluster.ControlKey(int16(kmsg.SyncGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		if r.(*kmsg.SyncGroupRequest).MemberID != old {
			return nil, nil, false
		}
		left.Add(-1)
		a := r.ResponseKind().(*kmsg.SyncGroupResponse)
		a.ErrorCode = kerr.RebalanceInProgress.Code
		return a, nil, true
	})
	next := b.joined(s)
	defer s.Leave()
	if next.Member().ID == old {
		t.Error("it is the same member")
	}
	if !log.has("still waiting for the consumer group: starting over", "the member's id") {
		t.Errorf("no line says so: %s", log.text.String())
	}
}

// A topic that is followed is made anew with fewer partitions, and gets them again later.
func TestFollowingATopicMadeAnewWithFewerPartitions(t *testing.T) {
	b := newBench(t, 1)
	b.sender = b.sink()
	b.impatient()
	r, err := NewReader(b.way, ReaderOptions{Topic: "arrivals", FetchWait: 20 * time.Millisecond}, b.with)
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var seen atomic.Int32
	started, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.Follow(ctx, func() { close(started) }, func(Record) { seen.Add(1) }) }()
	<-started
	b.send("arrivals", "a")
	b.send("arrivals", "b")
	b.until("both are seen", func() bool { return seen.Load() == 2 })
	expect.OK(t, b.kafka.Cluster.DeleteTopic("arrivals"))
	expect.OK(t, b.kafka.Cluster.CreateTopic("arrivals", 1, nil))
	b.until("it is known", func() bool {
		n, err := b.way.countPartitions(t.Context(), "arrivals")
		return err == nil && n["arrivals"] == 1
	})
	b.send("arrivals", "c")
	b.until("the new topic is seen", func() bool { return seen.Load() == 3 })
	more, err := b.client.CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: "arrivals", Count: 2}}})
	expect.OK(t, errors.Join(err, more.Errors["arrivals"]))
	b.until("it is known", func() bool {
		n, err := b.way.countPartitions(t.Context(), "arrivals")
		return err == nil && n["arrivals"] == 2
	})
	b.send("arrivals", "d")
	b.send("arrivals", "e")
	b.until("its new partition is seen", func() bool { return seen.Load() == 5 })
	cancel()
	expect.OK(t, <-done)
}

// A member waits for the one with the topic's first partition to commit where the group starts. Where that never comes,
// it gives the generation up, so that the partitions are assigned anew.
func TestTheWaitForTheStartOfAGroupStartsOver(t *testing.T) {
	b := newBench(t, 1)
	b.send("arrivals", "before")
	log := b.impatient()
	b.with.StartOver = 300 * time.Millisecond
	latest := func(o *SourceOptions) { o.Start = Latest }
	one, two := b.source(latest), b.source(latest)
	defer one.Leave()
	defer two.Leave()
	_, second := b.together(one, two)
	_, err := second.Cursors(t.Context()) // the first one never asks for its own, which chooses the start
	if !errors.Is(err, retry.ErrGeneration) || !errors.Is(err, errNotStarted) {
		t.Errorf("the wait ended with %v, want the end of the generation, and why", err)
	}
	if !log.has("still waiting for the group's offsets: starting over", "generation", errNotStarted.Error()) {
		t.Errorf("no line says so: %s", log.text.String())
	}
}

// refusing is a login whose issuer gives no token until it is allowed to.
type refusing struct {
	asked atomic.Int32
	gives atomic.Bool
}

func (*refusing) Mechanism() string { return OAuthBearer }

func (r *refusing) Credentials(context.Context) (username, password string, err error) {
	r.asked.Add(1)
	if !r.gives.Load() {
		return "", "", errors.New("the issuer https://login.test gives no token: 503 Service Unavailable")
	}
	return "", "a.b.c", nil
}

// An issuer of tokens that is away is a wait for brokers: it starts over, the line names the issuer, and it ends when
// the issuer gives tokens.
func TestTheWaitForATokenStartsOver(t *testing.T) {
	for what, work := range map[string]func(*Source, context.Context) error{
		"the topics": (*Source).Await,
		"the consumer group": func(s *Source, ctx context.Context) error {
			_, err := s.Join(ctx)
			return err
		}} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, 1)
			b.kafka.Cluster.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
				b.kafka.Cluster.KeepControl()
				return r.ResponseKind(), nil, true
			})
			b.kafka.Cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
				b.kafka.Cluster.KeepControl()
				return r.ResponseKind(), nil, true
			})
			log := b.impatient()
			issuer := new(refusing)
			way, err := Connect(Options{Brokers: b.kafka.Addrs(), ClientID: "test", Login: issuer})
			expect.OK(t, err)
			t.Cleanup(way.Close)
			s, err := NewSource(way, SourceOptions{Group: "g", Topics: []string{"arrivals"}}, b.with)
			expect.OK(t, err)
			ended := make(chan error, 1)
			go func() { ended <- work(s, context.WithoutCancel(t.Context())) }()
			b.until("it starts over", func() bool {
				return log.has("still waiting for "+what+": starting over", "gives_up=", "https://login.test gives no token")
			})
			issuer.gives.Store(true)
			expect.OK(t, <-ended)
			s.Leave()
		})
	}
}
