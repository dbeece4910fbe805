package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping"
	store "rivulet/mapping/arrivals"
	"rivulet/test/harness"
)

// Edges come as records of their own, some of them after their arrival's wait. Two consumers are killed with SIGKILL,
// one, the other and both, while arrivals wait. Under exactly_once each prediction of a run without kills is there
// once, with the same bits, and so are the rows and the dead letters of late edges; each arrival is predicted with the
// edges that came in time, as if its record had brought them.
func TestKillWhileArrivalsWait(t *testing.T) {
	besideEachOther(t, realOrEmbedded(t), func(w *world, bundle *artifact.Bundle, _ string) {
		newLateEdges(w, bundle).killRounds()
	}, "exactly once")
}

// Times of the log. 50 ms of the clock are lateStep of the log: a partition is never idle, as nobody waits for
// lateWait of the clock.
const (
	lateWait = 15 * time.Second
	lateStep = lateWait / 10
)

// lateEdges is one log in two topics: consumers that are killed read one, a consumer that is not reads the other.
type lateEdges struct {
	*growing
	whole  *growing
	bundle *artifact.Bundle
	rng    *rand.Rand

	now     time.Time
	nodes   int
	late    int          // edges that come after their arrival's wait
	pending []kgo.Record // of edges whose time has not come
}

func newLateEdges(w *world, b *artifact.Bundle) *lateEdges {
	w.t.Helper()
	l := &lateEdges{growing: newGrowing(w, 2), whole: newGrowing(w, 2), bundle: b,
		rng: rand.New(rand.NewPCG(7, 0)), now: time.Now().Add(-24 * time.Hour).Truncate(time.Second)}
	for _, s := range []*growing{l.growing, l.whole} {
		s.attach = fmt.Sprintf(", wait: %v", lateWait)
		s.publish("artifact")
	}
	return l
}

func (l *lateEdges) killRounds() {
	member := func() *harness.Process { return l.member(l.kafka.Addr, config.ExactlyOnce) }
	members := []*harness.Process{member(), member()}
	stop := repeatedly(l.t, l.step)
	l.await("arrivals are predicted", func() bool { return len(l.committed) > 100 })
	inHand := 0
	for _, victims := range [][]int{{0}, {1}, {0, 1}, {1}} {
		l.awaitMembers(len(members))
		l.await("the consumers keep up", func() bool { return len(l.sent)-len(l.committed) < 200 })
		l.mu.Lock()
		waiting := len(l.sent) - len(l.committed)
		l.mu.Unlock()
		if inHand += waiting; waiting == 0 {
			l.t.Errorf("nothing waits at the kill of %v", victims)
		}
		for _, k := range victims {
			members[k].Kill()
		}
		for _, k := range victims {
			members[k] = member()
		}
	}
	l.awaitMembers(len(members))
	stop()
	l.end()
	ends := func(s *growing) func() bool {
		return func() bool { return len(s.committed["end-1-0"]) > 0 && len(s.committed["end-1-1"]) > 0 }
	}
	undisturbed := l.whole.member(l.kafka.Addr, config.ExactlyOnce)
	l.await("the log is predicted", ends(l.growing))
	l.whole.await("the log is predicted without kills", ends(l.whole))
	for _, m := range append(members, undisturbed) {
		l.drain(m)
	}
	time.Sleep(time.Second) // for what should not be there
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole.mu.Lock()
	defer l.whole.mu.Unlock()
	l.t.Logf("%d arrivals, of which %d waited at the kills", len(l.sent), inHand)
	l.check()
}

// step sends a few nodes, and the edges whose time has come.
func (l *lateEdges) step() error {
	l.now = l.now.Add(lateStep)
	var records []kgo.Record
	ids := l.bundle.Mapping.IDs
	for range 4 {
		a := event.Arrival{ID: fmt.Sprintf("n%d", l.nodes), Features: event.Features{Sparse: true}}
		d := int32(l.bundle.Manifest.Data.Features)
		for c := l.rng.Int32N(d / 8); c < d; c += 1 + l.rng.Int32N(d/8) {
			a.Features.Indices, a.Features.Values = append(a.Features.Indices, c), append(a.Features.Values, l.rng.Float32())
		}
		inTime := 1 + l.rng.IntN(4)
		var edges []string
		for len(edges) < 2*inTime {
			if id := ids[l.rng.IntN(len(ids))]; !slices.Contains(edges, id) {
				edges = append(edges, id)
			}
		}
		if a.Edges = edges[:1]; l.nodes%3 > 0 { // else it waits until it is late
			a.EdgeCount = inTime
		}
		value, err := json.Codec{}.AppendArrival(nil, &a)
		if err != nil {
			return err
		}
		partition := int32(l.nodes % 2)
		records = append(records, kgo.Record{Partition: partition, Key: []byte(a.ID), Value: value, Timestamp: l.now})
		for k, to := range edges[1:] {
			edge, err := json.Codec{}.AppendEdge(nil, &event.Edge{Source: a.ID, Target: to, Weight: 1})
			if err != nil {
				return err
			}
			at := l.now.Add(time.Duration(l.rng.Int64N(int64(lateWait / 2))))
			if k+1 >= inTime {
				at = l.now.Add(lateWait + time.Second + time.Duration(l.rng.Int64N(int64(5*lateWait))))
				l.late++
			}
			l.pending = append(l.pending, kgo.Record{Partition: partition, Key: []byte(a.ID), Value: edge, Timestamp: at,
				Headers: []kgo.RecordHeader{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}})
		}
		a.Edges, a.EdgeCount = slices.Sorted(slices.Values(edges[:inTime])), 0 // as it is predicted
		l.mu.Lock()
		l.sent[a.ID] = a
		l.mu.Unlock()
		l.nodes++
	}
	return l.produce(append(records, l.due()...))
}

