package consumer

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/preprocess"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// encoding is a Deliverer that writes predictions as they are published, and keeps none.
type encoding struct {
	discard
	buf []byte
}

func (e *encoding) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	e.buf = e.buf[:0]
	for i := range b.Predictions {
		var err error
		if e.buf, err = (json.Codec{}).AppendPrediction(e.buf, &b.Predictions[i]); err != nil {
			return nil, err
		}
	}
	return e.discard.Publish(ctx, b, next)
}

// The path without Kafka, its predictions without reasons and with three: alternating batches, as a ratio.
func BenchmarkReasons(b *testing.B) {
	for _, name := range []string{"sgc", "gcn", "sage"} {
		b.Run(name, func(b *testing.B) {
			v := newBenchVersion()
			v.predictor.Model = benchModel(name)
			v.explainer = explain.New(&v.predictor, graph.Slots{})
			in := benchArrivals(b, benchBatch)
			var pipelines [2]*Pipeline
			for k, reasons := range []int{0, 3} {
				p, err := NewPipeline(PipelineOptions{Versions: serve(v), Deliverer: &encoding{}, Mode: attach.Node,
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
		})
	}
}

// benchModel is a frozen model of a kind with random weights and tables, with 64 hidden units if it has any.
func benchModel(name string) infer.Deployment {
	r := rand.New(rand.NewPCG(3, 4))
	dense := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = r.Float32() - 0.5
		}
		return m
	}
	a, err := architecture.Lookup(name)
	if err != nil {
		panic(err)
	}
	var layers []architecture.Layer
	for in := benchFeatures; len(layers) < a.Fewest; {
		out := 64
		if len(layers)+1 == a.Fewest {
			out = benchClasses
		}
		l := architecture.Layer{Bias: make([]float32, out)}
		for _, t := range a.Tensors {
			if t.Neighbours != 0 {
				l.Neighbours = dense(in, out)
			}
			if t.Self != 0 {
				l.Self = dense(in, out)
			}
		}
		layers, in = append(layers, l), out
	}
	m, err := infer.New(a, layers, a.Alpha, a.Hops)
	if err != nil {
		panic(err)
	}
	var t infer.Tables
	u, c := m.TableWidths()
	for _, width := range u {
		t.U = append(t.U, dense(benchSynthetic, width))
	}
	t.C = dense(benchSynthetic, c)
	return m.Frozen(&t, &preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, benchFeatures), Scale: 2})
}
