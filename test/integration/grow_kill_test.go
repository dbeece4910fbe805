package integration

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Two consumers, each attaching to the other's arrivals, are killed with SIGKILL when the rows of a batch of arrivals
// are written and its offsets are not committed: one, the other, both. No arrival that is committed is without its
// row. Every arrival is answered, exactly once in transactions; a repeated answer may differ by what arrived in
// between.
func TestKillBetweenRowsAndCommit(t *testing.T) {
	besideEachOther(t, realOrEmbedded(t), func(w *world, bundle *artifact.Bundle, delivery string) {
		s := newGrowing(w, 2)
		s.publish("artifact")
		s.killRounds(bundle, delivery)
	}, "at_least_once", config.ExactlyOnce)
}

// besideEachOther trains an artifact, and runs the cases at once: sessions of killed consumers are waited for.
func besideEachOther(t *testing.T, broker *harness.Broker, run func(*world, *artifact.Bundle, string),
	cases ...string) {
	w := newServices(t, broker)
	w.run("rivulet", "generate", "--preset", "small", "--out", w.Path("data"))
	w.run("trainer", "train", "--costs=false", "--data", w.Path("data"), "--out", w.Path("artifact"), "--nodes", "60")
	bundle, err := artifact.Read(w.Path("artifact"))
	expect.OK(t, err)
	t.Run("cases", func(t *testing.T) {
		for _, name := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(w.as(t), bundle, name)
			})
		}
	})
}

// parity returns the partition of an arrival that linked made.
func parity(id string) byte { return (id[len(id)-1] - '0') % 2 }

// linked makes arrivals, each of which lists nodes of T and arrivals of both partitions: some that have just arrived
// or are in its own batch, an old one, and two that come later.
func linked(b *artifact.Bundle, seed uint64) func(n int) event.Arrival {
	rng := rand.New(rand.NewPCG(seed, 0))
	d := int32(b.Manifest.Data.Features)
	return func(n int) event.Arrival {
		a := event.Arrival{ID: "a" + strconv.Itoa(n), Features: event.Features{Sparse: true}}
		for c := rng.Int32N(d / 8); c < d; c += 1 + rng.Int32N(d/8) {
			a.Features.Indices, a.Features.Values = append(a.Features.Indices, c), append(a.Features.Values, rng.Float32())
		}
		first := rng.IntN(len(b.Mapping.IDs) - 2)
		a.Edges = append(a.Edges, b.Mapping.IDs[first:first+2]...)
		for _, m := range []int{n - 1, n - 2, n - 5, n - 40, n - 41, n + 1, n + 33} {
			if m >= 0 {
				a.Edges = append(a.Edges, "a"+strconv.Itoa(m))
			}
		}
		return a
	}
}

// window holds the arrivals of the batch that a consumer had not committed when it was killed.
type window struct {
	member int
	ids    []string
}

func (s *growing) killRounds(b *artifact.Bundle, delivery string) {
	version := b.Manifest.Version
	var gates [2]*gate
	var members [2]*harness.Process
	for i := range gates {
		gates[i] = newGate(s.t, s.kafka.Addr)
		members[i] = s.member(gates[i].Addr(), delivery)
	}
	stop := s.load(10, linked(b, 1))
	s.await("predictions come", func() bool { return len(s.committed) > 200 })
	var windows []window
	for _, victims := range [][]int{{0}, {1}, {0, 1}} {
		s.awaitMembers(len(members))
		s.await("the consumers keep up", func() bool { return len(s.sent)-len(s.committed) < 50 })
		held := s.heldCommits(gates, victims)
		committed := s.groupOffsets() // before the rows are read: the other consumer goes on
		rows := s.storedRows(version)
		caught := s.windows(held, victims, committed, rows)
		for _, i := range victims {
			members[i].Kill()
			gates[i].pass()
		}
		if victims[0] == 0 && len(victims) == 1 { // and it repeats the batch in hand
			s.awaitRepeats(caught)
		}
		for _, i := range victims {
			members[i] = s.member(gates[i].Addr(), delivery)
		}
		s.awaitRepeats(caught)
		windows = append(windows, caught...)
	}
	stop()
	s.await("all arrivals are predicted", func() bool { return len(s.committed) == len(s.sent) })
	for _, m := range members {
		s.drain(m)
	}
	time.Sleep(time.Second) // for what should not be there
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkPredictions(windows, delivery)
	s.checkRows()
}

