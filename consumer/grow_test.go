package consumer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// growingVersion is a testVersion whose arrivals get rows, kept in a map that several may share.
type growingVersion struct {
	*testVersion
	mu      sync.Mutex // over what is kept: lanes ask at once
	grower  *growth.Grower
	store   map[string]growth.ArrivalRow
	full    error // of KeepArrivals, while not nil
	written int
	asked   int64     // calls of FindArrivals, which is also what they say of when that was
	notes   *notebook // shared by the consumers of a version; nil: none are expected
}

// notebook keeps notes by place and offset.
type notebook struct {
	notes  map[string]map[int64]growth.Note
	closed error // of NoteArrivals, while not nil
	newer  bool  // somebody in a later generation has written notes
	lost   bool  // notes are lost
	taken  int   // notes that were asked for
}

func newNotebook() *notebook { return &notebook{notes: map[string]map[int64]growth.Note{}} }

func (n *notebook) size() (size int) {
	for _, of := range n.notes {
		size += len(of)
	}
	return size
}

func (v *growingVersion) NoteArrivals(_ context.Context, notes []growth.Note) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.notes.closed != nil {
		return v.notes.closed
	}
	for i := range notes {
		n := &notes[i]
		if n.Overtaken = v.notes.newer && !n.Confirmed; n.Overtaken {
			continue
		}
		v.notes.taken++
		if n.Lost = v.notes.lost; n.Lost {
			continue
		}
		if v.notes.notes[n.Place] == nil {
			v.notes.notes[n.Place] = map[int64]growth.Note{}
		}
		at := n.Offset + n.Edge<<32
		if there, ok := v.notes.notes[n.Place][at]; ok && there.Record == n.Record {
			n.Attached, n.Rows, n.Earlier = slices.Clone(there.Attached), there.Rows, true
			continue
		}
		kept := *n
		kept.Attached, kept.Rows = slices.Clone(n.Attached), slices.Clone(n.Rows)
		v.notes.notes[n.Place][at] = kept
	}
	return nil
}

func (v *growingVersion) ForgetNotes(_ context.Context, below map[string]int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for place, next := range below {
		maps.DeleteFunc(v.notes.notes[place], func(_ int64, n growth.Note) bool { return n.Offset < next })
	}
	return nil
}

func newGrowingVersion(store map[string]growth.ArrivalRow) *growingVersion {
	v := newTestVersion("v1")
	dictionary := &graph.Dense{Rows: 3, Cols: 7, Data: []float32{1, -1, 0, 0.5, 0, -1, 0.25, -2, 1, 1, 0, 1, -1, 0.5, 1, 0,
		-1, 2, -1, 0, 1}}
	parts := growth.Messages{U: []growth.Part{{Scale: 0.5}, {Scale: 1}}, C: growth.Part{Scale: 0.25}}
	return &growingVersion{testVersion: v, store: store,
		grower: growth.NewGrower(dictionary, 2,
			[]growth.Model{{Frozen: v.predictor.Model.(infer.Growable), Messages: parts}}, nil)}
}

func (v *growingVersion) FindArrivals(_ context.Context, ids []string, rows []attach.Row, own []string,
	seen []*growth.ArrivalRow) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, id := range ids {
		rows[i] = v.store[id].Row
	}
	for i, id := range own {
		if a, ok := v.store[id]; ok {
			seen[i] = &a
		}
	}
	v.asked++
	return v.asked, v.failing
}

func (v *growingVersion) Grow(b *attach.Batch) *growth.Solution { return v.grower.Grow(b) }

func (v *growingVersion) KeepArrivals(_ context.Context, arrived []growth.ArrivalRow, _ growth.Fence) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full != nil {
		return v.full
	}
	for _, a := range arrived {
		v.written++
		if _, ok := v.store[a.ID]; !ok || a.Replace {
			a.Attached = slices.Clone(a.Attached)
			v.store[a.ID] = a
		}
	}
	return nil
}

// sameAgain compares predictions but for when they were made.
var sameAgain = cmpopts.IgnoreFields(event.Prediction{}, "PredictedTime", "Batch")

// stream takes batches of records down the path, one after another.
func stream(t *testing.T, v Version, mode Mode, batches ...[]kafka.Record) [][]event.Prediction {
	t.Helper()
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: mode, Arrivals: true})
	var got [][]event.Prediction
	for _, records := range batches {
		expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: records}))
		got = append(got, out.batches[len(out.batches)-1].Predictions)
	}
	return got
}

