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
	transactions bool   // predictions are visible from the commit on
	shares       bool   // deliveries can be committed together
	refused      string // the id of a batch that is not published
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

var errNotPublished = errors.New("not published")

func (s *steps) Publish(_ context.Context, b event.Batch, _ kafka.Offsets, _ kafka.Committer) (kafka.Delivery, error) {
	id := b.Predictions[0].ID
	if id == s.refused {
		return nil, errNotPublished
	}
	s.note("publish " + id)
	return &step{steps: s, of: id}, nil
}

type step struct {
	*steps
	of string
}

func (s *step) Share() bool {
	if s.shares {
		s.note("share " + s.of)
	}
	return s.shares
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
	var before *ticket
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
// committed, and committed in that order; in transactions each is published when the one before it is committed. Where
// deliveries are shared, a batch that is ready is published at once, and all are committed together.
func TestOrderOfDeliveries(t *testing.T) {
	packed := "pack c, pack b, pack a, "
	for _, test := range []struct {
		transactions, shares bool
		want                 string
	}{
		{false, false, packed + "publish a, publish b, publish c, commit a, commit b, commit c"},
		{true, false, packed + "publish a, commit a, publish b, commit b, publish c, commit c"},
		{true, true, packed + "publish a, share a, publish b, share b, publish c, commit a, commit b, commit c"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &steps{transactions: test.transactions, shares: test.shares, mayCommit: make(chan error)}
			go func() {
				for range 3 {
					time.Sleep(time.Minute)
					s.mayCommit <- nil
				}
			}()
			errs := s.side(t, "a", "b", "c")
			if test.shares { // one request commits all: none of the three is told before the others
				slices.Sort(s.done[max(0, len(s.done)-3):])
			}
			if got := s.all(); got != test.want || errors.Join(errs...) != nil {
				t.Errorf("%s, %v; want %s", got, errs, test.want)
			}
		})
	}
}

// Published batches that share their commits are queued in their order, and none waits for another one's commit.
func TestSharedCommitsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{shares: true, mayCommit: make(chan error)}
		ended := make(chan []error)
		go func() { ended <- s.side(t, "a", "b", "c") }()
		time.Sleep(time.Minute)
		shared := slices.DeleteFunc(strings.Split(s.all(), ", "), func(s string) bool {
			return !strings.HasPrefix(s, "share")
		})
		if !slices.Equal(shared, []string{"share a", "share b", "share c"}) {
			t.Errorf("before any commit: %q", s.all())
		}
		for range 3 {
			s.mayCommit <- nil
		}
		if errs := <-ended; errors.Join(errs...) != nil {
			t.Error(errs)
		}
	})
}

// A batch that is alone does not share its transaction: nobody would end it.
func TestABatchWithNoneBehindIsNotShared(t *testing.T) {
	s := &steps{transactions: true, shares: true, mayCommit: make(chan error, 1)}
	s.mayCommit <- nil
	if errs := s.side(t, "a"); errs[0] != nil || strings.Contains(s.all(), "share") {
		t.Errorf("%s, %v", s.all(), errs)
	}
}

// Offsets beyond a batch that is not published are not committed, whether deliveries are shared or not.
func TestNothingIsCommittedBehindAnUnpublishedBatch(t *testing.T) {
	for _, transactions := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &steps{transactions: transactions, shares: true, refused: "b", mayCommit: make(chan error, 3)}
			s.mayCommit <- nil
			errs := s.side(t, "a", "b", "c")
			if got := s.all(); strings.Contains(got, "publish c") || strings.Contains(got, "commit c") {
				t.Errorf("%s", got)
			}
			if errs[0] != nil || !errors.Is(errs[1], errNotPublished) || !errors.Is(errs[2], errBefore) {
				t.Errorf("the batches end with %v", errs)
			}
		})
	}
}

// Where deliveries are not shared, a batch behind one that is not committed is not committed either, though it has been
// published.
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
