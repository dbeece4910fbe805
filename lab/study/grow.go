package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/schema"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// GrowOptions say which cases of growth to measure.
type GrowOptions struct {
	Run    trainer.Options // method, models and size
	Shares []float64       // of the test nodes that arrive first, each between 0 and 1
	Orders int             // random orders of the test nodes that figures are means over, at least 1
	Batch  int             // arrivals of a micro-batch, at least 1
}

// GrowDefaults returns waves of a quarter, a half and three quarters, in batches as the consumer forms them.
func GrowDefaults() GrowOptions {
	return GrowOptions{Run: trainer.Defaults(), Shares: []float64{0.25, 0.5, 0.75}, Orders: 5, Batch: 256}
}

// Validate returns an error that names an option out of range.
func (o *GrowOptions) Validate() error {
	for k, s := range o.Shares {
		if !(s > 0 && s < 1) {
			return fmt.Errorf("shares[%d] is %v, want more than 0 and less than 1", k, s)
		}
	}
	switch {
	case len(o.Shares) == 0:
		return errors.New("shares is empty")
	case o.Orders < 1:
		return fmt.Errorf("orders is %d, want at least 1", o.Orders)
	case o.Batch < 1:
		return fmt.Errorf("batch is %d, want at least 1", o.Batch)
	}
	return o.Run.Validate()
}

// GrowResult holds the accuracies on the second wave, with the first one present in different forms. All are of
// node batches.
type GrowResult struct {
	Model  string  `json:"model"`
	Share  float64 `json:"share"`  // of the test nodes that came first
	First  int     `json:"first"`  // nodes of the first wave
	Second int     `json:"second"` // nodes that are measured
	Orders int     `json:"orders"`

	Ignored  eval.Spread `json:"ignored"`  // accuracy in percent: on S, neighbours of the first wave are unknown
	Attached eval.Spread `json:"attached"` // on S, neighbours of the first wave have rows of M by the consumer's solve
	Whole    eval.Spread `json:"whole"`    // on T with the first wave in it, joint

	// percent of the second wave's edges whose other end has no row of M: the first wave ignored
	Unknown         eval.Spread `json:"unknown"`
	UnknownAttached eval.Spread `json:"unknown_attached"` // the same with the first wave attached
	// share of the first wave's squared messages that its rows leave out
	Left eval.Spread `json:"left"`
}

// Grow measures the gain from growth: it makes S, M and the dictionary of a run, and then, for random orders of the
// test nodes, lets the first share of them arrive and get rows of M in micro-batches, as a consumer gives them, and
// predicts the rest.
func Grow(ctx context.Context, d *dataset.Dataset, o GrowOptions, progress trainer.Progress) ([]GrowResult, error) {
	out, err := grow(ctx, d, o, progress)
	if err != nil {
		return nil, fmt.Errorf("growing %s: %w", d.Name, err)
	}
	return out, nil
}

func grow(ctx context.Context, d *dataset.Dataset, o GrowOptions, progress trainer.Progress) ([]GrowResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := target.GrowthStudy.Check(d.Facts()); err != nil {
		return nil, err
	}
	if len(d.Test) < 2 {
		return nil, fmt.Errorf("%d test nodes, want two waves of them", len(d.Test))
	}
	d, s, err := features.Encode(d, o.Run.Keep, o.Run.Schema)
	if err != nil {
		return nil, err
	}
	d = d.OriginalFirst()
	g, err := newGrowingGraph(ctx, d, o, s, progress)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(o.Run.Seed, purposeOrders))
	waves := map[float64][]wave{}
	for k := range o.Orders {
		progress.Step("growing", k, o.Orders)
		order := permuted(rng, d.Test)
		for _, share := range o.Shares {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			first := min(max(1, int(share*float64(len(order)))), len(order)-1)
			w, err := g.measure(ctx, order[:first], order[first:])
			if err != nil {
				return nil, err
			}
			waves[share] = append(waves[share], w)
		}
	}
	progress.Step("growing", o.Orders, o.Orders)
	return g.results(o, waves), nil
}

