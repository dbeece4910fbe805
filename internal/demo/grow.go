package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/replay"
	"rivulet/trainer/eval"
)

// The three ways in which a stream is served.
const (
	GrowthOff     = "off"     // arrivals are predicted and get no rows
	GrowthOn      = "on"      // they get rows of M, by which later ones attach to them
	GrowthRefresh = "refresh" // and in mid-stream the earlier ones are merged into T and the artifact is made anew
)

// The places at which the stream with a refresh waits, as shares of its arrivals: for the new artifact to be
// trained, and for it to serve.
const (
	trainedAt = 2. / 3
	servedAt  = 3. / 4
)

// Bounds of a stream's time if no rate is given, and the factor by which it takes longer than the training: the
// refresh, whose graph is larger and which shares the processors with the stream, has a sixth of the stream to
// train in.
const (
	shortest    = 15 * time.Second
	longest     = time.Minute
	perTraining = 18
)

// Grow runs the same stream three times: growth off, on, and on with a refresh in mid-stream, each on services of
// its own. The first artifact is made without half of the training nodes, which arrive with the test nodes.
//
// o.Artifact must be nil, o.Mode config.ModeNode and o.Labels false.
func Grow(ctx context.Context, d *dataset.Dataset, o Options) (*GrowReport, error) {
	if o.Artifact != nil || o.Mode != config.ModeNode || o.Labels {
		return nil, errors.New("growing: an artifact is given, or graph batches, or labels of all arrivals are asked for")
	}
	p, err := newPlan(d, o.Train.Seed)
	if err != nil {
		return nil, fmt.Errorf("growing: %w", err)
	}
	start := time.Now()
	outcome, err := prepare(ctx, p.base, o)
	if err != nil {
		return nil, err
	}
	g := &growthRun{plan: p, bundle: outcome.Bundle, o: o, seconds: time.Since(start).Seconds()}
	if g.o.Rate == 0 {
		took := min(longest, max(shortest, time.Duration(perTraining*g.seconds*float64(time.Second))))
		g.o.Rate = float64(len(p.order)) / took.Seconds()
	}
	for _, growth := range []string{GrowthOff, GrowthOn, GrowthRefresh} {
		run, err := g.run(ctx, growth)
		if err != nil {
			return nil, fmt.Errorf("the stream with growth %s: %w", growth, err)
		}
		g.runs = append(g.runs, run)
	}
	return g.report(ctx)
}

// growthRun holds the data of a run of Grow.
type growthRun struct {
	plan    *plan
	bundle  *artifact.Bundle // made before the stream
	o       Options
	seconds float64 // of its training
	runs    []*growRun
}

// growRun is one finished stream.
type growRun struct {
	growth  string
	tally   *tally
	pauses  pauses
	refresh *refresher // nil without one
}

// run streams through fresh services.
func (g *growthRun) run(ctx context.Context, growth string) (*growRun, error) {
	o := g.o
	o.Labels = growth == GrowthRefresh
	stack, cfg, err := start(o)
	if err != nil {
		return nil, err
	}
	defer stack.close()
	cfg.Labels.Topic = "" // the refresh reads it; for the consumer there are too few labels to compare with
	if growth != GrowthOff {
		cfg.Attach.Arrivals = config.On
	}
	if err := publish(ctx, cfg.Redis.RedisServer, g.bundle, o.Progress); err != nil {
		return nil, err
	}
	t := newTally(g.plan.data, time.Now)
	run := &growRun{growth: growth, tally: t}
	f := &feed{cfg: cfg, tally: t, stream: g.plan.stream(), read: t.read, live: true,
		line: func() string { return t.growing(growth, g.plan) }}
	if growth == GrowthRefresh {
		run.refresh = g.refresher(f)
	}
	err = f.run(ctx, o)
	run.pauses = newPauses(t.published, f.gates)
	return run, err
}

// refresher adds a refresh that runs beside a stream, which waits for it.
func (g *growthRun) refresher(f *feed) *refresher {
	labels := newLabeller(g.plan.withheld, f.tally.now)
	r := &refresher{plan: g.plan, cfg: f.cfg, tally: f.tally, labels: labels, log: g.o.Log,
		trained: make(chan struct{}), serves: make(chan struct{})}
	n := float64(f.stream.Len)
	f.gates = []*replay.Gate{{At: int(trainedAt * n), Open: r.trained}, {At: int(servedAt * n), Open: r.serves}}
	f.read = func(p *event.Prediction) {
		f.tally.read(p)
		labels.predicted(p.ID)
	}
	f.beside = append(f.beside, r.run, func(ctx context.Context) error {
		return labels.run(ctx, f.cfg.Kafka.Brokers, g.o.Log)
	})
	return r
}

// wholeSteps is the number of steps in which the whole graph grows for Whole, which knows all arrivals before a
// step.
const wholeSteps = 50

// whole returns the models' classes on the whole graph as it grows, by version and node; for a refreshed model from
// the first arrival that it answered on.
func (g *growthRun) whole(ctx context.Context, order []int32, refreshed int) (map[string]map[int32]int32, error) {
	out := map[string]map[int32]int32{}
	step := max(1, len(order)/wholeSteps)
	answer := func(b *artifact.Bundle, from int) error {
		classes, err := eval.WholeGrowing(ctx, g.plan.base, b, order, from, step, false, g.o.Progress)
		if err != nil {
			return err
		}
		of := make(map[int32]int32, len(classes))
		for k, c := range classes {
			of[order[from+k]] = c
		}
		out[b.Manifest.Version] = of
		return nil
	}
	if err := answer(g.bundle, 0); err != nil {
		return nil, err
	}
	if b := g.runs[2].refresh.bundle; b != nil && refreshed < len(order) {
		return out, answer(b, refreshed)
	}
	return out, nil
}