func TestLaterArrivalsAttach(t *testing.T) {
	v := newGrowingVersion(map[string]growth.ArrivalRow{})
	all := records(t, arrival("p", "t0", "t1", "nobody"), arrival("q", "p", "t2", "q"), arrival("r", "p", "q", "nobody"))
	for mode, want := range map[Mode][3][3]int{Node: {{2, 0, 1}, {1, 1, 0}, {0, 2, 1}},
		Graph: {{2, 0, 1}, {1, 1, 0}, {0, 2, 1}}} {
		clear(v.store)
		got := stream(t, v, mode, all[:1], all[1:2], all[2:])
		for k, of := range got {
			if p := of[0]; [3]int{p.Known, p.Arrivals, p.Unknown} != want[k] || p.InBatch != 0 {
				t.Errorf("%s, %s: %d known, %d arrivals, %d in the batch, %d unknown, want %v", mode, p.ID, p.Known, p.Arrivals,
					p.InBatch, p.Unknown, want[k])
			}
		}
		// q was predicted as an arrival with the rows of p and t2 for neighbours, and D = 3.
		q := arrival("q")
		b := &attach.Batch{X: graph.Features{Dense: &graph.Dense{Rows: 1, Cols: 4, Data: q.Features.Values}}}
		b.R, b.Known = attach.Attach([][]attach.Row{{v.store["p"].Row, v.rows["t2"]}}, 3)
		_, probabilities := v.predictor.Predict(b)
		if got[1][0].Probability != slices.Max(probabilities.Row(0)) {
			t.Errorf("%s: q has probability %v, want %v", mode, got[1][0].Probability, probabilities.Row(0))
		}
		if row := v.grower.Grow(b).Row(0); !cmp.Equal(row, v.store["q"].Row) {
			t.Errorf("%s: q has row %+v, want %+v", mode, v.store["q"].Row, row)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(v.store)), []string{"p", "q", "r"}) {
			t.Errorf("%s: rows of %v", mode, slices.Collect(maps.Keys(v.store)))
		}
	}
}

// In its own batch an arrival is a neighbour in ã or unknown, also where it has a row already.
func TestArrivalsOfOneBatch(t *testing.T) {
	all := records(t, arrival("p", "q", "t0"), arrival("q", "t1"))
	for mode, inBatch := range map[Mode]int{Node: 0, Graph: 1} {
		v := newGrowingVersion(map[string]growth.ArrivalRow{})
		first := stream(t, v, mode, all)[0]
		for _, p := range first {
			if p.Arrivals != 0 || p.InBatch != inBatch {
				t.Errorf("%s: %s has %d arrivals and %d in the batch", mode, p.ID, p.Arrivals, p.InBatch)
			}
		}
	}
}

// A row to keep says what its own lookup said of when that was.
func TestRowsSayWhenTheirIDsWereLookedUp(t *testing.T) {
	v := newGrowingVersion(map[string]growth.ArrivalRow{})
	all := records(t, arrival("p", "t0"), arrival("q", "p"), arrival("r", "p"))
	stream(t, v, Node, all[:1], all[1:])
	if p, q, r := v.store["p"].AsOf, v.store["q"].AsOf, v.store["r"].AsOf; p != 1 || q != 2 || r != 2 {
		t.Errorf("p, q and r are as of %d, %d and %d, want 1, 2 and 2", p, q, r)
	}
}

// Whoever predicts a record again, with everything there that arrived in between, predicts the same and writes no
// other row: after a kill between the rows and the commit.
func TestRepeatedPredictionsAreTheSame(t *testing.T) {
	all := records(t, arrival("a", "t0", "c"), arrival("b", "a", "t1"), arrival("c", "b", "a"),
		arrival("d", "a", "b", "c", "t2"), arrival("e", "d"))
	for _, mode := range []Mode{Node, Graph} {
		v := newGrowingVersion(map[string]growth.ArrivalRow{})
		want := stream(t, v, mode, all[:2], all[2:3], all[3:])
		rows := maps.Clone(v.store)
		other := newGrowingVersion(v.store) // of the consumer that takes over
		got := stream(t, other, mode, all[:2], all[2:3], all[3:])
		if diff := cmp.Diff(want, got, sameAgain); diff != "" {
			t.Errorf("%s: predicted again (-first +again):\n%s", mode, diff)
		}
		if diff := cmp.Diff(rows, other.store); diff != "" || other.written != 0 {
			t.Errorf("%s: %d rows written again:\n%s", mode, other.written, diff)
		}
		// With another record of the same id nothing is remembered, but the row that is there stays.
		later := records(t, arrival("a", "t0", "c"))
		later[0].Position.Offset = 99
		if p := stream(t, other, mode, later)[0][0]; p.Arrivals != 1 || !cmp.Equal(other.store["a"], rows["a"]) {
			t.Errorf("%s: a sent again has %d arrivals for neighbours, and row %+v", mode, p.Arrivals, other.store["a"])
		}
	}
}

