package consumer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// recorder is an Observer that keeps what it is told.
type recorder struct {
	mu         sync.Mutex
	batches    []BatchStats
	letters    []string
	dropped    []string
	delivered  []string // offsets, with the version or the reason
	lags       kafka.Offsets
	lost       map[string]int64
	assigned   [][]kafka.TopicPartition
	retries    map[string]int
	windows    window.Stats // its counts
	deliveries int
}

func (r *recorder) Batch(s BatchStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries += len(s.Delivered.Predictions)
	for _, p := range s.Delivered.Predictions {
		r.delivered = append(r.delivered, fmt.Sprint(p.Source.Offset, " ", p.Artifact))
	}
	for _, d := range s.Delivered.DeadLetters {
		r.delivered, r.letters = append(r.delivered, fmt.Sprint(d.Source.Offset, " ", d.Reason)), append(r.letters, d.Reason)
	}
	s.Delivered = nil
	r.batches = append(r.batches, s)
}

func (r *recorder) Dropped(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped = append(r.dropped, reason)
}

func (r *recorder) Lag(at kafka.TopicPartition, lag int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lags == nil {
		r.lags = make(kafka.Offsets)
	}
	r.lags[at] = lag
}

func (r *recorder) Window(_ kafka.TopicPartition, s window.Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, n := range s.Left {
		r.windows.Left[k] += n
	}
	r.windows.Joined, r.windows.Unmatched = r.windows.Joined+s.Joined, r.windows.Unmatched+s.Unmatched
}

func (r *recorder) Rebalance(assigned []kafka.TopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assigned = append(r.assigned, assigned)
}

func (r *recorder) Throttled(string, time.Duration) {}

func (r *recorder) Lost(reason string, records int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = make(map[string]int64)
	}
	r.lost[reason] += records
}

func (r *recorder) Retry(stage string, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retries == nil {
		r.retries = make(map[string]int)
	}
	r.retries[stage]++
}

func (r *recorder) retried(stage string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retries[stage]
}

// attempts is the number of repeated attempts at anything.
func (r *recorder) attempts() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.retries {
		n += k
	}
	return n
}

// partitions returns how many partitions the last generation has assigned.
func (r *recorder) partitions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.assigned) == 0 {
		return 0
	}
	return len(r.assigned[len(r.assigned)-1])
}

func (r *recorder) generations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.assigned)
}

// G6: each record that cannot be predicted says why, and those beside it are predicted.
func TestDeadLettersSayWhyAndDoNotStopTheBatch(t *testing.T) {
	good := records(t, arrival("a", "t0"), arrival("z"))
	header := func(ct string) []event.Header { return []event.Header{{Key: "content-type", Value: []byte(ct)}} }
	bad := map[string]kafka.Record{
		event.ReasonUnparsable:    {Value: []byte(`{"id":`)},
		event.ReasonContentType:   {Value: good[0].Value, Headers: header("application/x-nothing")},
		event.ReasonFeatureLength: {Value: []byte(`{"id":"b","features":[1,2,3],"edges":[]}`)},
		event.ReasonNotFinite:     {Value: []byte(`{"id":"b","features":[1,2,3,1e16],"edges":[]}`)},
		event.ReasonTooManyEdges:  {Value: []byte(`{"id":"b","features":[1,2,3,4],"edges":["1","2","3","4"]}`)},
		event.ReasonTooLarge:      {Key: []byte(strings.Repeat("k", 600)), Value: good[0].Value},
	}
	out, seen := &kept{}, &recorder{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out, Observer: seen,
		Limits: event.Limits{Edges: 3, RecordBytes: 600}})
	all := good[:1:1]
	for reason, r := range bad {
		r.Position = kafka.Position{Topic: "arrivals", Partition: 2, Offset: int64(len(reason))}
		all = append(all, r)
	}
	// a tombstone is passed over, an empty value is not
	all = append(all, kafka.Record{}, kafka.Record{Value: []byte{}}, good[1])
	expect.OK(t, p.Process(t.Context(), Intake{Records: all}))
	b := out.batches[0]
	var ids []string
	for _, pr := range b.Predictions {
		ids = append(ids, pr.ID)
	}
	expect.Same(t, []string{"a", "z"}, ids, "predicted ids")
	if len(b.DeadLetters) != len(bad)+1 {
		t.Fatalf("%d dead letters, want %d: %v", len(b.DeadLetters), len(bad)+1, b.DeadLetters)
	}
	for _, d := range b.DeadLetters[:len(bad)] {
		want := bad[d.Reason]
		if d.Source.Offset != int64(len(d.Reason)) || string(d.Value) != string(want.Value) ||
			string(d.Key) != string(want.Key) {
			t.Errorf("dead letter %s is not the record that deserves it: %+v", d.Reason, d)
		}
		if d.Detail == "" {
			t.Errorf("dead letter %s has no detail", d.Reason)
		}
	}
	if got := b.DeadLetters[len(bad)].Reason; got != event.ReasonUnparsable {
		t.Errorf("an empty record is %q, want %q", got, event.ReasonUnparsable)
	}
	if len(seen.letters) != len(bad)+1 || seen.batches[0].Records != len(all) {
		t.Errorf("observed %v of %d records", seen.letters, seen.batches[0].Records)
	}
}

