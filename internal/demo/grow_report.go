package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// windows is the number of equal parts of the stream in the report.
const windows = 10

// swapMargin is the time around the first prediction of a new version in which pauses count as pauses of the swap.
const swapMargin = 2 * time.Second

// GrowReport holds the figures of three streams by which the graph grows; shares and accuracies are in percent.
type GrowReport struct {
	Dataset        string  `json:"dataset"`
	Nodes          int     `json:"nodes"` // N before the stream
	SyntheticNodes int     `json:"synthetic_nodes"`
	Withheld       int     `json:"withheld"` // training nodes that arrive
	Test           int     `json:"test"`     // test nodes that arrive
	Arrivals       int     `json:"arrivals"`
	Rate           float64 `json:"rate"` // arrivals a second
	Seed           uint64  `json:"seed"`
	Model          string  `json:"model"`
	TrainSeconds   float64 `json:"train_seconds"` // wall clock of the first training, evaluation included

	Windows []Window `json:"windows"`           // equal parts of the stream, in its order
	All     Window   `json:"all"`               // the whole stream
	Swapped *Window  `json:"swapped,omitempty"` // the arrivals that the refreshed artifact answered
	Streams []Stream `json:"streams"`           // off, on, refresh
	Refresh *Refresh `json:"refresh"`
}

// Window is a part of the stream with the answers of each of the three streams.
type Window struct {
	From     int     `json:"from"` // its first arrival, counted from 0
	Arrivals int     `json:"arrivals"`
	Test     int     `json:"test"` // test nodes among them
	Off      Figures `json:"off"`
	On       Figures `json:"on"`
	Refresh  Figures `json:"refresh"`
}

// Figures are one stream's results in a window. Unknown is of all its arrivals, the accuracies and the agreement of
// its test nodes.
type Figures struct {
	Unknown  float64 `json:"unknown"` // share of the edges that arrivals name whose other end was unknown
	Accuracy float64 `json:"accuracy"`
	// with the same version's model on the whole graph with all earlier arrivals in it
	Agreement float64 `json:"agreement"`
	Whole     float64 `json:"whole"`     // accuracy of that model
	Refreshed float64 `json:"refreshed"` // share of the arrivals that the refreshed artifact answered
}

// Stream holds the figures of one stream's delivery.
type Stream struct {
	Growth       string   `json:"growth"`
	Predicted    int      `json:"predicted"`
	Missing      int      `json:"missing"`
	Duplicates   int      `json:"duplicates"`
	DeadLetters  int      `json:"dead_letters"`
	Versions     []string `json:"versions"` // that answered, in the order in which they began to
	Batches      int      `json:"batches"`
	MixedBatches int      `json:"mixed_batches"` // micro-batches with predictions of two versions
	Latency      Latency  `json:"latency_ms"`
	// between publications, without the time in which nothing was sent
	LongestPause float64 `json:"longest_pause_ms"`
	// the longest within 2 s of the new version's first prediction
	SwapPause float64 `json:"swap_pause_ms,omitempty"`
	// the earliest arrival that the refreshed artifact answered, counted from 0
	FirstSwapped int     `json:"first_refreshed,omitempty"`
	HeldSeconds  float64 `json:"held_seconds,omitempty"` // for which the stream waited for the refresh
}

// Lost returns the number of arrivals of all streams that were not predicted.
func (r *GrowReport) Lost() int {
	n := 0
	for _, s := range r.Streams {
		n += s.Missing
	}
	return n
}

// report compares the streams, window by window.
func (g *growthRun) report(ctx context.Context) (*GrowReport, error) {
	p, m := g.plan, g.bundle.Manifest
	r := &GrowReport{Dataset: m.Data.Name, Nodes: m.Data.Nodes, SyntheticNodes: m.SyntheticNodes,
		Withheld: len(p.withheld),
		Test:     len(p.data.Test), Arrivals: len(p.order), Rate: g.o.Rate, Seed: m.Seed, Model: m.DefaultModel,
		TrainSeconds: g.seconds}
	for _, run := range g.runs {
		r.Streams = append(r.Streams, g.stream(run))
	}
	r.Refresh = &g.runs[2].refresh.done
	whole, err := g.whole(ctx, p.order, r.Streams[2].FirstSwapped)
	if err != nil {
		return nil, fmt.Errorf("comparing with Whole: %w", err)
	}
	n := len(p.order)
	for k := range windows {
		if from, to := k*n/windows, (k+1)*n/windows; to > from {
			r.Windows = append(r.Windows, g.window(span(from, to), whole))
		}
	}
	r.All = g.window(span(0, n), whole)
	var swapped []int
	for k, id := range p.ids {
		if a, ok := g.runs[2].tally.answers[id]; ok && a.version != m.Version {
			swapped = append(swapped, k)
		}
	}
	if len(swapped) > 0 {
		w := g.window(swapped, whole)
		r.Swapped = &w
	}
	return r, nil
}

