package consumer

import (
	"context"
	"fmt"
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
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/infer/version"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/test/expect"
)

// The benchmarks have the shape of flickr: d = 500, C = 7, 44,625 nodes of T, N' = 223, 35 features and 20 edges an
// arrival, node batches of 256.
const (
	benchFeatures  = 500
	benchClasses   = 7
	benchNodes     = 44_625
	benchSynthetic = 223
	benchNonzeros  = 35
	benchEdges     = 20
	benchBatch     = 256
)

// benchVersion keeps M in memory, as a warm cache does.
type benchVersion struct {
	info      version.Info
	explainer *explain.Explainer
	predictor infer.Predictor
	rows      map[string]attach.Row
}

func newBenchVersion() *benchVersion {
	r := rand.New(rand.NewPCG(1, 2))
	dense := func(rows, cols int) *graph.Dense {
		m := graph.NewDense(rows, cols)
		for k := range m.Data {
			m.Data[k] = r.Float32() - 0.5
		}
		return m
	}
	sgc, err := infer.NewSGC(dense(benchFeatures, benchClasses), make([]float32, benchClasses))
	if err != nil {
		panic(err)
	}
	pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, benchFeatures), Scale: 2}
	tables := &infer.Tables{U: []*graph.Dense{dense(benchSynthetic, benchClasses), dense(benchSynthetic, benchClasses)},
		C: dense(benchSynthetic, 1)}
	v := &benchVersion{predictor: infer.Predictor{Model: sgc.Frozen(tables, pre),
		Calibration: infer.Calibration{Temperature: 1, Kind: propagation.None}},
		rows: make(map[string]attach.Row, benchNodes),
		info: version.Info{ID: "bench", Features: benchFeatures, SyntheticNodes: benchSynthetic}}
	v.explainer = explain.New(&v.predictor, graph.Slots{})
	for i := range benchClasses {
		v.info.Classes = append(v.info.Classes, fmt.Sprintf("class-%d", i))
	}
	for i := range benchNodes {
		row := attach.Row{Known: true}
		for c := r.Int32N(40); c < benchSynthetic && len(row.Cols) < 4; c += 1 + r.Int32N(60) {
			row.Cols, row.Vals = append(row.Cols, c), append(row.Vals, r.Float32())
		}
		v.rows[fmt.Sprint(i)] = row
	}
	return v
}

// benchExpert is an expert with layers of these widths, which answers for every arrival.
func benchExpert(widths []int) *perceptron.Expert {
	if len(widths) == 0 {
		return nil
	}
	r, in := rand.New(rand.NewPCG(5, 6)), benchFeatures
	var layers []architecture.Layer
	for _, width := range widths {
		l := architecture.Layer{Self: graph.NewDense(in, width), Bias: make([]float32, width)}
		for k := range l.Self.Data {
			l.Self.Data[k] = r.Float32() - 0.5
		}
		layers, in = append(layers, l), width
	}
	pre := &preprocess.Parameters{Kind: preprocess.L2Center, Mean: make([]float32, benchFeatures), Scale: 2}
	return &perceptron.Expert{Perceptron: perceptron.New(layers, pre),
		Exponents: perceptron.Exponents{None: 1, Few: 1, Many: 1}}
}

func (v *benchVersion) Info() *version.Info                           { return &v.info }
func (v *benchVersion) Numbers([]string, []uint32) *attach.PackedRows { return nil }
func (v *benchVersion) Embedder() infer.Embedder                      { return nil }
func (v *benchVersion) Explainer() *explain.Explainer                 { return v.explainer }
func (v *benchVersion) Growth() version.Growth                        { return nil }

func (v *benchVersion) Rows(_ context.Context, ids []string, rows []attach.Row) error {
	for i, id := range ids {
		rows[i] = v.rows[id]
	}
	return nil
}

func (v *benchVersion) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	return v.predictor.Predict(b)
}

// benchArrivals are n encoded arrivals.
func benchArrivals(b *testing.B, n int) []kafka.Record { return benchArrivalsOf(b, n, benchNodes) }

// benchArrivalsOf are n encoded arrivals at a T of so many nodes.
func benchArrivalsOf(b *testing.B, n, nodes int) (out []kafka.Record) {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		a := event.Arrival{ID: fmt.Sprint(nodes + i), Features: event.Features{Sparse: true},
			Time: time.UnixMilli(1_700_000_000_000)}
		for c := r.Int32N(14); c < benchFeatures && len(a.Features.Indices) < benchNonzeros; c += 1 + r.Int32N(27) {
			a.Features.Indices, a.Features.Values = append(a.Features.Indices, c), append(a.Features.Values, r.Float32())
		}
		for range benchEdges {
			a.Edges = append(a.Edges, fmt.Sprint(r.IntN(nodes)))
		}
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(b, err)
		out = append(out, kafka.Record{Key: []byte(a.ID), Value: value,
			Position: kafka.Position{Topic: arrivalsTopic, Offset: int64(i)}})
	}
	return out
}

// shares adds up the stages of the batches.
type shares struct {
	NopObserver
	mu    chan struct{}
	sum   BatchStats
	nodes int
}

func newShares() *shares {
	s := &shares{mu: make(chan struct{}, 1)}
	s.mu <- struct{}{}
	return s
}

