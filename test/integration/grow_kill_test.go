package integration

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	store "rivulet/mapping/arrivals"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Two consumers, each attaching to the other's arrivals, are killed with SIGKILL when the rows of a batch of arrivals
// are written and its offsets are not committed: one, the other, both. No arrival that is committed is without its
// row, and a repeated prediction says the same to the bit, whatever arrivals have come since.
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
// or are in its own batch, an old one, and two that come later, which are unknown at its first prediction but not at
// the repeated one.
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
	dumps := []map[string]string{}
	for _, victims := range [][]int{{0}, {1}, {0, 1}} {
		s.awaitMembers(len(members))
		s.await("the consumers keep up", func() bool { return len(s.sent)-len(s.committed) < 50 })
		held := s.heldCommits(gates, victims)
		committed := s.groupOffsets() // before the rows are read: the other consumer goes on
		rows := s.storedRows(version)
		dumps = append(dumps, rows)
		caught := s.windows(held, victims, committed, rows)
		for _, i := range victims {
			members[i].Kill()
			gates[i].pass()
		}
		if len(victims) == 1 { // the survivor writes rows that were not there
			s.awaitLater(caught[0], rows, b.Manifest.SyntheticNodes)
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
	rows := s.storedRows(version)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkPredictions(windows, delivery)
	for _, dump := range dumps {
		for id, row := range dump {
			if rows[id] != row {
				s.t.Errorf("the row of %s was %x and is %x", id, row, rows[id])
			}
		}
	}
	s.checkRows(rows, b)
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

// awaitLater waits until the other consumer has predicted the neighbours to which the arrivals in hand were not
// attached.
func (s *growing) awaitLater(in window, rows map[string]string, synthetic int) {
	s.t.Helper()
	var later []string
	s.mu.Lock()
	for _, id := range in.ids {
		edges := s.sent[id].Edges
		kept := s.arrived(rows[id], synthetic)
		for e, neighbour := range edges {
			other := strings.HasPrefix(neighbour, "a") && parity(neighbour) != parity(id)
			if other && !slices.Contains(kept.Attached, int32(e)) {
				later = append(later, neighbour)
			}
		}
	}
	s.mu.Unlock()
	if len(later) == 0 {
		s.t.Errorf("%d arrivals in hand list none that come later", len(in.ids))
	}
	s.await("the other consumer goes on", func() bool {
		return !slices.ContainsFunc(later, func(id string) bool { return len(s.published[id]) == 0 })
	})
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

// checkPredictions: every arrival is answered, with exactly_once once for a read-committed reader, and all answers
// say the same.
func (s *growing) checkPredictions(windows []window, delivery string) {
	s.t.Helper()
	repeated := 0
	for id := range s.sent {
		all, seen := s.published[id], s.committed[id]
		if len(seen) == 0 || delivery == config.ExactlyOnce && len(seen) != 1 {
			s.t.Errorf("%s is predicted %d times", id, len(seen))
			continue
		}
		if len(all) > 1 {
			repeated++
		}
		for k := range all {
			if before, again := harness.Says(&all[0]), harness.Says(&all[k]); again != before {
				s.t.Errorf("predicted again:\n%s\nwas\n%s", again, before)
			}
		}
	}
	if s.letters > 0 {
		s.t.Errorf("%d dead letters", s.letters)
	}
	inHand := 0
	for _, w := range windows {
		inHand += len(w.ids)
	}
	s.t.Logf("%d arrivals; %d kills between rows and commit, with %d arrivals in hand; %d are published more than once",
		len(s.sent), len(windows), inHand, repeated)
}

// checkRows reads the rows of all arrivals as a consumer of the version does, and computes predictions and rows once
// more from the stored rows.
func (s *growing) checkRows(stored map[string]string, b *artifact.Bundle) {
	s.t.Helper()
	v := s.reader()
	ids := make([]string, 0, len(s.sent))
	for _, of := range s.at {
		ids = append(ids, of...)
	}
	seen, rows := make([]*growth.ArrivalRow, len(ids)), make([]attach.Row, len(ids))
	if _, err := v.FindArrivals(s.t.Context(), ids, rows, ids, seen); err != nil {
		s.t.Fatal(err)
	}
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	ofT := mapping.FromArtifact(b.Mapping)
	neighbours := make([][]attach.Row, len(ids))
	x := &graph.CSR{Rows: len(ids), Cols: b.Manifest.Data.Features, RowPtr: []int{0}}
	across, own := [2]int{}, [2]int{}
	for i, id := range ids {
		a := s.sent[id]
		if seen[i] == nil || !rows[i].Known {
			s.t.Fatalf("%s has no row", id)
		}
		neighbours[i] = make([]attach.Row, len(a.Edges))
		if err := ofT.Rows(s.t.Context(), a.Edges, neighbours[i]); err != nil {
			s.t.Fatal(err)
		}
		p := s.committed[id][0]
		if p.Arrivals != len(seen[i].Attached) {
			s.t.Errorf("%s is predicted with %d arrivals, its row is kept with %d", id, p.Arrivals, len(seen[i].Attached))
		}
		for _, e := range seen[i].Attached {
			neighbour := place[a.Edges[e]]
			neighbours[i][e] = rows[neighbour]
			if from := s.committed[ids[neighbour]][0].Source.Partition; from != p.Source.Partition {
				across[p.Source.Partition]++
			} else {
				own[p.Source.Partition]++
			}
		}
		x.ColIdx, x.Val = append(x.ColIdx, a.Features.Indices...), append(x.Val, a.Features.Values...)
		x.RowPtr = append(x.RowPtr, len(x.ColIdx))
	}
	batch := &attach.Batch{X: graph.Features{Sparse: x}}
	batch.R, batch.Known = attach.Attach(neighbours, v.SyntheticNodes())
	logits, probabilities := v.Predict(batch)
	grown := v.Grow(batch)
	for i, id := range ids {
		p := s.committed[id][0]
		if harness.Bits(p.Logits) != harness.Bits(logits.Row(i)) ||
			harness.Bits(p.Probabilities) != harness.Bits(probabilities.Row(i)) {
			s.t.Errorf("%s: published %v, by what is kept of it %v", id, p.Logits, logits.Row(i))
		}
		again := growth.ArrivalRow{ID: id, Row: grown.Row(i), Record: seen[i].Record, Attached: seen[i].Attached}
		if row := string(store.AppendArrived(nil, &again)); row != stored[id][:len(stored[id])-sealBytes] {
			s.t.Errorf("%s: its row is %x, by what is kept of it %x", id, stored[id], row)
		}
	}
	if extra := len(stored) - len(ids); extra != 0 {
		s.t.Errorf("%d rows of %d arrivals", len(stored), len(ids))
	}
	s.t.Logf("edges to arrivals of the other partition, by partition: %v, of the same: %v", across, own)
	if across[0] == 0 || across[1] == 0 {
		s.t.Error("a consumer has attached nothing to the other's arrivals")
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
