//go:build unix

package consumer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/internal/cli"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// growthBench is a version in Redis, the one that RIVULET_TEST_REDIS names or else an embedded one, for consumers that
// give arrivals rows and for others. It is trained, as the time to solve a row depends on the data: on a generated
// graph of a tenth of the nodes of preset flickr, with its degrees, features and classes and N' = 223.
type growthBench struct {
	off, on Version
	data    *dataset.Dataset
	inT     map[string]bool
	rng     *rand.Rand
	prefix  string
	made    int
}

func newGrowthBench(b *testing.B) *growthBench {
	b.Helper()
	url := os.Getenv("RIVULET_TEST_REDIS")
	if url == "" {
		url = "redis://" + miniredis.RunT(b).Addr()
	}
	options, err := redis.ParseURL(url)
	expect.OK(b, err)
	client := redis.NewClient(options)
	g := &growthBench{inT: map[string]bool{}, rng: rand.New(rand.NewPCG(5, 6)),
		prefix: fmt.Sprintf("bench-%d", time.Now().UnixNano())}
	b.Cleanup(func() {
		ctx := context.Background()
		for _, pattern := range []string{g.prefix + ":*", "{" + g.prefix + "}:*"} {
			for it := client.Scan(ctx, 0, pattern, 10_000).Iterator(); it.Next(ctx); {
				client.Unlink(ctx, it.Val())
			}
		}
		_ = client.Close()
	})
	bundle := g.train(b)
	publisher, err := serving.NewPublisher(client, g.prefix)
	expect.OK(b, err)
	expect.OK(b, publisher.Publish(b.Context(), bundle, serving.PublishOptions{Keep: 1}))
	for _, on := range []bool{false, true} {
		w, err := serving.NewWatcher(client, serving.WatcherOptions{Prefix: g.prefix, Consumer: strconv.FormatBool(on),
			CacheBytes: 256 << 20,
			Clock:      SystemClock{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Serve: serving.Options{Calibration: propagation.None,
				Growth: serving.GrowthOptions{On: on, TTL: time.Hour, MaxRows: 1_000_000}}})
		expect.OK(b, err)
		expect.OK(b, w.Load(b.Context()))
		g.off, g.on = g.on, w.Current() // the second is on
	}
	return g
}

func (g *growthBench) train(b *testing.B) *artifact.Bundle {
	b.Helper()
	preset, ok := generate.Preset("flickr")
	if !ok {
		b.Fatal("there is no preset flickr")
	}
	for _, n := range []*int{&preset.Nodes, &preset.Edges, &preset.Train, &preset.Validation, &preset.Test} {
		*n /= 10
	}
	var err error
	if g.data, err = generate.Graph(preset, 1); err != nil {
		b.Fatal(err)
	}
	o := trainer.Defaults()
	o.Nodes, o.Ratio = benchSynthetic, 0
	outcome, err := trainer.Train(b.Context(), g.data, o, time.Now(), &cli.Lines{W: io.Discard})
	expect.OK(b, err)
	expect.OK(b, outcome.Bundle.Seal())
	for _, id := range outcome.Bundle.Mapping.IDs {
		g.inT[id] = true
	}
	return outcome.Bundle
}

// arrivals are n that nobody has seen, with the features of a test node and its edges to T, of which the given
// share goes to arrivals of the last few batches instead.
func (g *growthBench) arrivals(b *testing.B, n int, share float64) (out []kafka.Record) {
	b.Helper()
	for i := range n {
		a := replay.Arrival(g.data, g.data.Test[g.rng.IntN(len(g.data.Test))], time.Time{})
		a.ID = "arrival-" + strconv.Itoa(g.made)
		a.Edges = slices.DeleteFunc(a.Edges, func(id string) bool { return !g.inT[id] })
		for e := range a.Edges {
			if back := 1 + g.rng.IntN(10*benchBatch); g.rng.Float64() < share && back <= g.made {
				a.Edges[e] = "arrival-" + strconv.Itoa(g.made-back)
			}
		}
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(b, err)
		out = append(out, kafka.Record{Key: []byte(a.ID), Value: value,
			Position: kafka.Position{Topic: arrivalsTopic, Offset: int64(i)}})
		g.made++
	}
	return out
}

// report prints the cost of growth: nodes a second without and with it, their ratio, and the stages that it adds
// to.
func (g *growthBench) report(b *testing.B, nodes int, off, on time.Duration, without, with *shares) {
	b.Helper()
	b.ReportMetric(float64(nodes)/off.Seconds(), "off-nodes/s")
	b.ReportMetric(float64(nodes)/on.Seconds(), "on-nodes/s")
	b.ReportMetric(off.Seconds()/on.Seconds(), "on/off")
	for name, d := range map[string]time.Duration{"off-lookup": without.sum.Lookup, "on-lookup": with.sum.Lookup,
		"solve": with.sum.Solve, "keep": with.sum.Keep} {
		b.ReportMetric(float64(d.Nanoseconds())/float64(nodes)/1e3, name+"-µs/node")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrowth is the path of a record without Kafka, batches with growth off and on in turn.
func BenchmarkGrowth(b *testing.B) {
	g := newGrowthBench(b)
	for _, share := range []float64{0, 0.5} {
		b.Run(fmt.Sprintf("arrivals=%.0f%%", 100*share), func(b *testing.B) {
			var seen [2]*shares
			var path [2]*Pipeline
			for k, version := range []Version{g.off, g.on} {
				seen[k] = newShares()
				path[k] = pipeline(b, PipelineOptions{Versions: serve(version), Deliverer: discard{}, Mode: attach.Node, Observer: seen[k],
					Arrivals: k > 0})
			}
			var took, used [2]time.Duration
			n := 0
			for b.Loop() {
				records := g.arrivals(b, benchBatch, share)
				for k := range path {
					k = (k + n) % 2
					in := Intake{Name: "b", Records: records, Offsets: kafka.Offsets{{Topic: arrivalsTopic}: benchBatch}}
					begin, before := time.Now(), cpuTime(b)
					expect.OK(b, path[k].Process(b.Context(), in))
					took[k] += time.Since(begin)
					used[k] += cpuTime(b) - before
				}
				n++
			}
			nodes := n * benchBatch
			g.report(b, nodes, took[0], took[1], seen[0], seen[1])
			for k, name := range []string{"off", "on"} {
				b.ReportMetric(float64(used[k].Nanoseconds())/float64(nodes)/1e3, name+"-core-µs/node")
			}
		})
	}
}

// cpuTime returns the time that all threads of the process have run. It is steadier than wall time on a machine that
// does other work too, and leaves out Redis' time, if that is another process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	expect.OK(b, unix.Getrusage(unix.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkGrowthStream is the same over the embedded broker with two lanes: one writes rows while the other predicts.
func BenchmarkGrowthStream(b *testing.B) {
	const nodes = 10_000
	g := newGrowthBench(b)
	for _, share := range []float64{0, 0.5} {
		b.Run(fmt.Sprintf("arrivals=%.0f%%", 100*share), func(b *testing.B) {
			total := [2]*shares{newShares(), newShares()}
			var took [2]time.Duration
			for i := range b.N {
				records := g.arrivals(b, nodes, share)
				for k := range took {
					k = (k + i) % 2
					seen, d := streamed(b, records, 2, PipelineOptions{Versions: serve([]Version{g.off, g.on}[k]), Arrivals: k == 1})
					took[k] += d
					total[k].sum.Lookup += seen.sum.Lookup
					total[k].sum.Solve += seen.sum.Solve
					total[k].sum.Keep += seen.sum.Keep
				}
			}
			g.report(b, b.N*nodes, took[0], took[1], total[0], total[1])
		})
	}
}