// Features that overflow in the model cannot stop the stream: what cannot be published is a dead letter, the others
// go on.
func TestPredictionsThatAreNoNumbersAreDeadLetters(t *testing.T) {
	v := newTestVersion("v1")
	v.predictor.Model = overflowing{v.predictor.Model}
	out, seen := &kept{}, &recorder{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Observer: seen, Mode: attach.Node,
		Output: Output{Logits: true}})
	all := records(t, arrival("a", "t0"), arrival("big", "t1"), arrival("z"))
	all[1].Value = []byte(`{"id":"big","features":[1e15,-1e15,1e15,1e15],"edges":["t1"]}`)
	all[1].Position = kafka.Position{Topic: "arrivals", Offset: 41}
	expect.OK(t, p.Process(t.Context(), Intake{Records: all}))
	b := out.batches[0]
	if len(b.Predictions) != 2 || b.Predictions[0].ID != "a" || b.Predictions[1].ID != "z" {
		t.Errorf("predictions %+v", b.Predictions)
	}
	if len(b.DeadLetters) != 1 || b.DeadLetters[0].Reason != event.ReasonNotFinite ||
		b.DeadLetters[0].Source.Offset != 41 ||
		string(b.DeadLetters[0].Value) != string(all[1].Value) {
		t.Errorf("dead letters %+v", b.DeadLetters)
	}
	if !slices.Equal(seen.letters, []string{event.ReasonNotFinite}) {
		t.Errorf("observed %v", seen.letters)
	}
}

// overflowing is a model whose weights are too large for large features.
type overflowing struct{ infer.Deployment }

func (o overflowing) Logits(b *attach.Batch) *graph.Dense {
	out := o.Deployment.Logits(b)
	for k := range out.Data {
		out.Data[k] *= 1e30
		if math.IsInf(float64(out.Data[k]), 0) {
			continue
		}
		out.Data[k] /= 1e30
	}
	return out
}

func TestABatchOfDeadLettersOnlyIsDelivered(t *testing.T) {
	v, out := newTestVersion("v1"), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out})
	expect.OK(t, p.Process(t.Context(), Intake{Records: []kafka.Record{{Value: []byte("no")}}}))
	if len(out.batches[0].DeadLetters) != 1 || len(v.batches) != 0 || len(v.asked) != 0 {
		t.Errorf("delivered %+v; the model ran %d times, rows were asked for %d times", out.batches[0], len(v.batches),
			len(v.asked))
	}
}

func TestEachDistinctNeighbourIsLookedUpOnce(t *testing.T) {
	v := newTestVersion("v1")
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: &kept{}})
	for range 2 { // twice: the memory of the first batch must not show in the second
		if err := p.Process(t.Context(), Intake{Records: records(t, arrival("a", "t0", "t1"),
			arrival("b", "t1", "x", "t0"))}); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]string{{"t0", "t1", "x"}, {"t0", "t1", "x"}}
	expect.Same(t, want, v.asked, "ids asked for")
}

