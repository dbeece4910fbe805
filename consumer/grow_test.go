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

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/infer/version"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// growingVersion is a testVersion whose arrivals get rows, kept in a map that several may share.
type growingVersion struct {
	*testVersion
	mu      sync.Mutex // over what is kept: lanes ask at once
	grower  *growth.Grower
	store   map[string]attach.Row
	full    error // of Keep, while not nil
	written int
}

func newGrowingVersion() *growingVersion {
	v := newTestVersion("v1")
	dictionary := &graph.Dense{Rows: 3, Cols: 7, Data: []float32{1, -1, 0, 0.5, 0, -1, 0.25, -2, 1, 1, 0, 1, -1, 0.5, 1, 0,
		-1, 2, -1, 0, 1}}
	parts := growth.Messages{U: []growth.Part{{Scale: 0.5}, {Scale: 1}}, C: growth.Part{Scale: 0.25},
		Slots: []float32{1}}
	return &growingVersion{testVersion: v, store: map[string]attach.Row{},
		grower: growth.NewGrower(dictionary, 2,
			[]growth.Model{{Frozen: v.predictor.Model.(infer.Growable), Messages: parts}}, graph.Slots{})}
}

func (v *growingVersion) Growth() version.Growth { return v }

func (v *growingVersion) Find(_ context.Context, ids []string, rows []attach.Row) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, id := range ids {
		rows[i] = v.store[id]
	}
	return v.failing
}

func (v *growingVersion) Solve(b *attach.Batch) *growth.Solution { return v.grower.Grow(b) }

func (v *growingVersion) Keep(_ context.Context, arrived []growth.ArrivalRow) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full != nil {
		return v.full
	}
	for _, a := range arrived {
		v.written++
		v.store[a.ID] = a.Row
	}
	return nil
}

// stream takes batches of records down the path, one after another.
func stream(t *testing.T, v Version, mode *attach.Mode, batches ...[]kafka.Record) [][]event.Prediction {
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
	v := newGrowingVersion()
	all := records(t, arrival("p", "t0", "t1", "nobody"), arrival("q", "p", "t2", "q"), arrival("r", "p", "q", "nobody"))
	for mode, want := range map[*attach.Mode][3][3]int{attach.Node: {{2, 0, 1}, {1, 1, 0}, {0, 2, 1}},
		attach.Graph: {{2, 0, 1}, {1, 1, 0}, {0, 2, 1}}} {
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
		b.R, b.Known = attach.Attach([][]attach.Row{{v.store["p"], v.rows["t2"]}}, 3)
		_, probabilities := v.predictor.Predict(b)
		if got[1][0].Probability != slices.Max(probabilities.Row(0)) {
			t.Errorf("%s: q has probability %v, want %v", mode, got[1][0].Probability, probabilities.Row(0))
		}
		if row := v.grower.Grow(b).Row(0); !cmp.Equal(row, v.store["q"]) {
			t.Errorf("%s: q has row %+v, want %+v", mode, v.store["q"], row)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(v.store)), []string{"p", "q", "r"}) {
			t.Errorf("%s: rows of %v", mode, slices.Collect(maps.Keys(v.store)))
		}
	}
}

// In its own batch an arrival is a neighbour in ã or unknown, also where it has a row already.
func TestArrivalsOfOneBatch(t *testing.T) {
	all := records(t, arrival("p", "q", "t0"), arrival("q", "t1"))
	for mode, inBatch := range map[*attach.Mode]int{attach.Node: 0, attach.Graph: 1} {
		v := newGrowingVersion()
		first := stream(t, v, mode, all)[0]
		for _, p := range first {
			if p.Arrivals != 0 || p.InBatch != inBatch {
				t.Errorf("%s: %s has %d arrivals and %d in the batch", mode, p.ID, p.Arrivals, p.InBatch)
			}
		}
	}
}

