package consumer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rivulet/event"
	"rivulet/kafka"
)

// steps is a Deliverer, the Transactions that it publishes into, and what commits without them. It notes what happens to
// its batches, and holds commits until they may be.
type steps struct {
	NopObserver
	transactions bool
	refused      string // the id of a batch that is not published
	takes        time.Duration
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
	return func(ctx context.Context, next kafka.Offsets) ([]kafka.Refusal, error) { return s.Publish(ctx, b, next) }, nil
}

var errNotPublished = errors.New("not published")

func (s *steps) Publish(_ context.Context, b event.Batch, _ kafka.Offsets) ([]kafka.Refusal, error) {
	id := b.Predictions[0].ID
	if id == s.refused {
		return nil, errNotPublished
	}
	time.Sleep(s.takes)
	s.note("publish " + id)
	return nil, nil
}

func (s *steps) Batch(b BatchStats) { s.note("done " + b.Name) }

// inTransactions are the ends of transactions.
type inTransactions struct{ *steps }

func (s inTransactions) Begin(context.Context, kafka.Committer, []kafka.TopicPartition) error {
	return nil
}

func (s inTransactions) Commit(context.Context) error {
	err := <-s.mayCommit
	if err == nil {
		s.note("end")
	}
	return err
}

func (s inTransactions) Abort(context.Context) error {
	s.note("abort")
	return nil
}

func (inTransactions) Paused() bool { return false }

// committing commits without transactions.
type committing struct{ *steps }

func (s committing) Commit(_ context.Context, next kafka.Offsets) error {
	err := <-s.mayCommit
	if err == nil {
		s.note("commit " + string(rune('a'-1+next[kafka.TopicPartition{}])))
	}
	return err
}

func (committing) Member() kafka.Member { return kafka.Member{} }

// side takes batches of one arrival each, named from a on, down paths of their own at once, each packed at its time. It
// returns their ends, and the committer's.
func (s *steps) side(t *testing.T, packed ...time.Duration) (errs []error, end error) {
	var g *order
	if s.transactions {
		g = ordered(t.Context(), nil, inTransactions{s})
	} else {
		g = ordered(t.Context(), committing{s}, nil)
	}
	var lanes sync.WaitGroup
	errs = make([]error, len(packed))
	for k, at := range packed {
		id := string(rune('a' + k))
		in := Intake{Name: id, Records: records(t, arrival(id)), Offsets: kafka.Offsets{{}: int64(k + 1)}}
		turn := g.take(in.Offsets)
		p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: s, Observer: s})
		lanes.Go(func() {
			time.Sleep(at)
			errs[k] = g.finishing(t.Context(), p, in, turn)
		})
	}
	lanes.Wait()
	return errs, g.end()
}

// commits lets so many commits be, each after a minute.
func (s *steps) commits(n int) {
	s.mayCommit = make(chan error)
	go func() {
		for range n {
			time.Sleep(time.Minute)
			s.mayCommit <- nil
		}
	}()
}

// G5: Batches are packed as soon as they are computed, and published in their order. At least once they are published
// while a commit is under way, and the next commit takes all of them. In transactions those that are ready go into one;
// a batch that comes while the transaction ends goes into the next.
func TestOrderOfDeliveries(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct {
		transactions bool
		packed       []time.Duration
		commits      int
		want         string
	}{
		"at least once": {false, []time.Duration{3 * second, 2 * second, second}, 2,
			"pack c, pack b, pack a, publish a, publish b, publish c, commit a, done a, commit c, done b, done c"},
		"a transaction of those that are ready": {true, []time.Duration{3 * second, 2 * second, second}, 1,
			"pack c, pack b, pack a, publish a, publish b, publish c, end, done a, done b, done c"},
		"a batch that is not ready": {true, []time.Duration{second, second, 2 * second}, 2,
			"publish a, publish b, pack c, end, done a, done b, publish c, end, done c"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &steps{transactions: test.transactions, takes: time.Millisecond}
				s.commits(test.commits)
				errs, end := s.side(t, test.packed...)
				got := s.all()
				if test.packed[0] == test.packed[1] { // packed in any order
					got = strings.NewReplacer("pack a, ", "", "pack b, ", "").Replace(got)
				}
				if got != test.want || errors.Join(append(errs, end)...) != nil {
					t.Errorf("%s, %v, %v; want %s", got, errs, end, test.want)
				}
			})
		})
	}
}

// A transaction does not take ready batches for ever.
func TestATransactionEndsWhileBatchesAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{transactions: true, takes: 20 * time.Millisecond}
		s.commits(2)
		errs, end := s.side(t, 5, 4, 3, 2, 1)
		got := strings.Join(s.done[5:], ", ") // packed in any order
		want := "publish a, publish b, publish c, end, done a, done b, done c, publish d, publish e, end, done d, done e"
		if got != want || errors.Join(append(errs, end)...) != nil {
			t.Errorf("%s, %v, %v; want %s", got, errs, end, want)
		}
	})
}

// Offsets beyond a batch that is not published are not committed; those before it are, unless they are in a transaction
// with it.
func TestNothingIsCommittedBehindAnUnpublishedBatch(t *testing.T) {
	for name, test := range map[string]struct {
		transactions bool
		want         string
	}{
		"at least once":   {false, "publish a, commit a, done a"},
		"in transactions": {true, "publish a, abort"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &steps{transactions: test.transactions, refused: "b", takes: time.Millisecond, mayCommit: make(chan error, 1)}
				s.mayCommit <- nil
				errs, end := s.side(t, 3, 2, 1)
				if got := strings.Join(s.done[3:], ", "); got != test.want {
					t.Errorf("%s, want %s", got, test.want)
				}
				if errs[0] != nil || !errors.Is(errs[1], errNotPublished) || !errors.Is(errs[2], errBefore) || end != nil {
					t.Errorf("the batches end with %v and %v", errs, end)
				}
			})
		})
	}
}

// After a commit that failed nothing is committed, and the observer hears of no batch: what was published meanwhile is
// handed back.
func TestNothingIsCommittedBehindAFailure(t *testing.T) {
	for _, transactions := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, failure := &steps{transactions: transactions, mayCommit: make(chan error)}, errors.New("no longer a member")
			go func() {
				time.Sleep(time.Minute)
				s.mayCommit <- failure
			}()
			errs, end := s.side(t, 1, time.Second, time.Hour)
			if got := s.all(); strings.Contains(got, "commit") || strings.Contains(got, "done") || strings.Contains(got, "end") {
				t.Errorf("%q: something was committed", got)
			}
			if !errors.Is(end, failure) || errs[0] != nil || !errors.Is(errs[2], errBefore) {
				t.Errorf("the batches end with %v, the committer with %v", errs, end)
			}
		})
	}
}