// due takes the edges whose time has come, in the order of their times.
func (l *lateEdges) due() []kgo.Record {
	slices.SortStableFunc(l.pending, func(a, b kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	n := 0
	for n < len(l.pending) && !l.pending[n].Timestamp.After(l.now) {
		n++
	}
	due := l.pending[:n]
	l.pending = l.pending[n:]
	return due
}

// end sends the edges that are left, and three nodes to each partition: the third one ends the wait of all before it.
func (l *lateEdges) end() {
	l.t.Helper()
	for len(l.pending) > 0 {
		l.now = l.now.Add(lateStep)
		l.must(l.produce(l.due()))
	}
	for k := range 3 {
		l.now = l.now.Add(time.Hour)
		var records []kgo.Record
		for partition := range int32(2) {
			a := event.Arrival{ID: fmt.Sprintf("end-%d-%d", k, partition), Features: event.Features{Sparse: true}}
			value, err := json.Codec{}.AppendArrival(nil, &a)
			l.must(err)
			records = append(records, kgo.Record{Partition: partition, Key: []byte(a.ID), Value: value, Timestamp: l.now})
		}
		l.must(l.produce(records))
	}
}

// produce writes records to both topics.
func (l *lateEdges) produce(records []kgo.Record) error {
	var all []*kgo.Record
	for _, s := range []*growing{l.growing, l.whole} {
		for _, r := range records {
			r.Topic = s.topic("arrivals")
			all = append(all, &r)
		}
	}
	return l.sender.ProduceSync(l.t.Context(), all...).FirstErr()
}

// check compares predictions, rows and the number of dead letters with those without kills, and with those of arrivals
// that bring all of their edges.
func (l *lateEdges) check() {
	l.t.Helper()
	version := l.bundle.Manifest.Version
	stored, undisturbed := l.storedRows(version), l.whole.storedRows(version)
	v, ofT := l.reader(), mapping.FromArtifact(l.bundle.Mapping)
	for id, a := range l.sent {
		got, want := told(l.committed[id]), told(l.whole.committed[id])
		if got != want || len(l.committed[id]) != 1 {
			l.t.Errorf("%s: with kills\n%s\nwithout\n%s", id, got, want)
			continue
		}
		one := &l.committed[id][0]
		neighbours := make([]attach.Row, len(a.Edges))
		l.must(ofT.Rows(l.t.Context(), a.Edges, neighbours))
		b := &attach.Batch{X: graph.Features{Sparse: &graph.CSR{Rows: 1, Cols: l.bundle.Manifest.Data.Features,
			RowPtr: []int{0, len(a.Features.Indices)}, ColIdx: a.Features.Indices, Val: a.Features.Values}}}
		b.R, b.Known = attach.Attach([][]attach.Row{neighbours}, v.Info().SyntheticNodes)
		logits, _ := v.Predict(b)
		if one.Known != len(a.Edges) || harness.Bits(one.Logits) != harness.Bits(logits.Row(0)) {
			l.t.Errorf("%s: with %d edges it has logits%s, the whole arrival with %d edges%s", id, one.Known,
				harness.Bits(one.Logits), len(a.Edges), harness.Bits(logits.Row(0)))
		}
		row, other := l.rowOf(stored, id), l.rowOf(undisturbed, id)
		if whole := fmt.Sprint(v.Growth().Solve(b).Row(0)); row != whole || other != whole {
			l.t.Errorf("%s has the row %s, without kills %s, the whole arrival %s", id, row, other, whole)
		}
	}
	if l.letters != l.late || l.whole.letters != l.late {
		l.t.Errorf("%d dead letters, without kills %d, for %d late edges", l.letters, l.whole.letters, l.late)
	}
}

// told writes an arrival's predictions as text.
func told(all []event.Prediction) string {
	var text strings.Builder
	for i := range all {
		fmt.Fprintf(&text, "%d/%d: %s\n", all[i].Source.Partition, all[i].Source.Offset,
			harness.Says(&all[i]))
	}
	return text.String()
}

// rowOf is an arrival's stored row.
func (l *lateEdges) rowOf(stored map[string]string, id string) string {
	l.t.Helper()
	if stored[id] == "" {
		return "none"
	}
	row, _, err := store.DecodeRow([]byte(stored[id]), l.bundle.Manifest.SyntheticNodes)
	l.must(err)
	return fmt.Sprint(row)
}