// No row: nodes of T, arrivals that lack a neighbour's row, and those whose prediction is no number.
func TestWhoGetsNoRow(t *testing.T) {
	v := newGrowingVersion(map[string]growth.ArrivalRow{})
	v.rows["gone"] = attach.Row{Unread: true}
	v.predictor.Model = overflowing{v.predictor.Model}
	far := arrival("far", "t1")
	far.Features.Values[0] = 1e30
	stream(t, v, Node, records(t, arrival("t0", "t1"), arrival("lacking", "gone"), arrival("gone", "t0"), far,
		arrival("p")))
	if got := slices.Sorted(maps.Keys(v.store)); !slices.Equal(got, []string{"p"}) {
		t.Errorf("rows of %v, want of p alone", got)
	}
}

// Nothing is committed before the rows are written; in a consumer they are tried again until they are.
func TestRowsAreWrittenBeforeTheCommit(t *testing.T) {
	v := newGrowingVersion(map[string]growth.ArrivalRow{})
	v.full = errors.New("connection refused")
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: Node, Arrivals: true})
	in := Intake{Name: "b", Records: records(t, arrival("p", "t0"))}
	if err := p.Process(t.Context(), in); !errors.Is(err, v.full) || errors.Is(err, ErrLookup) || out.committed != 0 ||
		out.aborted != 1 {
		t.Errorf("Process: %v, %d commits, %d aborts", err, out.committed, out.aborted)
	}
	tries := 0
	seen := &recorder{}
	p.Observer = seen
	p.keeping = retry.Patience{Observer: seen, Clock: instant{&tries, func() {
		if tries == 3 {
			v.full = nil
		}
	}}}.Outage(StageRows).Attempts()
	if err := p.Process(t.Context(), in); err != nil || len(v.store) != 1 || seen.retried(StageRows) != 3 ||
		out.committed != 1 {
		t.Errorf("Process: %v, %d rows after %d attempts, %d commits", err, len(v.store), seen.retried(StageRows),
			out.committed)
	}
	v.full = errors.New("connection refused")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrDrainTimeout)
	if err := p.Process(ctx, Intake{Name: "c", Records: records(t, arrival("q", "t0"))}); !errors.Is(err,
		ErrDrainTimeout) ||
		out.committed != 1 || out.aborted != 2 {
		t.Errorf("Process with an ended context: %v, %d commits, %d aborts", err, out.committed, out.aborted)
	}
	if err := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v")), Deliverer: out, Arrivals: true}).
		Process(t.Context(), in); !errors.Is(err, errNotGrowing) {
		t.Errorf("a version that does not grow: %v", err)
	}
}

// instant is a clock whose timers fire at once.
type instant struct {
	n    *int
	each func()
}

func (c instant) Now() time.Time { return time.Unix(int64(*c.n), 0) }

func (c instant) NewTimer(time.Duration) (<-chan time.Time, func()) {
	*c.n++
	c.each()
	fired := make(chan time.Time, 1)
	fired <- c.Now()
	return fired, func() {}
}

// What the observer is told is of the rows, and of the delivery.
func TestStatsOfGrowth(t *testing.T) {
	v := newGrowingVersion(map[string]growth.ArrivalRow{})
	out, seen := &kept{at: time.Unix(7, 0)}, &recorder{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: Node, Arrivals: true, Observer: seen})
	for k, r := range records(t, arrival("p", "t0"), arrival("q", "p")) {
		expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: []kafka.Record{r}}))
		s := seen.batches[k]
		if s.Solved != 1 || s.Arrivals != k || s.Residual < 0 || s.Residual > 1 || s.Isolated != 0 || s.Solve <= 0 ||
			!s.Published.Equal(out.at) {
			t.Errorf("batch %d: %+v", k, s)
		}
	}
}