func (s *shares) Batch(b BatchStats) {
	<-s.mu
	s.nodes += b.Records
	s.sum.Decode += b.Decode
	s.sum.Lookup += b.Lookup
	s.sum.Attach += b.Attach
	s.sum.Infer += b.Infer
	s.sum.Encode += b.Encode
	s.sum.Wait += b.Wait
	s.sum.Publish += b.Publish
	s.sum.Keep += b.Keep
	s.sum.Commit += b.Commit
	s.sum.Solve += b.Solve
	s.mu <- struct{}{}
}

func (s *shares) report(b *testing.B) {
	b.ReportMetric(float64(s.nodes)/b.Elapsed().Seconds(), "nodes/s")
	for name, d := range map[string]time.Duration{"decode": s.sum.Decode, "lookup": s.sum.Lookup, "attach": s.sum.Attach,
		"infer": s.sum.Infer, "encode": s.sum.Encode, "wait": s.sum.Wait, "publish": s.sum.Publish, "commit": s.sum.Commit} {
		b.ReportMetric(float64(d.Nanoseconds())/float64(s.nodes)/1e3, name+"-µs/node")
	}
}

// discard is a Deliverer that publishes nothing.
type discard struct{}

func (discard) Publish(context.Context, event.Batch, kafka.Offsets) ([]kafka.Refusal, error) {
	return nil, nil
}

// BenchmarkPath is the path of a record without Kafka, by the model alone and with experts of own features: a
// regression, and a perceptron with 64 hidden units.
func BenchmarkPath(b *testing.B) {
	all := benchArrivals(b, 16*benchBatch)
	for _, of := range []struct {
		name   string
		mode   *attach.Mode
		expert []int // widths of its layers; none: there is no expert
	}{{"node", attach.Node, nil}, {"graph", attach.Graph, nil}, {"node/own=regression", attach.Node, []int{benchClasses}},
		{"node/own=hidden", attach.Node, []int{64, benchClasses}}} {
		b.Run(of.name, func(b *testing.B) {
			seen, v := newShares(), newBenchVersion()
			v.predictor.Expert = benchExpert(of.expert)
			p := pipeline(b, PipelineOptions{Versions: serve(v), Deliverer: discard{}, Mode: of.mode, Observer: seen})
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				k := i % 16 * benchBatch
				expect.OK(b, p.Process(b.Context(), Intake{Name: "b", Records: all[k : k+benchBatch]}))
			}
			seen.report(b)
		})
	}
}

// BenchmarkStream is the whole stream over the embedded broker, whose own work is in the figure: arrivals are waiting
// in four partitions.
func BenchmarkStream(b *testing.B) {
	all := benchArrivals(b, 20_000)
	for _, lanes := range []int{1, 2, 3} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			for range b.N {
				seen, _ := streamed(b, all, lanes, PipelineOptions{Versions: serve(newBenchVersion())})
				seen.report(b)
				b.ReportMetric(float64(len(all)*b.N)/b.Elapsed().Seconds(), "nodes/s")
			}
		})
	}
}

// streamed sends arrivals through an embedded broker and a consumer in node batches, and returns its stages and how
// long it took from its start until all were delivered. The timer runs for that long.
func streamed(b *testing.B, all []kafka.Record, lanes int, path PipelineOptions) (*shares, time.Duration) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	client, sender, p, end := benchBroker(b)
	defer end()
	for part := 0; part < len(all); part += 1000 {
		var batch []kafka.Record
		for _, r := range all[part:min(part+1000, len(all))] {
			batch = append(batch, kafka.Record{Key: r.Key, Value: r.Value})
		}
		expect.OK(b, sender.Send(b.Context(), arrivalsTopic, batch))
	}
	seen := newShares()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	path.Deliverer, path.Mode, path.Observer = p, attach.Node, &until{shares: seen, n: len(all), reached: cancel}
	c, err := New(Options{Kafka: client, Source: kafka.SourceOptions{Group: "g", Topics: []string{arrivalsTopic}},
		BatchSize: benchBatch, Lanes: lanes, Path: path})
	expect.OK(b, err)
	b.StartTimer()
	begin := time.Now()
	err = c.Run(ctx)
	took := time.Since(begin)
	b.StopTimer()
	expect.OK(b, err)
	return seen, took
}

// benchBroker is an embedded broker with the topics of a stream, a sink of arrivals, and a producer to it; end lets
// go of all.
func benchBroker(b *testing.B) (client *kafka.Client, sender *kafka.Sink, p *producer.Producer, end func()) {
	b.Helper()
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{arrivalsTopic: 4, predictionsTopic: 4,
		lettersTopic: 1}})
	expect.OK(b, err)
	if client, err = kafka.Connect(kafka.Options{Brokers: k.Addrs()}); err != nil {
		b.Fatal(err)
	}
	if sender, err = kafka.NewSink(client, "", retry.Patience{}); err != nil {
		b.Fatal(err)
	}
	if p, err = producer.New(producer.Options{Sink: sender, Predictions: predictionsTopic,
		DeadLetters: lettersTopic}); err != nil {
		b.Fatal(err)
	}
	return client, sender, p, func() {
		client.Close()
		k.Close()
	}
}

// until calls reached when n records have been delivered.
type until struct {
	*shares
	n       int
	reached func()
}

func (u *until) Batch(b BatchStats) {
	u.shares.Batch(b)
	if u.nodes >= u.n {
		u.reached()
	}
}