func permuted(rng *rand.Rand, nodes []int32) []int32 {
	out := slices.Clone(nodes)
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// purposeOrders sets the orders' random stream apart from those of the run (trainer/run.go).
const purposeOrders = 3

// growingGraph is a served S to which arrivals are attached.
type growingGraph struct {
	version  *version
	data     *dataset.Dataset
	batch    int // arrivals of a micro-batch
	measured int // nodes of a batch that is measured
}

// newGrowingGraph makes S, M and the dictionary of a run.
func newGrowingGraph(ctx context.Context, d *dataset.Dataset, o GrowOptions, s *schema.Schema,
	progress trainer.Progress) (*growingGraph, error) {
	run, training := o.Run, *d
	training.Test = nil // nothing of it is measured here
	run.Keep, run.Propagate, run.Map = s, false, false
	out, err := trainer.Train(ctx, &training, run, time.Unix(0, 0), progress)
	if err != nil {
		return nil, err
	}
	v, err := newVersion(out.Bundle)
	return &growingGraph{v, d, o.Batch, run.Batch}, err
}

// wave holds one order's figures for a share, by model if they differ.
type wave struct {
	first, second                  int
	ignored, attached, whole       map[string]float64
	unknown, unknownAttached, left float64
}

func (g *growingGraph) measure(ctx context.Context, first, second []int32) (w wave, err error) {
	w = wave{first: len(first), second: len(second), ignored: map[string]float64{},
		attached: map[string]float64{}, whole: map[string]float64{}}
	grown := g.version.fresh()
	if w.left, err = grown.grow(ctx, g.data, first, g.batch); err != nil {
		return w, err
	}
	ignored, err := eval.LookUp(ctx, g.data, g.version, second, g.measured, false)
	if err != nil {
		return w, err
	}
	attached, err := eval.LookUp(ctx, g.data, grown, second, g.measured, false)
	if err != nil {
		return w, err
	}
	joined, b := g.data.Joined(first), g.version.bundle
	original := joined.Original()
	onGrown := eval.Attach(joined, original, dataset.Batches(second, g.measured), attach.Node)
	inputs := b.Preprocess.Raw(original.X)
	for _, m := range b.Models {
		model, err := infer.Build(m.Name, m.Params)
		if err != nil {
			return w, err
		}
		onS := g.version.of(m.Name)
		w.ignored[m.Name] = eval.Run(onS, ignored).Accuracy(ignored)
		w.attached[m.Name] = eval.Run(onS, attached).Accuracy(attached)
		whole := eval.Plain(model.Joint(original.Adj, inputs, &b.Preprocess))
		w.whole[m.Name] = eval.Run(whole, onGrown).Accuracy(onGrown)
	}
	w.unknown, w.unknownAttached = g.unknown(second, ignored), g.unknown(second, attached)
	return w, nil
}

// unknown returns the share of the edges of some nodes whose other end has no row of M in a set of them, in
// percent.
func (g *growingGraph) unknown(nodes []int32, s *eval.Set) float64 {
	edges, known := 0, 0
	for _, i := range nodes {
		edges += g.data.Adj.RowLen(int(i))
	}
	for _, b := range s.Batches {
		for _, n := range b.Known {
			known += int(n)
		}
	}
	return 100 * float64(edges-known) / float64(max(1, edges))
}

// results returns the means over orders, share by share and model by model.
func (g *growingGraph) results(o GrowOptions, waves map[float64][]wave) []GrowResult {
	var out []GrowResult
	for _, share := range o.Shares {
		of := waves[share]
		over := func(figure func(w *wave) float64) eval.Spread {
			values := make([]float64, len(of))
			for k := range of {
				values[k] = figure(&of[k])
			}
			return eval.SpreadOf(values)
		}
		for _, m := range g.version.bundle.Models {
			name := m.Name
			out = append(out, GrowResult{Model: name, Share: share, First: of[0].first, Second: of[0].second, Orders: len(of),
				Ignored:         over(func(w *wave) float64 { return w.ignored[name] }),
				Attached:        over(func(w *wave) float64 { return w.attached[name] }),
				Whole:           over(func(w *wave) float64 { return w.whole[name] }),
				Unknown:         over(func(w *wave) float64 { return w.unknown }),
				UnknownAttached: over(func(w *wave) float64 { return w.unknownAttached }),
				Left:            over(func(w *wave) float64 { return w.left }),
			})
		}
	}
	return out
}

// WriteGrowth writes results as a table.
func WriteGrowth(w io.Writer, results []GrowResult) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tab, "model\tfirst wave\tignored\tattached\tWhole with it\tunknown edges\tattached\tleft by "+
		"rows\t")
	for _, r := range results {
		_, _ = fmt.Fprintf(tab, "%s\t%.0f%%\t%s\t%s\t%s\t%.1f%%\t%.1f%%\t%.1f%%\t\n", r.Model, 100*r.Share,
			percent(r.Ignored), percent(r.Attached),
			percent(r.Whole), r.Unknown.Mean, r.UnknownAttached.Mean, 100*r.Left.Mean)
	}
	return tab.Flush()
}

func percent(s eval.Spread) string { return fmt.Sprintf("%.2f ±%.2f", s.Mean, s.Std) }
