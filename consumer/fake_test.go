package consumer

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/infer/version"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// testVersion is a small SGC on S of three nodes, d = 4, C = 3, with the rows of M in a map. It records what it is
// asked.
type testVersion struct {
	info      version.Info
	predictor infer.Predictor
	embedder  infer.Embedder // of the SGC: width 4
	rows      map[string]attach.Row

	mu      sync.Mutex
	asked   [][]string
	batches []*attach.Batch
	failing error // of Rows, while not nil
}

func newTestVersion(id string) *testVersion {
	w := &graph.Dense{Rows: 4, Cols: 3, Data: []float32{1, -1, 0, 0.5, 2, -1, -2, 0, 1, 0.25, 0.5, 0.75}}
	sgc, err := infer.NewSGC(w, []float32{0.1, 0, -0.1})
	if err != nil {
		panic(err)
	}
	adj := graph.NewCSR(3, 3, []graph.Edge{{Row: 0, Col: 1, Val: 0.5}, {Row: 1, Col: 0, Val: 0.5},
		{Row: 1, Col: 2, Val: 1}, {Row: 2, Col: 1, Val: 1}})
	x := &graph.Dense{Rows: 3, Cols: 4, Data: []float32{1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 3, 1}}
	pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	return &testVersion{
		info: version.Info{ID: id, Classes: []string{"red", "green", "blue"}, Features: 4, SyntheticNodes: 3},
		predictor: infer.Predictor{Model: sgc.Frozen(sgc.Tables(adj, preprocess.Ready(x)), pre),
			Calibration: infer.Calibration{Temperature: 1, Kind: propagation.None}},
		embedder: sgc.FrozenFeatures(sgc.FeatureTables(adj, preprocess.Ready(x)), pre),
		rows: map[string]attach.Row{
			"t0":    {Known: true, Cols: []int32{0}, Vals: []float32{1}},
			"t1":    {Known: true, Cols: []int32{0, 2}, Vals: []float32{0.5, 0.25}},
			"t2":    {Known: true, Cols: []int32{1}, Vals: []float32{2}},
			"empty": {Known: true},
		},
	}
}

func (v *testVersion) Info() *version.Info                           { return &v.info }
func (v *testVersion) Numbers([]string, []uint32) *attach.PackedRows { return nil }
func (v *testVersion) Embedder() infer.Embedder                      { return v.embedder }
func (v *testVersion) Explainer() *explain.Explainer                 { return nil }
func (v *testVersion) Growth() version.Growth                        { return nil }

func (v *testVersion) Rows(_ context.Context, ids []string, rows []attach.Row) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, slices.Clone(ids))
	if v.failing != nil {
		return v.failing
	}
	for i, id := range ids {
		rows[i] = v.rows[id]
	}
	return nil
}

func (v *testVersion) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	kept := *b
	kept.Known = slices.Clone(b.Known)
	if b.Adj != nil {
		kept.Adj = &graph.CSR{Rows: b.Adj.Rows, Cols: b.Adj.Cols, RowPtr: slices.Clone(b.Adj.RowPtr),
			ColIdx: slices.Clone(b.Adj.ColIdx)}
	}
	v.mu.Lock()
	v.batches = append(v.batches, &kept)
	v.mu.Unlock()
	return v.predictor.Predict(b)
}

func (v *testVersion) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failing = err
}

// served is a Versions that gives one version, which may be nil.
type served struct {
	Pin // has no trouble
	mu  sync.Mutex
	v   Version
}

func serve(v Version) *served { return &served{v: v} }

func (s *served) Current() Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v
}

func (s *served) swap(v Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.v = v
}

// kept is a Deliverer and its Transactions in one. It keeps copies of the batches and offsets that it is given.
type kept struct {
	mu                 sync.Mutex
	batches            []event.Batch
	offsets            []kafka.Offsets // of each
	committed, aborted int             // transactions
	err, refused       error           // of Publish and Commit, while not nil
}

func (k *kept) Publish(_ context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return nil, k.err
	}
	b.Predictions, b.DeadLetters = slices.Clone(b.Predictions), slices.Clone(b.DeadLetters)
	for i := range b.Predictions {
		if e := b.Predictions[i].Explanation; e != nil {
			b.Predictions[i].Explanation = &event.Explanation{RunnerUp: e.RunnerUp, Reasons: slices.Clone(e.Reasons)}
		}
	}
	k.batches, k.offsets = append(k.batches, b), append(k.offsets, maps.Clone(next))
	return nil, nil
}

func (k *kept) Begin(context.Context, kafka.Committer, []kafka.TopicPartition) error { return nil }

func (k *kept) Commit(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refused == nil {
		k.committed++
	}
	return k.refused
}

func (k *kept) Abort(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.aborted++
	return nil
}

func (k *kept) Paused() bool { return false }

// order is a committer at work.
type order struct {
	*committer
	ended chan struct{}
	mu    sync.Mutex
	errs  []error
}

// ordered has a committer work until end.
func ordered(ctx context.Context, by kafka.Committer, transactions Transactions) *order {
	o := &order{committer: newCommitter(by, transactions, 0, SystemClock{}), ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		o.run(ctx, func(err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.errs = append(o.errs, err)
		})
	}()
	return o
}

