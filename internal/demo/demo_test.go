package demo

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/internal/cli"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/run"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// tiny returns a graph on which a run takes a second.
func tiny(t *testing.T) *dataset.Dataset {
	t.Helper()
	g, _ := generate.Preset("small")
	g.Nodes, g.Edges, g.Train, g.Validation, g.Test = 1500, 9000, 700, 300, 400
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	return d
}

var shared *artifact.Bundle

// ready returns an artifact of tiny, which tests share.
func ready(t *testing.T) *artifact.Bundle {
	t.Helper()
	if shared == nil {
		outcome, err := trainer.Train(t.Context(), tiny(t), options(attach.Node).Train, time.Now(), trainer.Silent{})
		expect.OK(t, err)
		expect.OK(t, outcome.Bundle.Seal())
		shared = outcome.Bundle
	}
	return shared
}

func options(mode *attach.Mode) Options {
	train := trainer.Defaults()
	train.Costs, train.Own, train.WeightDecays = false, trainer.OwnNever, []float64{1e-2, 1e-4}
	return Options{Train: train, Mode: mode, Batch: 64, Progress: &cli.Lines{W: io.Discard},
		Log: slog.New(slog.DiscardHandler)}
}

// Every arrival is predicted exactly once, and the stream gives the answers of the artifact offline.
func TestStreamIsTheArtifact(t *testing.T) {
	d := tiny(t)
	for _, mode := range []*attach.Mode{attach.Node, attach.Graph} {
		t.Run(mode.Name, func(t *testing.T) {
			o := options(mode)
			if mode == attach.Graph { // the other one trains
				o.Artifact = ready(t)
			}
			r, err := Run(t.Context(), d, o)
			expect.OK(t, err)
			type delivery struct{ Arrivals, Predicted, Missing, Duplicates, DeadLetters int }
			want := delivery{Arrivals: 400, Predicted: 400}
			expect.Same(t, want, delivery{r.Arrivals, r.Predicted, r.Missing, r.Duplicates, r.DeadLetters}, "delivery")
			if r.Accuracy != r.AccuracyOffline {
				t.Errorf("the stream's accuracy is %.3f%%, offline %.3f%%", r.Accuracy, r.AccuracyOffline)
			}
			if r.Accuracy < r.AccuracyWhole-3 { // 400 nodes: a point and a half is one deviation
				t.Errorf("accuracy %.2f%%, Whole %.2f%%", r.Accuracy, r.AccuracyWhole)
			}
			if r.Batches < 400/64 || r.NodesPerSecond <= 0 || r.Latency.P50 <= 0 || r.Latency.P50 > r.Latency.Max ||
				r.Queueing.Max > r.Latency.Max || r.Queueing.P50 > r.Latency.P50 {
				t.Errorf("figures do not fit together: %+v", r)
			}
		})
	}
}

// At its easy rate a stream takes three seconds, and the report says at which rate it was sent.
func TestTheEasyRateIsTold(t *testing.T) {
	d, o := tiny(t), options(attach.Node)
	o.Rate, o.Artifact = EasyRate(d), ready(t)
	r, err := Run(t.Context(), d, o)
	expect.OK(t, err)
	if took := 400 / r.NodesPerSecond; o.Rate*3 != 400 || r.Rate != o.Rate || took < 2.9 || r.Missing != 0 {
		t.Errorf("400 arrivals at %g a second took %.2f s: %+v", o.Rate, took, r)
	}
	for rate, want := range map[float64]string{o.Rate: "arrivals sent at 133 a second", 0: "as fast as Kafka takes them"} {
		var out bytes.Buffer
		r.Rate = rate
		if err := r.Print(&out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, no %q in:\n%s", err, want, out.String())
		}
	}
}