func TestPredictionCarriesWhatTheModelSaid(t *testing.T) {
	v, out := newTestVersion("v7"), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node,
		Output: Output{TopK: 2, Probabilities: true, Logits: true}})
	in := Intake{Name: "batch-1", Records: records(t, arrival("a", "t0"), arrival("b", "t1"))}
	expect.OK(t, p.Process(t.Context(), in))
	for i, pr := range out.predictions() {
		if pr.Artifact != "v7" || pr.Batch != "batch-1" || pr.Source.Offset != int64(i) || string(pr.Key) != pr.ID {
			t.Errorf("prediction %d: %+v", i, pr)
		}
		if pr.Probability != slices.Max(pr.Probabilities) || pr.Probabilities[pr.Class] != pr.Probability ||
			pr.ClassName != v.info.Classes[pr.Class] || len(pr.Logits) != 3 {
			t.Errorf("prediction %d is not of its most probable class: %+v", i, pr)
		}
		if len(pr.Top) != 2 || pr.Top[0] != (event.Score{Class: pr.Class, Name: pr.ClassName, Probability: pr.Probability}) ||
			pr.Top[1].Probability > pr.Top[0].Probability || pr.Top[1].Class == pr.Class {
			t.Errorf("prediction %d has top %+v", i, pr.Top)
		}
		sum := float32(0)
		for _, q := range pr.Probabilities {
			sum += q
		}
		if math.Abs(float64(sum)-1) > 1e-6 {
			t.Errorf("probabilities of prediction %d add to %v", i, sum)
		}
	}
}

func TestRepresentation(t *testing.T) {
	v := newTestVersion("v1")
	arrivals := []event.Arrival{arrival("a", "t0", "b"), arrival("b", "t1", "x"), arrival("c")}
	publish := func(o Output) []event.Prediction {
		t.Helper()
		out := &kept{}
		p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Graph, Output: o})
		expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrivals...)}))
		return out.predictions()
	}
	for _, pr := range publish(Output{Representation: event.RepresentationLogits, Logits: true}) {
		if pr.RepresentationKind != event.RepresentationLogits || !slices.Equal(pr.Representation, pr.Logits) ||
			len(pr.Logits) != 3 {
			t.Errorf("%s: representation %q %v with logits %v", pr.ID, pr.RepresentationKind, pr.Representation, pr.Logits)
		}
	}
	embedded := publish(Output{Representation: event.RepresentationEmbedding})
	want := v.embedder.Embeddings(v.batches[len(v.batches)-1])
	for i, pr := range embedded {
		if pr.RepresentationKind != event.RepresentationEmbedding || !slices.Equal(pr.Representation, want.Row(i)) ||
			pr.Logits != nil {
			t.Errorf("%s: representation %q %v, want %v", pr.ID, pr.RepresentationKind, pr.Representation, want.Row(i))
		}
	}
	for _, o := range []Output{{}, {Representation: RepresentationNone}} {
		for _, pr := range publish(o) {
			if pr.Representation != nil || pr.RepresentationKind != "" {
				t.Errorf("%+v: representation %q %v", o, pr.RepresentationKind, pr.Representation)
			}
		}
	}
	_, err := NewPipeline(PipelineOptions{Versions: serve(v), Deliverer: &kept{}, Mode: attach.Node,
		Output: Output{Representation: "rank"}})
	expect.Error(t, err, `representation is "rank", want "none"`, "a representation that nobody knows")
}

// A prediction abstains where its probability is below the version's threshold, and is published all the same.
func TestAbstention(t *testing.T) {
	v := newTestVersion("v1")
	arrivals := []event.Arrival{arrival("a", "t0"), arrival("b", "t1"), arrival("c", "t2"), arrival("d")}
	publish := func(threshold float32) []event.Prediction {
		t.Helper()
		v.info.Threshold = threshold
		out := &kept{}
		p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out})
		expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrivals...)}))
		return out.predictions()
	}
	plain := publish(0)
	var sorted []float32
	for _, pr := range plain {
		if pr.Abstained {
			t.Errorf("%s abstains at threshold 0", pr.ID)
		}
		sorted = append(sorted, pr.Probability)
	}
	slices.Sort(sorted)
	marked := publish(sorted[2]) // that one itself answers
	for i, pr := range marked {
		if want := pr.Probability < sorted[2]; pr.Abstained != want {
			t.Errorf("%s of probability %v abstains: %t at threshold %v", pr.ID, pr.Probability, pr.Abstained, sorted[2])
		}
		if pr.Class != plain[i].Class || pr.Probability != plain[i].Probability {
			t.Errorf("the threshold changed the prediction of %s", pr.ID)
		}
	}
}