// process takes a batch down a path, as a lane does.
func (o *order) process(ctx context.Context, p *Pipeline, in Intake) error {
	return o.finishing(ctx, p, in, o.take(in.Offsets))
}

// finishing is process for a batch that has its turn.
func (o *order) finishing(ctx context.Context, p *Pipeline, in Intake, at *turn) error {
	in.Turn = at
	err := p.Process(ctx, in)
	if err != nil {
		in.Turn.fail()
	}
	return err
}

// end waits until everything is committed or handed back, and returns the committer's failures.
func (o *order) end() error {
	o.finish()
	<-o.ended
	return errors.Join(o.errs...)
}

func (k *kept) predictions() []event.Prediction {
	var all []event.Prediction
	for _, b := range k.batches {
		all = append(all, b.Predictions...)
	}
	return all
}

// arrival is an arrival with dense features of four values made from its id.
func arrival(id string, edges ...string) event.Arrival {
	a := event.Arrival{ID: id, Edges: edges}
	for k := range 4 {
		a.Features.Values = append(a.Features.Values, float32((int(id[len(id)-1])*(k+3))%7)/4)
	}
	return a
}

// records encodes arrivals as JSON records of one partition, from offset 0.
func records(t testing.TB, arrivals ...event.Arrival) []kafka.Record {
	t.Helper()
	var out []kafka.Record
	for i := range arrivals {
		value, err := json.Codec{}.AppendArrival(nil, &arrivals[i])
		expect.OK(t, err)
		out = append(out, kafka.Record{Key: []byte(arrivals[i].ID), Value: value,
			Position: kafka.Position{Topic: "arrivals", Offset: int64(i)}})
	}
	return out
}

// run takes one batch of arrivals down the path and returns the predictions and the batch that the model saw.
func run(t testing.TB, mode *attach.Mode, arrivals ...event.Arrival) ([]event.Prediction, *attach.Batch) {
	t.Helper()
	v, out := newTestVersion("v1"), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: mode})
	expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: records(t, arrivals...)}))
	if len(out.batches) != 1 || len(out.batches[0].DeadLetters) != 0 {
		t.Fatalf("delivered %d batches, dead letters %v", len(out.batches), out.batches[0].DeadLetters)
	}
	sameByNumber(t, mode, arrivals, out, v)
	return out.batches[0].Predictions, v.batches[0]
}

// numberingVersion has its rows in memory, by numbers.
type numberingVersion struct {
	*testVersion
	memory *mapping.Memory
}

func (v numberingVersion) Numbers(ids []string, numbers []uint32) *attach.PackedRows {
	return v.memory.Numbers(ids, numbers)
}

func numbering() numberingVersion {
	v := newTestVersion("v1")
	m := &artifact.Mapping{Rows: &graph.CSR{Cols: 3, RowPtr: []int{0}}}
	for id, row := range v.rows {
		m.IDs = append(m.IDs, id)
		m.Rows.ColIdx, m.Rows.Val = append(m.Rows.ColIdx, row.Cols...), append(m.Rows.Val, row.Vals...)
		m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
		m.Rows.Rows++
	}
	return numberingVersion{v, mapping.FromArtifact(m)}
}

func (numberingVersion) Rows(context.Context, []string, []attach.Row) error {
	return errors.New("rows are asked for by number")
}

// sameByNumber fails unless a version that has M in memory predicts the same of the same batch, bit for bit.
func sameByNumber(t testing.TB, mode *attach.Mode, arrivals []event.Arrival, want *kept, by *testVersion) {
	t.Helper()
	v, got := numbering(), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: got, Mode: mode})
	expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: records(t, arrivals...)}))
	later := cmpopts.IgnoreFields(event.Prediction{}, "PredictedTime")
	if diff := cmp.Diff(want.batches[0].Predictions, got.batches[0].Predictions, later); diff != "" {
		t.Errorf("predictions by number (-rows +numbers):\n%s", diff)
	}
	if a, b := by.batches[0], v.batches[0]; rowsOf(a.Adj) != rowsOf(b.Adj) || !slices.Equal(a.Known, b.Known) {
		t.Errorf("by number ã is %s and %v neighbours are known, want %s and %v", rowsOf(b.Adj), b.Known, rowsOf(a.Adj),
			a.Known)
	}
}

// pipeline is of graph batches unless o says otherwise.
func pipeline(t testing.TB, o PipelineOptions) *Pipeline {
	t.Helper()
	o.Mode = stdcmp.Or(o.Mode, attach.Graph)
	p, err := NewPipeline(o)
	expect.OK(t, err)
	return p
}

// rowsOf writes the rows of ã as lists of columns.
func rowsOf(adj *graph.CSR) string {
	if adj == nil {
		return "none"
	}
	var rows [][]int32
	for i := range adj.Rows {
		cols, vals := adj.Row(i)
		if vals != nil {
			return "with values"
		}
		rows = append(rows, cols)
	}
	return fmt.Sprint(rows)
}
