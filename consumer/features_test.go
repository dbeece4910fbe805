package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// shelf is a store of features: of every id those that [arrival] gives it, but for those that are absent.
type shelf struct {
	mu      sync.Mutex
	failing error
	absent  map[string]bool
	asked   [][]string
}

func (s *shelf) Read(_ context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, append([]string{}, ids...))
	if s.failing != nil {
		return s.failing
	}
	for i, id := range ids {
		if s.absent[id] {
			faults[i] = &event.FieldError{Reason: event.ReasonFeaturesAbsent, Field: "features", Detail: "nothing is stored"}
			continue
		}
		*into[i] = arrival(id).Features
	}
	return nil
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err
}

// bare are records of arrivals without their features.
func bare(t testing.TB, arrivals ...event.Arrival) []kafka.Record {
	t.Helper()
	for i := range arrivals {
		arrivals[i].Features = event.Features{Absent: true}
	}
	return records(t, arrivals...)
}

// An arrival whose features are looked up gets the bits of one that brings them; both may be in one batch, which asks
// the store once. An arrival without any there is a dead letter, and so is one whose features do not fit the model.
func TestFeaturesAreLookedUp(t *testing.T) {
	all := func() []event.Arrival {
		return []event.Arrival{arrival("a", "t0", "b"), arrival("b", "t1"), arrival("c", "a", "nobody"), arrival("d")}
	}
	for _, mode := range []*attach.Mode{attach.Node, attach.Graph} {
		want, got, seen := &kept{}, &kept{}, &recorder{}
		if err := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: want, Mode: mode}).Process(
			t.Context(), Intake{Records: records(t, all()...)}); err != nil {
			t.Fatal(err)
		}
		store := &shelf{absent: map[string]bool{"none": true}}
		p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: got, Mode: mode, Features: store,
			Observer: seen})
		in := bare(t, all()...)
		in[1] = records(t, all()...)[1]
		in = append(in, bare(t, arrival("none"))...)
		in = append(in, kafka.Record{Value: []byte(`{"id":"x","features":null}`),
			Headers: []event.Header{{Key: event.HeaderSchema, Value: []byte("other")}}},
			kafka.Record{Value: []byte(`{"id":"y","edges":7}`)})
		expect.OK(t, p.Process(t.Context(), Intake{Records: in}))
		b := got.batches[0]
		if len(b.Predictions) != 4 || len(b.DeadLetters) != 3 {
			t.Fatalf("%d predictions and %d dead letters: %+v", len(b.Predictions), len(b.DeadLetters), b.DeadLetters)
		}
		for i := range b.Predictions {
			if is, was := b.Predictions[i], want.batches[0].Predictions[i]; is.ID != was.ID ||
				is.Probability != was.Probability || is.Class != was.Class {
				t.Errorf("%s: %v of %s, brought %v", mode, is.Probability, is.ID, was.Probability)
			}
		}
		for i, reason := range []string{event.ReasonFeaturesAbsent, event.ReasonSchema, event.ReasonUnparsable} {
			if b.DeadLetters[i].Reason != reason {
				t.Errorf("dead letter %d has the reason %s (%s), want %s", i, b.DeadLetters[i].Reason, b.DeadLetters[i].Detail,
					reason)
			}
		}
		if len(store.asked) != 1 || strings.Join(store.asked[0], " ") != "a c d none x" {
			t.Errorf("asked for %q", store.asked)
		}
		if s := seen.batches[0]; s.Fetched != 5 {
			t.Errorf("%d were looked up", s.Fetched)
		}
	}
}

// Without a store a record without features is the dead letter that it always was.
func TestFeaturesAreNotLookedUpByDefault(t *testing.T) {
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out})
	expect.OK(t, p.Process(t.Context(), Intake{Records: bare(t, arrival("a"))}))
	if b := out.batches[0]; len(b.Predictions) != 0 || b.DeadLetters[0].Reason != event.ReasonUnparsable {
		t.Errorf("%+v", b)
	}
}