// stream returns the figures of a finished stream.
func (g *growthRun) stream(run *growRun) Stream {
	t := run.tally.report(len(g.plan.order))
	s := Stream{Growth: run.growth, Predicted: t.Predicted, Missing: t.Missing, Duplicates: t.Duplicates,
		DeadLetters: t.DeadLetters,
		Versions:    run.tally.versions(), Batches: t.Batches, MixedBatches: run.tally.mixed(), Latency: t.Latency}
	for _, h := range run.pauses.held {
		s.HeldSeconds += h.To.Sub(h.From).Seconds()
	}
	if len(run.pauses.at) == 0 {
		return s
	}
	s.LongestPause = milliseconds(run.pauses.longest(run.pauses.at[0], run.pauses.at[len(run.pauses.at)-1]))
	var first time.Time
	for k, id := range g.plan.ids {
		a, ok := run.tally.answers[id]
		if !ok || a.version == g.bundle.Manifest.Version {
			continue
		}
		if first.IsZero() {
			first, s.FirstSwapped = run.tally.published[id], k
		}
		first = earlier(first, run.tally.published[id])
	}
	if !first.IsZero() {
		s.SwapPause = milliseconds(run.pauses.longest(first.Add(-swapMargin), first.Add(swapMargin)))
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func span(from, to int) []int {
	out := make([]int, 0, to-from)
	for k := from; k < to; k++ {
		out = append(out, k)
	}
	return out
}

// window returns the figures of the arrivals at these places in the order.
func (g *growthRun) window(places []int, whole map[string]map[int32]int32) Window {
	w := Window{From: places[0], Arrivals: len(places)}
	for _, k := range places {
		if _, withheld := g.plan.withheld[g.plan.ids[k]]; !withheld {
			w.Test++
		}
	}
	for k, to := range []*Figures{&w.Off, &w.On, &w.Refresh} {
		*to = g.figures(g.runs[k], places, whole)
	}
	return w
}

func (g *growthRun) figures(run *growRun, places []int, whole map[string]map[int32]int32) Figures {
	edges, unknown, refreshed, tested, right, agree, wholeRight, answered := 0, 0, 0, 0, 0, 0, 0, 0
	for _, k := range places {
		node, id := g.plan.order[k], g.plan.ids[k]
		a, ok := run.tally.answers[id]
		if !ok {
			continue
		}
		answered++
		edges += a.known + a.arrived + a.unknown
		unknown += a.unknown
		refreshed += count(a.version != g.bundle.Manifest.Version)
		if _, withheld := g.plan.withheld[id]; withheld {
			continue
		}
		y, on := g.plan.data.Labels[node], whole[a.version][node]
		tested++
		right += count(a.class == y)
		agree += count(a.class == on)
		wholeRight += count(on == y)
	}
	return Figures{Unknown: share(unknown, edges), Accuracy: share(right, tested), Agreement: share(agree, tested),
		Whole: share(wholeRight, tested), Refreshed: share(refreshed, answered)}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Print writes the tables as text.
func (r *GrowReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: T of %d nodes on S of %d; %d training nodes withheld and %d test nodes arrive at %.0f/s, "+
		"seed %d\n", r.Dataset, r.Nodes, r.SyntheticNodes, r.Withheld, r.Test, r.Rate, r.Seed)
	fmt.Fprint(w, "unknown: neighbours without a row of M; right: accuracy on test nodes; agree: with Whole, the same\n"+
		"model on T with all earlier arrivals in it (the refreshed model where the refreshed artifact answered); new:\n"+
		"answered by the refreshed artifact; all in percent\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\t\t\tgrowth off\t\t\tgrowth on\t\t\twith refresh\t\t\t\t\t")
	fmt.Fprintln(t, "arrivals\ttest\tWhole"+strings.Repeat("\tunknown\tright\tagree", 3)+"\tWhole\tnew\t")
	for k := range r.Windows {
		from := r.Windows[k].From
		r.Windows[k].print(t, fmt.Sprintf("%d–%d", from, from+r.Windows[k].Arrivals-1))
	}
	r.All.print(t, "all")
	if r.Swapped != nil {
		r.Swapped.print(t, "refreshed")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"growth\tpredicted\tlost\ttwice\tdead letters\tversions\tbatches\tof two versions\tp50, p99 ms\tlongest pause ms\t")
	for _, s := range r.Streams {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f, %.1f\t%.1f\t\n", s.Growth, s.Predicted, s.Missing,
			s.Duplicates, s.DeadLetters,
			len(s.Versions), s.Batches, s.MixedBatches, s.Latency.P50, s.Latency.P99, s.LongestPause)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, r.refreshText())
	return err
}

func (w *Window) print(t io.Writer, name string) {
	fmt.Fprintf(t, "%s\t%d\t%.1f\t%s%s%s%.1f\t%.0f\t\n", name, w.Test, w.Off.Whole,
		w.Off.cells(), w.On.cells(), w.Refresh.cells(), w.Refresh.Whole, w.Refresh.Refreshed)
}

func (f *Figures) cells() string {
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t", f.Unknown, f.Accuracy, f.Agreement)
}

func (r *GrowReport) refreshText() string {
	f, s := r.Refresh, r.Streams[2]
	text := []string{
		fmt.Sprintf("refresh: the first %d arrivals merged, %d with a class; T of %d nodes trained in %.1f s beside the "+
			"stream",
			f.Arrivals, f.Labelled, f.Nodes, f.TrainSeconds),
		fmt.Sprintf("validation %.2f%%, before %.2f%%", f.Validation, f.ValidationBefore)}
	if s.HeldSeconds > 0 {
		text = append(text, fmt.Sprintf("the stream waited %.1f s for it", s.HeldSeconds))
	}
	if f.Refused {
		return strings.Join(append(text, "refused: more than a point worse"), "; ")
	}
	text = append(text, fmt.Sprintf("%s served from arrival %d on; longest pause within 2 s of the swap %.1f ms",
		f.Version, s.FirstSwapped, s.SwapPause))
	return strings.Join(text, "; ")
}
