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
	"rivulet/test/harness"
)

// Half of the edges of each arrival come after it was predicted. Two consumers are killed with SIGKILL, one, the other
// and both, while arrivals wait and revisions settle. Under exactly_once each prediction and each revision of a run
// without kills is there once, with the same bits, and so are the rows; the last of them is the whole arrival.
func TestKillWhileEdgesAreLate(t *testing.T) {
	besideEachOther(t, realOrEmbedded(t), func(w *world, bundle *artifact.Bundle, update string) {
		newLateEdges(w, bundle, update).killRounds()
	}, "row", "predict")
}

// Times of the log. 50 ms of the clock are lateStep of the log: a partition is never idle, as nobody waits for
// lateWait of the clock.
const (
	lateWait   = time.Minute
	lateSettle = 90 * time.Second
	lateAge    = 20 * time.Minute
	lateStep   = 6 * time.Second
)

// lateEdges is one log in two topics: consumers that are killed read one, a consumer that is not reads the other.
type lateEdges struct {
	*growing
	whole  *growing
	bundle *artifact.Bundle
	update string
	rng    *rand.Rand

	now     time.Time
	nodes   int
	pending []kgo.Record // of edges whose time has not come
}

func newLateEdges(w *world, b *artifact.Bundle, update string) *lateEdges {
	w.t.Helper()
	l := &lateEdges{growing: newGrowing(w, 2), whole: newGrowing(w, 2), bundle: b, update: update,
		rng: rand.New(rand.NewPCG(7, 0)), now: time.Now().Add(-24 * time.Hour).Truncate(time.Second)}
	for _, s := range []*growing{l.growing, l.whole} {
		s.attach = fmt.Sprintf(", wait: %v, update: %s, settle: %v, update_age: %v", lateWait, update, lateSettle, lateAge)
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
	l.await("the log is predicted", ends(l.growing))
	undisturbed := l.whole.member(l.kafka.Addr, config.ExactlyOnce)
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

// step sends a few nodes with the edges that are in time, and the late ones whose time has come.
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
		late := 1 + l.rng.IntN(4)
		var edges []string
		for len(edges) < 2*late {
			if id := ids[l.rng.IntN(len(ids))]; !slices.Contains(edges, id) {
				edges = append(edges, id)
			}
		}
		if a.Edges = edges[:1]; l.nodes%3 > 0 { // else it waits until it is late
			a.EdgeCount = late
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
			if k+1 >= late {
				at = l.now.Add(lateWait + time.Second + time.Duration(l.rng.Int64N(int64(lateAge/3))))
			}
			l.pending = append(l.pending, kgo.Record{Partition: partition, Key: []byte(a.ID), Value: edge, Timestamp: at,
				Headers: []kgo.RecordHeader{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}})
		}
		a.Edges, a.EdgeCount = slices.Sorted(slices.Values(edges)), 0 // as the last revision has them
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

// end sends the edges that are left, and three nodes to each partition: the second one settles the last revisions, and
// stands behind them.
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

// check compares the predictions and the rows with those without kills, and with the whole arrivals'.
func (l *lateEdges) check() {
	l.t.Helper()
	version := l.bundle.Manifest.Version
	stored, undisturbed := l.storedRows(version), l.whole.storedRows(version)
	v, ofT := l.reader(), mapping.FromArtifact(l.bundle.Mapping)
	revisions := 0
	for id, a := range l.sent {
		got, want := told(l.committed[id]), told(l.whole.committed[id])
		if got != want || !strings.HasPrefix(want, "revision 0 ") {
			l.t.Errorf("%s: with kills\n%s\nwithout\n%s", id, got, want)
			continue
		}
		all := l.committed[id]
		revisions += len(all) - 1
		last := &all[len(all)-1]
		neighbours := make([]attach.Row, len(a.Edges))
		l.must(ofT.Rows(l.t.Context(), a.Edges, neighbours))
		b := &attach.Batch{X: graph.Features{Sparse: &graph.CSR{Rows: 1, Cols: l.bundle.Manifest.Data.Features,
			RowPtr: []int{0, len(a.Features.Indices)}, ColIdx: a.Features.Indices, Val: a.Features.Values}}}
		b.R, b.Known = attach.Attach([][]attach.Row{neighbours}, v.SyntheticNodes())
		logits, _ := v.Predict(b)
		if l.update == "predict" && (last.Known != len(a.Edges) || harness.Bits(last.Logits) != harness.Bits(logits.Row(0))) {
			l.t.Errorf("%s: revision %d with %d edges has logits%s, the whole arrival with %d edges%s", id, last.Revision,
				last.Known, harness.Bits(last.Logits), len(a.Edges), harness.Bits(logits.Row(0)))
		}
		if l.update == "row" && len(all) != 1 {
			l.t.Errorf("%s is predicted %d times", id, len(all))
		}
		row, other := l.rowOf(stored, id), l.rowOf(undisturbed, id)
		if whole := fmt.Sprint(v.Grow(b).Row(0)); row != whole || other != whole {
			l.t.Errorf("%s has the row %s, without kills %s, the whole arrival %s", id, row, other, whole)
		}
	}
	if l.letters+l.whole.letters > 0 {
		l.t.Errorf("%d dead letters, without kills %d", l.letters, l.whole.letters)
	}
	l.t.Logf("%s: %d revisions", l.update, revisions)
	if (revisions > len(l.sent)) != (l.update == "predict") {
		l.t.Errorf("%d revisions of %d arrivals", revisions, len(l.sent))
	}
}

// told writes an arrival's predictions as text, in the order of their revisions.
func told(all []event.Prediction) string {
	var text strings.Builder
	for i := range all {
		fmt.Fprintf(&text, "revision %d of %d/%d: %s\n", all[i].Revision, all[i].Source.Partition, all[i].Source.Offset,
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
	return fmt.Sprint(l.arrived(stored[id], l.bundle.Manifest.SyntheticNodes).Row)
}