// A mode is what it says of who sees whom: here the first two arrivals of a batch see each other, and so on. A neighbour
// that is not seen in the batch is looked up among the rows of earlier arrivals, and one that is seen is not.
func TestAModeSaysWhoSeesWhom(t *testing.T) {
	pairs := &attach.Mode{Name: "pairs", Sees: func(i, j int) bool { return i/2 == j/2 }}
	v := newGrowingVersion()
	got := stream(t, v, pairs, records(t, arrival("q", "t1"), arrival("r", "t2")),
		records(t, arrival("p", "q", "r", "t0"), arrival("q", "t1", "r"), arrival("r", "t2"), arrival("s", "r", "p")))[1]
	for i, want := range []event.Prediction{{ID: "p", Known: 1, InBatch: 1, Arrivals: 1},
		{ID: "q", Known: 1, InBatch: 1, Arrivals: 1}, {ID: "r", Known: 1, InBatch: 1},
		{ID: "s", InBatch: 1, Unknown: 1}} {
		if p := got[i]; p.ID != want.ID || p.Known != want.Known || p.InBatch != want.InBatch ||
			p.Arrivals != want.Arrivals || p.Unknown != want.Unknown {
			t.Errorf("%s: %d known, %d in the batch, %d arrivals, %d unknown, want %+v", p.ID, p.Known, p.InBatch, p.Arrivals,
				p.Unknown, want)
		}
	}
}

// An id that arrives again gets the row of its last arrival, also within a batch.
func TestTheLastArrivalHasTheRow(t *testing.T) {
	v := newGrowingVersion()
	stream(t, v, attach.Node, records(t, arrival("p", "t0")))
	first := v.store["p"]
	stream(t, v, attach.Node, records(t, arrival("p", "t1"), arrival("p", "t1", "t2")))
	last := v.store["p"]
	if v.written != 2 || cmp.Equal(first, last) {
		t.Errorf("%d rows are written, the first is %+v, the last %+v", v.written, first, last)
	}
	stream(t, v, attach.Node, records(t, arrival("p", "t1", "t2")))
	expect.Same(t, last, v.store["p"], "the row of the last one alone")
}

// No row: nodes of T, arrivals that lack a neighbour's row, and those whose prediction is no number.
func TestWhoGetsNoRow(t *testing.T) {
	v := newGrowingVersion()
	v.rows["gone"] = attach.Row{Unread: true}
	v.predictor.Model = overflowing{v.predictor.Model}
	far := arrival("far", "t1")
	far.Features.Values[0] = 1e30
	stream(t, v, attach.Node, records(t, arrival("t0", "t1"), arrival("lacking", "gone"), arrival("gone", "t0"), far,
		arrival("p")))
	if got := slices.Sorted(maps.Keys(v.store)); !slices.Equal(got, []string{"p"}) {
		t.Errorf("rows of %v, want of p alone", got)
	}
}

// Nothing is committed before the rows are written; in a consumer they are tried again until they are.
func TestRowsAreWrittenBeforeTheCommit(t *testing.T) {
	v := newGrowingVersion()
	v.full = errors.New("connection refused")
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node, Arrivals: true})
	in := Intake{Name: "b", Records: records(t, arrival("p", "t0"))}
	g := ordered(t.Context(), nil, out)
	err := g.process(t.Context(), p, in)
	expect.OK(t, g.end())
	if !errors.Is(err, v.full) || errors.Is(err, ErrLookup) || out.committed != 0 || out.aborted != 1 {
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
	g = ordered(t.Context(), nil, out)
	if err := errors.Join(g.process(t.Context(), p, in), g.end()); err != nil || len(v.store) != 1 || seen.retried(StageRows) != 3 ||
		out.committed != 1 {
		t.Errorf("Process: %v, %d rows after %d attempts, %d commits", err, len(v.store), seen.retried(StageRows),
			out.committed)
	}
	v.full = errors.New("connection refused")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrDrainTimeout)
	g = ordered(t.Context(), nil, out)
	err = g.process(ctx, p, Intake{Name: "c", Records: records(t, arrival("q", "t0"))})
	expect.OK(t, g.end())
	if !errors.Is(err, ErrDrainTimeout) || out.committed != 1 || out.aborted != 2 {
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
	v := newGrowingVersion()
	out, seen := &kept{}, &recorder{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node, Arrivals: true, Observer: seen})
	for k, r := range records(t, arrival("p", "t0"), arrival("q", "p")) {
		expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: []kafka.Record{r}}))
		s := seen.batches[k]
		if s.Solved != 1 || s.Arrivals != k || s.Residual < 0 || s.Residual > 1 || s.Isolated != 0 || s.Solve <= 0 ||
			s.Published.Before(s.Started) {
			t.Errorf("batch %d: %+v", k, s)
		}
	}
}
