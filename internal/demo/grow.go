package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/internal/cli"
	"rivulet/internal/replay"
	"rivulet/trainer/eval"
)

const (
	growTime   = 15 * time.Second // of the stream, if no rate is given
	windows    = 10               // equal parts of the stream in the report
	wholeSteps = 50               // in which the whole graph grows, see [eval.WholeGrowing]
)

// GrowReport holds the figures of a stream by which the graph grows. Accuracies and shares are in percent.
type GrowReport struct {
	Dataset        string `json:"dataset"`
	Nodes          int    `json:"nodes"` // N before the stream
	SyntheticNodes int    `json:"synthetic_nodes"`
	Withheld       int    `json:"withheld"` // training nodes that arrive
	Test           int    `json:"test"`     // test nodes that arrive
	Delivery
	Windows      []Window `json:"windows"` // equal parts of the stream, in its order
	All          Window   `json:"all"`     // the whole stream
	Model        string   `json:"model"`
	TrainSeconds float64  `json:"train_seconds"`
	Seed         uint64   `json:"seed"`
}

// Window is a part of the stream. Unknown neighbours are counted over all its arrivals, accuracies over its test nodes.
type Window struct {
	From     int `json:"from"` // its first arrival, counted from 0
	Arrivals int `json:"arrivals"`
	Test     int `json:"test"` // test nodes among them

	Unknown        float64 `json:"unknown"`         // share of the neighbours that have no row of M
	UnknownWithout float64 `json:"unknown_without"` // the same if arrivals had no rows
	Accuracy       float64 `json:"accuracy"`
	// AccuracyWithout is of the same artifact, offline, if arrivals had no rows.
	AccuracyWithout float64 `json:"accuracy_without"`
	// AccuracyWhole is of the same models on the whole graph with all earlier arrivals in it.
	AccuracyWhole float64 `json:"accuracy_whole"`
}

// Grow withholds half of the training nodes, trains on the rest, and streams the withheld ones and the test nodes in a
// random order. Each arrival names its edges to the nodes of T and to earlier arrivals, which get rows of M.
//
// o.Artifact must be nil and o.Mode repeatable.
func Grow(ctx context.Context, d *dataset.Dataset, o Options) (*GrowReport, error) {
	if o.Artifact != nil || !o.Mode.Repeatable() {
		return nil, errors.New("growing: an artifact is given, or graph batches")
	}
	p, err := newPlan(d, o.Train.Seed)
	if err != nil {
		return nil, fmt.Errorf("growing: %w", err)
	}
	if o.Rate == 0 {
		o.Rate = float64(len(p.order)) / growTime.Seconds()
	}
	outcome, err := prepare(ctx, p.base, o)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, outcome.Bundle, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.consumer.Attach.Arrivals = config.On
	t := newTally(d, time.Now)
	if err := s.stream(ctx, p.stream(), t, o); err != nil {
		return nil, err
	}
	m := outcome.Bundle.Manifest
	r := &GrowReport{Dataset: m.Data.Name, Nodes: m.Data.Nodes, SyntheticNodes: m.SyntheticNodes,
		Withheld: len(p.order) - len(d.Test), Test: len(d.Test), Delivery: t.delivery(len(p.order), o.Rate),
		Model: m.DefaultModel, TrainSeconds: outcome.Seconds, Seed: m.Seed}
	if err := r.compare(ctx, p, outcome.Bundle, t, o.Progress); err != nil {
		return nil, fmt.Errorf("comparing with the whole graph: %w", err)
	}
	return r, nil
}

// compare fills the windows in.
func (r *GrowReport) compare(ctx context.Context, p *plan, b *artifact.Bundle, t *tally, progress *cli.Lines) error {
	n := len(p.order)
	whole, err := eval.WholeGrowing(ctx, p.base, b, p.order, max(1, n/wholeSteps), true, progress)
	if err != nil {
		return err
	}
	for k := range windows {
		if from, to := k*n/windows, (k+1)*n/windows; to > from {
			w, err := p.window(from, to, b, t, whole)
			if err != nil {
				return err
			}
			r.Windows = append(r.Windows, w)
		}
	}
	r.All, err = p.window(0, n, b, t, whole)
	return err
}

// plan is a stream by which the graph grows: every second training node of each class is withheld from T and
// arrives with the test nodes, in a random order.
//
// An arrival names its edges to the nodes that exist when it arrives: T's, and the arrivals before it. Its edges to
// later arrivals are named by those. Validation nodes are held out and never named.
type plan struct {
	data  *dataset.Dataset // as read
	base  *dataset.Dataset // before the stream: arrivals are in no role and have no class
	order []int32          // nodes in the order in which they arrive
	place []int32          // n: of each node in order, or inT or nowhere
	test  []bool           // of each arrival, in order: whether it is a test node
}

// Places of nodes that do not arrive.
const (
	inT     = -2
	nowhere = -1 // validation nodes, and those in no role
)

// purposeStream is the random stream of the plan; it is independent of the trainer's streams of the same seed.
const purposeStream = 1 << 32

