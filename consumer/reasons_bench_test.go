package consumer

import (
	"context"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/kafka"
	"rivulet/test/expect"
)

func (v *benchVersion) Strongest(dst []explain.Reason, n int, b *attach.Batch, rows [][]attach.Row, i, class int,
	logits []float32) ([]explain.Reason, int) {
	return explain.New(&v.predictor, nil).Strongest(dst, n, b, rows, i, class, logits)
}

func (v *benchVersion) Explain(b *attach.Batch, rows [][]attach.Row, i int, logits,
	probabilities []float32) *explain.Explanation {
	return explain.New(&v.predictor, nil).Explain(b, rows, i, logits, probabilities)
}

func (v *benchVersion) FeatureNames() []string { return nil }

// encoding is a Deliverer that writes predictions as they are published, and keeps none.
type encoding struct {
	discard
	buf []byte
}

func (e *encoding) Publish(ctx context.Context, b event.Batch, next kafka.Offsets, by kafka.Committer) (kafka.Delivery,
	error) {
	e.buf = e.buf[:0]
	for i := range b.Predictions {
		var err error
		if e.buf, err = (json.Codec{}).AppendPrediction(e.buf, &b.Predictions[i]); err != nil {
			return nil, err
		}
	}
	return e.discard.Publish(ctx, b, next, by)
}

// The path without Kafka, its predictions without reasons and with three: alternating batches, as a ratio.
func BenchmarkReasons(b *testing.B) {
	v := newBenchVersion()
	in := benchArrivals(b, benchBatch)
	var pipelines [2]*Pipeline
	for k, reasons := range []int{0, 3} {
		p, err := NewPipeline(PipelineOptions{Versions: serve(v), Deliverer: &encoding{}, Mode: Node,
			Output: Output{Explain: reasons}})
		expect.OK(b, err)
		pipelines[k] = p
	}
	var took [2]time.Duration
	for b.Loop() {
		for k, p := range pipelines {
			began := time.Now()
			expect.OK(b, p.Process(b.Context(), Intake{Name: "b", Records: in}))
			took[k] += time.Since(began)
		}
	}
	nodes := float64(b.N * benchBatch)
	b.ReportMetric(nodes/took[0].Seconds(), "plain-nodes/s")
	b.ReportMetric(nodes/took[1].Seconds(), "explained-nodes/s")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
}
