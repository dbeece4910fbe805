package consumer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/consumer/answer"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/infer/growth"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// both are the version and a second model.
type both struct{ second Version }

func (b both) Of(v Version) []Model { return []Model{{v, "sgc"}, {b.second, "sage"}} }

// Several models answer each arrival, one after the other, by one lookup. An arrival that one of them cannot predict is
// a dead letter of which nobody publishes a prediction. Observers follow the first model, and hear counts of all.
func TestModelsAnswerEachArrival(t *testing.T) {
	first, second, out := newTestVersion("v1"), newTestVersion("v1"), &kept{}
	second.predictor.Calibration.Temperature, second.threshold = 4, 1
	var seen recorder
	models := both{second}
	p := pipeline(t, PipelineOptions{Versions: serve(first), Deliverer: out, Mode: Node, Models: models, Observer: &seen})
	in := records(t, arrival("a", "t0"), arrival("b", "t1"), arrival("c"))
	expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: in}))
	apart := map[string]event.Prediction{}
	for _, m := range models.Of(first) {
		alone := &kept{}
		of := pipeline(t, PipelineOptions{Versions: serve(m.Version), Deliverer: alone, Mode: Node})
		expect.OK(t, of.Process(t.Context(), Intake{Name: "b", Records: in}))
		for _, pr := range alone.predictions() {
			pr.Model, apart[m.Name+pr.ID] = m.Name, pr
		}
	}
	var order []string
	for _, pr := range out.predictions() {
		order = append(order, pr.Model+" "+string(pr.Key))
		want := apart[pr.Model+pr.ID]
		want.Model, want.PredictedTime = pr.Model, pr.PredictedTime
		if diff := cmp.Diff(want, pr); diff != "" {
			t.Errorf("%s by %s (-alone +among several):\n%s", pr.ID, pr.Model, diff)
		}
	}
	expect.Same(t, []string{"sgc a", "sage a", "sgc b", "sage b", "sgc c", "sage c"}, order, "order")
	if len(second.asked) != 1 || len(first.asked) != 2 { // one of each is that of the model alone
		t.Errorf("rows are looked up %d and %d times", len(first.asked), len(second.asked))
	}
	stats := seen.batches[0]
	counts := []answer.ModelCount{{Name: "sgc", Predictions: 3, Agreed: 3},
		{Name: "sage", Predictions: 3, Abstained: 3, Agreed: 3}}
	expect.Same(t, counts, stats.Models, "counts")

	second.predictor.Model = overflowing{second.predictor.Model}
	huge := arrival("huge")
	huge.Features.Values[0] = 3e38
	expect.OK(t, p.Process(t.Context(), Intake{Name: "c", Records: records(t, huge, arrival("d"))}))
	b := out.batches[1]
	if len(b.Predictions) != 2 || b.Predictions[0].ID != "d" || len(b.DeadLetters) != 1 ||
		b.DeadLetters[0].Reason != event.ReasonNotFinite {
		t.Errorf("predictions %v, dead letters %v", b.Predictions, b.DeadLetters)
	}
}

// A tombstone comes behind the predictions of all models of the arrivals before it.
func TestModelsAndTombstones(t *testing.T) {
	v, out := newGrowingVersion(map[string]growth.ArrivalRow{}), &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: Node, Arrivals: true,
		Forget: &forgets{version: v}, Tombstones: true, Forms: form.Reader{Forget: true},
		Models: both{newTestVersion("v1")}})
	expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: events(t, "x t0", "-x", "y t1")}))
	expect.Same(t, []event.Tombstone{{Key: []byte("x"), Before: 2}}, out.batches[0].Tombstones, "tombstones")
}

// Where brokers refuse one model's prediction, the other's stays, and the place of each refusal is the right one.
func TestRefusalsOfSeveralModels(t *testing.T) {
	v := newTestVersion("v1")
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: &kept{}, Mode: Node,
		Models: both{v}})
	_, err := p.Predict(t.Context(), v, Intake{Name: "b", Records: records(t, arrival("a"), arrival("b"))})
	expect.OK(t, err)
	delivered := p.batch.amend([]kafka.Refusal{{Place: 1, Replaced: true, Err: kafka.MessageTooLarge}, {Place: 2,
		Err: kafka.MessageTooLarge}})
	var got []string
	for _, pr := range delivered.Predictions {
		got = append(got, pr.Model+" "+pr.ID)
	}
	for _, letter := range delivered.DeadLetters {
		got = append(got, fmt.Sprintf("%s %s", letter.Reason, letter.Key))
	}
	expect.Same(t, []string{"sgc a", "sage b", "prediction_refused a"}, got, "answers")
}

// BenchmarkModels takes batches down the path with one model and with two of the same kind, in turn in one process, and
// reports how long two take beside one: decoding, lookup and attachment are done once, prediction twice. Encoding is
// not in it, as in BenchmarkPath.
func BenchmarkModels(b *testing.B) {
	version, all := newBenchVersion(), benchArrivals(b, benchBatch)
	var took [2]time.Duration
	var paths [2]*Pipeline
	for k, models := range []Models{nil, both{version}} {
		paths[k] = pipeline(b, PipelineOptions{Versions: serve(version), Deliverer: discard{}, Mode: Node, Models: models})
	}
	for b.Loop() {
		for k, p := range paths {
			begun := time.Now()
			expect.OK(b, p.Process(b.Context(), Intake{Name: "bench", Records: all}))
			took[k] += time.Since(begun)
		}
	}
	for k, unit := range []string{"µs/arrival-one", "µs/arrival-two"} {
		b.ReportMetric(took[k].Seconds()*1e6/float64(b.N*len(all)), unit)
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "two/one")
}