// newPlan returns the same plan for the same data and seed.
func newPlan(d *dataset.Dataset, seed uint64) (*plan, error) {
	rng := rand.New(rand.NewPCG(seed, purposeStream))
	shuffled := slices.Clone(d.Train)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	p := &plan{data: d, place: make([]int32, d.Nodes())}
	base := *d
	base.Train, base.Test, base.Labels = nil, nil, slices.Clone(d.Labels)
	met := make([]int, len(d.Classes)) // training nodes of each class so far
	for _, i := range shuffled {
		met[d.Labels[i]]++
		if met[d.Labels[i]]%2 == 1 { // no class vanishes
			base.Train = append(base.Train, i)
		} else {
			p.order = append(p.order, i)
		}
	}
	if len(p.order) == 0 || len(d.Test) == 0 {
		return nil, fmt.Errorf("%s has %d training nodes to withhold and %d test nodes, want some of both", d.Name,
			len(p.order), len(d.Test))
	}
	slices.Sort(base.Train)
	p.order = append(p.order, d.Test...)
	rng.Shuffle(len(p.order), func(i, j int) { p.order[i], p.order[j] = p.order[j], p.order[i] })
	for i := range p.place {
		p.place[i] = nowhere
	}
	tests := make([]bool, d.Nodes())
	for _, i := range d.Test {
		tests[i] = true
	}
	for k, i := range p.order {
		p.place[i] = int32(k)
		p.test = append(p.test, tests[i])
		base.Labels[i] = -1
	}
	for _, of := range [][]int32{base.Train, base.Unlabelled} {
		for _, i := range of {
			p.place[i] = inT
		}
	}
	p.base = &base
	return p, nil
}

// stream returns the arrivals that a replay sends.
func (p *plan) stream() replay.Stream {
	return replay.Stream{Name: p.data.Name, Len: len(p.order), Arrival: p.arrival}
}

// arrival returns the k-th arrival, with a time.
func (p *plan) arrival(k int, at time.Time) event.Arrival {
	a := replay.Arrival(p.data, p.order[k], at)
	cols, weights := p.data.Adj.Row(int(p.order[k]))
	a.Edges, a.Weights = a.Edges[:0], a.Weights[:0]
	for e, j := range cols {
		if place := p.place[j]; place == inT || (place != nowhere && place < int32(k)) {
			if a.Edges = append(a.Edges, p.data.IDs[j]); weights != nil {
				a.Weights = append(a.Weights, weights[e])
			}
		}
	}
	return a
}

// window returns the figures of the arrivals from one place in the order up to another. whole are the classes of all
// arrivals on the growing graph.
func (p *plan) window(from, to int, b *artifact.Bundle, t *tally, whole []int32) (Window, error) {
	var tests []int32
	neighbours, unknown, arrived, right, wholeRight := 0, 0, 0, 0, 0
	for k := from; k < to; k++ {
		node := p.order[k]
		a := t.answers[p.data.IDs[node]] // of a lost one nothing counts
		neighbours += a.known + a.arrived + a.unknown
		arrived, unknown = arrived+a.arrived, unknown+a.unknown
		if p.test[k] {
			tests = append(tests, node)
			right += count(a.batch != "" && a.class == p.data.Labels[node])
			wholeRight += count(whole[k] == p.data.Labels[node])
		}
	}
	w := Window{From: from, Arrivals: to - from, Test: len(tests), Unknown: share(unknown, neighbours),
		UnknownWithout: share(arrived+unknown, neighbours), Accuracy: share(right, len(tests)),
		AccuracyWhole: share(wholeRight, len(tests))}
	if len(tests) == 0 {
		return w, nil
	}
	labelled := *p.base
	labelled.Labels = p.data.Labels
	var err error
	_, w.AccuracyWithout, err = offline(&labelled, b, [][]int32{tests}, attach.Node)
	return w, err
}

// Print writes the table as text.
func (r *GrowReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: T of %d nodes on S of %d; %d training nodes withheld and %d test nodes arrive, seed %d\n"+
		"unknown: neighbours without a row of M; right: of the test nodes, in percent; without: if arrivals got no rows,\n"+
		"with: as they do (attach.arrivals: on); Whole: the same models on T with all earlier arrivals in it\n\n",
		r.Dataset, r.Nodes, r.SyntheticNodes, r.Withheld, r.Test, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\t\tunknown\t\tright\t\t\t")
	fmt.Fprintln(t, "arrivals\ttest\twithout\twith\twithout\twith\tWhole\t")
	line := func(name string, w *Window) {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", name, w.Test, w.UnknownWithout, w.Unknown,
			w.AccuracyWithout, w.Accuracy, w.AccuracyWhole)
	}
	for k := range r.Windows {
		from := r.Windows[k].From
		line(fmt.Sprintf("%d–%d", from, from+r.Windows[k].Arrivals-1), &r.Windows[k])
	}
	line("all", &r.All)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.Delivery.print(t)
	return t.Flush()
}