// An existing artifact is served without training, with the chosen model, and measured as the trainer did.
func TestAReadyArtifactIsServed(t *testing.T) {
	d, o := tiny(t), options(attach.Node)
	o.Train.Models = []string{"sgc", "gcn"}
	o.Train.Hidden = 8
	outcome, err := trainer.Train(t.Context(), d, o.Train, time.Now(), trainer.Silent{})
	expect.OK(t, err)
	expect.OK(t, outcome.Bundle.Seal())
	o.Artifact = outcome.Bundle
	for model, serves := range map[string]string{"": "sgc", "gcn": "gcn"} {
		o.Model = model
		r, err := Run(t.Context(), d, o)
		expect.OK(t, err)
		calibration := propagation.None
		for _, m := range outcome.Bundle.Manifest.Models {
			if m.Name == serves {
				calibration = m.Calibration.Kind
			}
		}
		var whole, onS float64
		for _, row := range outcome.Results {
			switch {
			case row.Model != serves || row.Batch != trainer.NodeBatch:
			case row.Setting == eval.OtoO && row.Calibration == propagation.None:
				whole = row.Score("accuracy").Mean
			case row.Setting == eval.OtoS && row.Calibration == calibration:
				onS = row.Score("accuracy").Mean
			}
		}
		if r.Accuracy != onS || r.AccuracyOffline != onS || r.AccuracyWhole != whole || r.TrainSeconds != 0 ||
			r.Missing != 0 {
			t.Errorf("model %q: stream %.3f%%, offline %.3f%%, Whole %.3f%%, want %.3f, %.3f and %.3f; %+v",
				model, r.Accuracy, r.AccuracyOffline, r.AccuracyWhole, onS, onS, whole, r)
		}
	}
	o.Model = "sage"
	expect.Error(t, expect.ErrorOf(Run(t.Context(), d, o)), `has no model "sage"`)
	o.Model = ""
	d.Labels[d.Test[0]] ^= 1
	expect.Error(t, expect.ErrorOf(Run(t.Context(), d, o)), "is of other data")
}

// replay --out - | predict gives the same predictions as the stream, bit for bit in node mode.
func TestLinesAreTheStream(t *testing.T) {
	d, o := tiny(t), options(attach.Node)
	dir := t.TempDir() + "/artifact"
	expect.OK(t, artifact.Write(dir, ready(t)))
	streamed, lines := throughStream(t, d, ready(t), o), throughLines(t, d, dir)
	if len(streamed) != len(d.Test) || len(lines) != len(d.Test) {
		t.Fatalf("%d predictions by the stream, %d by lines, want %d", len(streamed), len(lines), len(d.Test))
	}
	for id, want := range lines {
		if diff := cmp.Diff(want, streamed[id]); diff != "" {
			t.Fatalf("arrival %s (-lines +stream):\n%s", id, diff)
		}
	}
}

func throughStream(t *testing.T, d *dataset.Dataset, b *artifact.Bundle, o Options) map[string]string {
	t.Helper()
	s, err := start(t.Context(), b, o)
	expect.OK(t, err)
	defer s.close()
	s.consumer.Output.Logits = true
	expect.OK(t, s.stream(t.Context(), replay.TestNodes(d), newTally(d, time.Now), o))
	topics := s.consumer.Kafka.Topics
	r, end, err := connect.Services{Brokers: s.consumer.Kafka.Brokers, Log: o.Log}.Reader(topics.Predictions, "")
	expect.OK(t, err)
	defer end()
	out := map[string]string{}
	if _, err := r.ToEnd(t.Context(), nil, func(rec kafka.Record) error {
		var p event.Prediction
		err := (json.Codec{}).DecodePrediction(rec.Value, &p)
		out[p.ID] = harness.Says(&p)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func throughLines(t *testing.T, d *dataset.Dataset, dir string) map[string]string {
	t.Helper()
	var arrivals, predictions bytes.Buffer
	if _, err := replay.Replay(t.Context(), replay.TestNodes(d), &replay.Lines{W: &arrivals},
		replay.Options{Chunk: 100}); err != nil {
		t.Fatal(err)
	}
	versions, err := run.Pinned(t.Context(), dir, serving.Options{}, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	predicted, rejected, err := run.PredictLines(t.Context(), versions, &arrivals, &predictions,
		run.LineOptions{Mode: attach.Node, Batch: 37, Output: consumer.Output{Logits: true}})
	if err != nil || rejected != 0 || predicted != len(d.Test) {
		t.Fatalf("%d predicted, %d rejected, %v", predicted, rejected, err)
	}
	out := map[string]string{}
	for line := range bytes.Lines(predictions.Bytes()) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
		out[p.ID] = harness.Says(&p)
	}
	return out
}