func TestFeatureLengthIsJudgedByTheVersionThatServesTheBatch(t *testing.T) {
	versions, out := serve(newTestVersion("v1")), &kept{}
	p := pipeline(t, PipelineOptions{Versions: versions, Deliverer: out})
	expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrival("a"))}))
	wider := newTestVersion("v2")
	wider.info.Features = 5
	versions.swap(wider)
	expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrival("a"))}))
	if got := out.batches[0].Predictions[0].Artifact; got != "v1" {
		t.Errorf("first batch served by %q", got)
	}
	if d := out.batches[1].DeadLetters; len(d) != 1 || d[0].Reason != event.ReasonFeatureLength {
		t.Errorf("second batch: dead letters %+v", d)
	}
}

func TestErrorsOfThePath(t *testing.T) {
	v, out := newTestVersion("v1"), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(nil), Deliverer: out})
	in := Intake{Name: "b1", Records: records(t, arrival("a", "t0"))}
	if err := p.Process(t.Context(), in); !errors.Is(err, ErrNoVersion) {
		t.Errorf("without a version: %v", err)
	}
	p = pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out})
	down := errors.New("redis is down")
	v.fail(down)
	if err := p.Process(t.Context(), in); !errors.Is(err, ErrLookup) || !errors.Is(err, down) {
		t.Errorf("lookup failed: %v", err)
	}
	v.fail(nil)
	out.err = errors.New("no acks")
	if err := p.Process(t.Context(), in); !errors.Is(err, out.err) || !strings.Contains(err.Error(), "b1") {
		t.Errorf("publishing failed: %v", err)
	}
	if len(out.batches) != 0 {
		t.Errorf("delivered %d batches", len(out.batches))
	}
	seen := &recorder{}
	out.err, out.refused, p.Observer = nil, errors.New("another generation"), seen
	g := ordered(t.Context(), nil, out)
	expect.OK(t, g.process(t.Context(), p, in))
	if err := g.end(); !errors.Is(err, out.refused) || len(out.batches) != 1 || out.aborted != 0 || len(seen.batches) != 0 {
		t.Errorf("commit failed: %v, %d batches published, %d aborts, %d observed", err, len(out.batches), out.aborted,
			len(seen.batches))
	}
}

func TestABatchWaitsForTheOneBeforeIt(t *testing.T) {
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out})
	in := Intake{Records: records(t, arrival("a"))}
	for range 2 {
		behind := ordered(t.Context(), nil, out)
		behind.take(nil).fail()
		if err := behind.process(t.Context(), p, in); !errors.Is(err, errBefore) {
			t.Errorf("behind a failed batch: %v", err)
		}
		expect.OK(t, behind.end())
	}
	g := ordered(t.Context(), nil, out)
	hanging := g.take(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.process(ctx, p, in); !errors.Is(err, context.Canceled) {
		t.Errorf("behind a batch that hangs: %v", err)
	}
	if len(out.batches) != 0 {
		t.Fatalf("delivered %d batches", len(out.batches))
	}
	expect.OK(t, g.finishing(t.Context(), p, in, hanging))
	if err := g.end(); err != nil || len(out.batches) != 1 || out.committed != 1 {
		t.Errorf("the batch that hung: %v, %d delivered, %d committed", err, len(out.batches), out.committed)
	}
}

// In a node batch a prediction is the same bits whatever stands beside it, dense or sparse.
func TestNodePredictionsDoNotDependOnTheBatch(t *testing.T) {
	edges := []string{"t0", "t1", "t2", "empty", "x", "n0", "n1"}
	rapid.Check(t, func(r *rapid.T) {
		var all []event.Arrival
		for i := range rapid.IntRange(1, 12).Draw(r, "n") {
			a := arrival(fmt.Sprintf("n%d", i), rapid.SliceOfN(rapid.SampledFrom(edges), 0, 5).Draw(r, "edges")...)
			if rapid.Bool().Draw(r, "sparse") {
				f := event.Features{Sparse: true}
				for k, v := range a.Features.Values {
					if v != 0 {
						f.Indices, f.Values = append(f.Indices, int32(k)), append(f.Values, v)
					}
				}
				a.Features = f
			}
			all = append(all, a)
		}
		whole, _ := run(t, attach.Node, all...)
		for i, a := range all {
			alone, _ := run(t, attach.Node, a)
			if math.Float32bits(alone[0].Probability) != math.Float32bits(whole[i].Probability) ||
				alone[0].Class != whole[i].Class {
				r.Fatalf("arrival %d: %v alone, %v in the batch", i, alone[0], whole[i])
			}
		}
	})
}