// While the store is away nothing leaves the consumer; then all is predicted, nothing is lost or a dead letter, and the
// order stays. The outage is logged and counted once, as one of features.
func TestAnOutageOfFeaturesIsWaitedFor(t *testing.T) {
	for _, delivery := range []string{"at_least_once", "exactly_once"} {
		s, seen, store := newStack(t, 2), &recorder{}, &shelf{}
		o := s.options(seen)
		if delivery == "exactly_once" {
			o = s.exactlyOnce(seen)
		}
		var log bytes.Buffer
		o.Path.Features, o.Logger = store, slog.New(slog.NewTextHandler(&log, nil))
		stop := s.start(o)
		s.sendBare(60)
		s.wait("the stream runs", func() bool { return s.committed() == 60 })
		store.fail(errors.New("connection refused"))
		s.sendBare(100)
		before := seen.retried(StageStore)
		s.wait("the lookup was tried again", func() bool { return seen.retried(StageStore) >= before+4 })
		if s.committed() != 60 {
			t.Errorf("%s: %d are committed while no features can be read", delivery, s.committed())
		}
		store.fail(nil)
		s.wait("all is committed", func() bool { return s.committed() == 160 })
		expect.OK(t, stop())
		if delivery == "exactly_once" {
			s.checkOnce()
		} else if repeated := s.check(); repeated != 0 {
			t.Errorf("%d repeated", repeated)
		}
		if n := s.size(lettersTopic); n != 0 || seen.retried(StageLookup) != 0 {
			t.Errorf("%s: %d dead letters, %d outages of rows", delivery, n, seen.retried(StageLookup))
		}
		if got := strings.Count(log.String(), `msg="waiting for features by id"`); got != 1 ||
			!strings.Contains(log.String(), "no longer waiting for features") ||
			!strings.Contains(log.String(), "the Redis of features.url") {
			t.Errorf("%s: the outage was logged %d times:\n%s", delivery, got, log.String())
		}
	}
}

// sendBare publishes arrivals without features, under ten keys.
func (s *stack) sendBare(n int) {
	s.t.Helper()
	var batch []kafka.Record
	for range n {
		batch = append(batch, kafka.Record{Key: fmt.Appendf(nil, "key-%d", s.sent%10),
			Value: fmt.Appendf(nil, `{"id":"n%d","edges":["t0"]}`, s.sent)})
		s.sent++
	}
	if err := s.sender.Send(s.t.Context(), arrivalsTopic, batch); err != nil {
		s.t.Fatal(err)
	}
}

// A store that refuses this client for good ends Run.
func TestAMissingRightAtTheStoreOfFeaturesEndsRun(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.sendBare(10)
	o := s.options(seen)
	o.Path.Features = &shelf{failing: fmt.Errorf("the features of 3 ids: %w", forbidden{})}
	c, err := New(o)
	expect.OK(t, err)
	if err := c.Run(t.Context()); !errors.Is(err, forbidden{}) || !errors.Is(err, ErrFeatures) ||
		seen.retried(StageStore) != 0 {
		t.Errorf("Run returned %v after %d attempts", err, seen.retried(StageStore)+1)
	}
}

// A decoder looks features up as the path does, and waits for the store.
func TestADecoderLooksFeaturesUp(t *testing.T) {
	store := &shelf{absent: map[string]bool{"none": true}}
	d := NewDecoder(read.Reader{}, event.Limits{})
	d.LookUp(store, retry.Patience{})
	in := bare(t, arrival("a", "t0"), arrival("none"), arrival("b"))
	a, _, err := d.Arrival(t.Context(), &in[0], 4)
	if err != nil || a.ID != "a" || fmt.Sprint(a.Features.Values) != fmt.Sprint(arrival("a").Features.Values) {
		t.Errorf("%+v, %v", a, err)
	}
	var fault *event.FieldError
	if _, _, err := d.Arrival(t.Context(), &in[1], 4); !errors.As(err, &fault) ||
		fault.Reason != event.ReasonFeaturesAbsent {
		t.Errorf("%v, want that nothing is stored", err)
	}
	store.fail(fmt.Errorf("NOPERM: %w", forbidden{}))
	if _, _, err := d.Arrival(t.Context(), &in[2], 4); !errors.Is(err, ErrFeatures) {
		t.Errorf("%v, want %v", err, ErrFeatures)
	}
	ctx, cancel := context.WithCancel(t.Context())
	store.fail(errors.New("connection refused"))
	seen := make(chan struct{}, 100)
	d.LookUp(store, retry.Patience{Observer: told{seen}})
	go func() {
		<-seen
		<-seen
		cancel()
	}()
	if _, _, err := d.Arrival(ctx, &in[2], 4); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after two attempts, want the end of the context", err)
	}
}

type told struct{ seen chan struct{} }

func (t told) Retry(string, error)           { t.seen <- struct{}{} }
func (told) Lost(string, int64)              {}
func (told) Throttled(string, time.Duration) {}