// heldCommits returns when each of the consumers has written the rows of a batch and not committed it. Their
// partitions differ.
func (s *growing) heldCommits(gates [2]*gate, of []int) (held []map[int]int64) {
	s.t.Helper()
	var waiting []<-chan map[int]int64
	for _, i := range of {
		waiting = append(waiting, gates[i].hold())
	}
	owner := map[int]int{}
	for k, i := range of {
		select {
		case offsets := <-waiting[k]:
			held = append(held, offsets)
			for partition := range offsets {
				if other, taken := owner[partition]; taken {
					s.t.Errorf("consumers %d and %d commit partition %d", other, i, partition)
				}
				owner[partition] = i
			}
		case <-time.After(time.Minute):
			s.t.Fatalf("consumer %d has committed nothing for a minute", i)
		}
	}
	return held
}

// windows returns the arrivals whose commits are held back. These and all committed arrivals must have their rows.
func (s *growing) windows(held []map[int]int64, of []int, committed map[int]int64,
	rows map[string]string) (caught []window) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for partition, next := range committed {
		for _, id := range s.at[partition][:next] {
			if rows[id] == "" {
				s.t.Errorf("%s is committed and has no row", id)
			}
		}
	}
	for k, offsets := range held {
		in := window{member: of[k]}
		for partition, next := range offsets {
			for _, id := range s.at[partition][committed[partition]:next] {
				in.ids = append(in.ids, id)
				if rows[id] == "" {
					s.t.Errorf("%s is about to be committed and has no row", id)
				}
			}
		}
		if len(in.ids) == 0 {
			s.t.Errorf("the commit of consumer %d that was held back, up to %v, is of nothing: %v is committed", in.member,
				offsets, committed)
		}
		caught = append(caught, in)
	}
	return caught
}

// awaitRepeats waits until the arrivals in hand have been published once more.
func (s *growing) awaitRepeats(of []window) {
	s.t.Helper()
	s.await("what was in hand is predicted again", func() bool {
		for _, w := range of {
			for _, id := range w.ids {
				if len(s.published[id]) < 2 || len(s.committed[id]) == 0 {
					return false
				}
			}
		}
		return true
	})
}

// checkPredictions: every arrival is answered, with exactly_once once for a read-committed reader, and each consumer
// attaches to the other's arrivals.
func (s *growing) checkPredictions(windows []window, delivery string) {
	s.t.Helper()
	repeated, across := 0, [2]int{}
	for id := range s.sent {
		all, seen := s.published[id], s.committed[id]
		if len(seen) == 0 || delivery == config.ExactlyOnce && len(seen) != 1 {
			s.t.Errorf("%s is predicted %d times", id, len(seen))
			continue
		}
		if len(all) > 1 {
			repeated++
		}
		own := 0
		for _, neighbour := range s.sent[id].Edges {
			if strings.HasPrefix(neighbour, "a") && parity(neighbour) == parity(id) {
				own++
			}
		}
		for k := range all {
			if all[k].Arrivals > own {
				across[all[k].Source.Partition]++
			}
		}
	}
	if s.letters > 0 {
		s.t.Errorf("%d dead letters", s.letters)
	}
	s.t.Logf("answers with neighbours of the other partition, by partition: %v", across)
	if across[0] == 0 || across[1] == 0 {
		s.t.Error("a consumer has attached nothing to the other's arrivals")
	}
	inHand := 0
	for _, w := range windows {
		inHand += len(w.ids)
	}
	s.t.Logf("%d arrivals; %d kills between rows and commit, with %d arrivals in hand; %d are published more than once",
		len(s.sent), len(windows), inHand, repeated)
}

// checkRows reads the rows of all arrivals as a consumer of the version does: each has one.
func (s *growing) checkRows() {
	s.t.Helper()
	var ids []string
	for _, of := range s.at {
		ids = append(ids, of...)
	}
	rows := make([]attach.Row, len(ids))
	s.must(s.reader().Growth().Find(s.t.Context(), ids, rows))
	for i, id := range ids {
		if !rows[i].Known {
			s.t.Errorf("%s has no row", id)
		}
	}
}

// reader returns the version that CURRENT names, as another consumer.
func (s *growing) reader() *serving.Version {
	s.t.Helper()
	w, err := serving.NewWatcher(s.store, serving.WatcherOptions{Prefix: s.prefix, Consumer: "reader",
		LookupTimeout: time.Minute,
		Clock:         consumer.SystemClock{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Serve: serving.Options{Growth: serving.GrowthOptions{On: true, TTL: time.Hour,
			MaxRows: config.Default[config.Consumer]().Attach.MaxRows}}})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := w.Load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return w.Current()
}
