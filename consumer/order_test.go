package consumer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rivulet/event"
	"rivulet/kafka"
)

// steps is a Deliverer that notes what happens to its batches, and holds commits until they may be.
type steps struct {
	transactions bool // predictions are visible from the commit on
	mayCommit    chan error

	mu   sync.Mutex
	done []string
}

func (s *steps) note(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, step)
}

func (s *steps) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.done, ", ")
}

func (s *steps) Pack(ctx context.Context, b event.Batch) (Publish, error) {
	s.note("pack " + b.Predictions[0].ID)
	return func(ctx context.Context, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error) {
		return s.Publish(ctx, b, next, by)
	}, nil
}

func (s *steps) Publish(_ context.Context, b event.Batch, _ kafka.Offsets, _ kafka.Committer) (kafka.Delivery, error) {
	s.note("publish " + b.Predictions[0].ID)
	return &step{steps: s, of: b.Predictions[0].ID}, nil
}

type step struct {
	*steps
	of string
}

func (s *step) Commit(context.Context) error {
	err := <-s.mayCommit
	if err == nil {
		s.note("commit " + s.of)
	}
	return err
}

func (s *step) Abort(context.Context) error {
	s.note("abort " + s.of)
	return nil
}

func (s *step) Published() time.Time {
	if s.transactions {
		return time.Time{}
	}
	return time.Unix(1, 0)
}

func (*step) Refused() []kafka.Refusal { return nil }

// side takes batches of one arrival each down paths of their own at once, the first of them last. It returns their
// ends.
func (s *steps) side(t *testing.T, ids ...string) []error {
	var before *Ticket
	var lanes sync.WaitGroup
	errs := make([]error, len(ids))
	for k, id := range ids {
		in := Intake{Name: id, Records: records(t, arrival(id)), After: before, Ticket: newTicket()}
		before = in.Ticket
		p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: s})
		lanes.Go(func() {
			time.Sleep(time.Duration(len(ids)-k) * time.Second)
			errs[k] = p.Process(t.Context(), in)
			in.Ticket.settle(errs[k])
		})
	}
	lanes.Wait()
	return errs
}

// Batches are packed as soon as they are computed, published in their order, each while the one before it is being
// committed, and committed in that order; in transactions each is published when the one before it is committed.
func TestOrderOfDeliveries(t *testing.T) {
	for want, transactions := range map[string]bool{
		"pack c, pack b, pack a, publish a, publish b, publish c, commit a, commit b, commit c": false,
		"pack c, pack b, pack a, publish a, commit a, publish b, commit b, publish c, commit c": true,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &steps{transactions: transactions, mayCommit: make(chan error)}
			go func() {
				for range 3 {
					time.Sleep(time.Minute)
					s.mayCommit <- nil
				}
			}()
			errs := s.side(t, "a", "b", "c")
			if got := s.all(); got != want || errors.Join(errs...) != nil {
				t.Errorf("%s, %v; want %s", got, errs, want)
			}
		})
	}
}

// A batch behind one that is not committed is not committed either, though it has been published.
func TestNothingIsCommittedBehindAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failure := &steps{mayCommit: make(chan error, 1)}, errors.New("no longer a member")
		s.mayCommit <- failure
		errs := s.side(t, "a", "b", "c")
		got := strings.Split(s.all(), ", ")
		if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "commit") }) {
			t.Errorf("%q: something was committed", got)
		}
		if !errors.Is(errs[0], failure) || !errors.Is(errs[1], errBefore) || !errors.Is(errs[2], errBefore) {
			t.Errorf("the batches end with %v, want the failure and twice %v", errs, errBefore)
		}
	})
}
