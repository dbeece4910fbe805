package prequential

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/internal/durable"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// drifting returns preset drift with fewer nodes.
func drifting(t *testing.T, nodes int) *dataset.Dataset {
	t.Helper()
	g, err := generate.Scaled("drift", nodes)
	expect.OK(t, err)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	return d
}

// brief are options of a quick run.
func brief() Options {
	o := Defaults()
	o.Chunks, o.Run.Nodes, o.Run.WeightDecays, o.Bounds.Sample = 4, 40, []float64{1e-4}, 128
	return o
}

// started returns a stream of a data set in the order of its times.
func started(t *testing.T, d *dataset.Dataset, o Options) *stream {
	t.Helper()
	s := &stream{Options: o, progress: trainer.Silent{}}
	expect.OK(t, s.start(d, byTime(d.Times)))
	return s
}

// The walk meets each node once, and every node but the first of its component after one of its neighbours.
func TestWalk(t *testing.T) {
	d := drifting(t, 600)
	order := walk(d, rand.New(rand.NewPCG(3, 0)))
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, nodes(0, 600)) {
		t.Fatalf("%d nodes, want each of 600 once", len(order))
	}
	place := make([]int, len(order))
	for k, i := range order {
		place[i] = k
	}
	beginnings, before := 0, 0
	for k, i := range order {
		cols, _ := d.Adj.Row(int(i))
		first := k
		for _, j := range cols {
			first = min(first, place[j])
		}
		if first == k {
			beginnings++
			before = 0
		} else if first < before {
			t.Fatalf("node %d is met by %d, after a node that was met by %d: want those nearer to the start first", i, first,
				before)
		} else {
			before = first
		}
	}
	if beginnings > 600/10 {
		t.Errorf("the walk begins %d times anew", beginnings)
	}
}

func TestByTimeKeepsTheOrderOfEqualTimes(t *testing.T) {
	if got := byTime([]float64{3, 1, 3, -2, 1}); !slices.Equal(got, []int32{3, 1, 4, 0, 2}) {
		t.Errorf("order %v", got)
	}
}

// T before a chunk is the graph that a refresh merges out of the same arrivals and labels.
func TestGraphBeforeAChunkIsTheMergedGraph(t *testing.T) {
	o := brief()
	o.Delay = 2
	s := started(t, drifting(t, 400), o)
	there := s.at(0)
	begin := &dataset.Dataset{Name: there.Name, Classes: there.Classes, Train: there.Train, Validation: there.Validation,
		IDs: there.IDs[:s.cuts[0]], Labels: there.Labels[:s.cuts[0]], BagOfWords: there.BagOfWords,
		X: there.X.Take(nodes(0, s.cuts[0]))}
	index := nodes(0, there.Nodes())
	for i := s.cuts[0]; i < len(index); i++ {
		index[i] = -1
	}
	begin.Adj = there.Adj.Submatrix(nodes(0, s.cuts[0]), index, s.cuts[0])
	m := merge.New(&merge.Data{Dataset: begin}, "", durable.Disk{})
	for of := range 3 {
		for _, i := range nodes(s.cuts[of], s.cuts[of+1]) {
			a := event.Arrival{ID: there.IDs[i], Features: event.Features{Sparse: true}}
			there.X.Each(int(i), func(c int, v float32) {
				a.Features.Indices, a.Features.Values = append(a.Features.Indices, int32(c)), append(a.Features.Values, v)
			})
			cols, _ := there.Adj.Row(int(i))
			for _, j := range cols {
				if j < i {
					a.Edges = append(a.Edges, there.IDs[j])
				}
			}
			expect.OK(t, m.Arrival(&a))
			if of+o.Delay <= 3 {
				expect.OK(t, m.Label(&event.Label{ID: a.ID, Class: int(there.Labels[i])}))
			}
		}
	}
	merged, _, err := m.Grow(t.Context(), false)
	expect.OK(t, err)
	got, want := s.at(3).Original(), merged.(*merge.Data).Original()
	if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Adj.RowPtr,
		want.Adj.RowPtr) || !slices.Equal(got.Adj.ColIdx, want.Adj.ColIdx) ||
		!slices.Equal(got.X.Sparse.ColIdx, want.X.Sparse.ColIdx) {
		t.Errorf("T has %d nodes and %d edges, merged %d and %d, or other classes or features", len(got.IDs), got.Adj.NNZ(),
			len(want.IDs), want.Adj.NNZ())
	}
}

// An arrival knows rows of nodes before it alone, and those of arrivals only where they grow.
func TestReplayKnowsThePast(t *testing.T) {
	s := started(t, drifting(t, 500), brief())
	v, err := s.version(t.Context(), 0)
	expect.OK(t, err)
	arrivals := nodes(s.cuts[0], s.cuts[2])
	inT, inPast, before := 0, 0, 0
	rows := map[string]bool{}
	for _, id := range v.Bundle.Mapping.IDs {
		rows[id] = true
	}
	const batch = 10
	for k, i := range arrivals {
		cols, _ := s.data.Adj.Row(int(i))
		for _, j := range cols {
			if j >= i {
				continue
			}
			inPast++
			if rows[s.data.IDs[j]] {
				inT++
			}
			if rows[s.data.IDs[j]] || int(j) >= s.cuts[0] && int(j) < s.cuts[0]+k/batch*batch {
				before++
			}
		}
	}
	alone, err := Replay(t.Context(), s.data, v, arrivals, batch, false)
	expect.OK(t, err)
	grown, err := Replay(t.Context(), s.data, v.Fresh(), arrivals, batch, true)
	expect.OK(t, err)
	if alone.Known != inT || alone.Past != inPast || grown.Known != before || grown.Past != inPast || inT == before {
		t.Errorf("known %d and %d of %d, want %d and %d of %d", alone.Known, grown.Known, alone.Past, inT, before, inPast)
	}
	if len(v.Arrived) != 0 {
		t.Errorf("a fresh version shares the rows of its arrivals: %d", len(v.Arrived))
	}
}

func TestAlarms(t *testing.T) {
	b := DefaultBounds()
	b.Growth, b.MostGrowth = 0.15, 0.2
	fine := Figures{Growth: 18, Agreement: 95, Labelled: 256, Accuracy: 90, Reference: 92}
	for name, c := range map[string]struct {
		change func(f *Figures)
		want   string
	}{
		"fine":      {func(*Figures) {}, ""},
		"agreement": {func(f *Figures) { f.Agreement = 89.9 }, CondenseAnew},
		"accuracy":  {func(f *Figures) { f.Accuracy = 87 }, Retrain},
		"young":     {func(f *Figures) { f.Accuracy, f.Growth = 60, 10 }, ""},
		"by chance": {func(f *Figures) { f.Accuracy, f.Labelled = 87, 30 }, ""},
		"no labels": {func(f *Figures) { f.Accuracy, f.Labelled = 0, 0 }, ""},
		"all wrong": {func(f *Figures) { f.Accuracy = 0 }, Retrain},
		"many":      {func(f *Figures) { f.Growth = 20 }, Outgrown},
		"all of them": {func(f *Figures) {
			f.Growth, f.Agreement, f.Accuracy = 30, 50, 50
		}, "condense anew, retrain, outgrown"},
		"within the drop": {func(f *Figures) { f.Accuracy, f.Labelled = 89.1, 100_000 }, ""},
	} {
		f := fine
		c.change(&f)
		f.raise(b)
		if got := strings.Join(f.Alarms, ", "); got != c.want {
			t.Errorf("%s: alarms %q, want %q", name, got, c.want)
		}
	}
}

// On the drifting preset accuracy falls and says so; where the world stays as it was there is no alarm.
func TestJudgeOnADriftingStream(t *testing.T) {
	o := brief()
	o.Bounds.MostGrowth = 9
	for name, c := range map[string]struct {
		times func(d *dataset.Dataset)
		want  bool
	}{
		"drifting": {func(*dataset.Dataset) {}, true},
		"stationary": {func(d *dataset.Dataset) {
			rng := rand.New(rand.NewPCG(5, 0))
			rng.Shuffle(len(d.Times), swap(d.Times))
		}, false},
	} {
		d := drifting(t, 3000)
		c.times(d)
		s := started(t, d, o)
		v, err := s.version(t.Context(), 0)
		expect.OK(t, err)
		f, err := s.judge(t.Context(), v, 0, 3)
		expect.OK(t, err)
		if slices.Contains(f.Alarms, Retrain) != c.want || !c.want && len(f.Alarms) > 0 || f.Labelled != 32 ||
			f.Compared != 128 {
			t.Errorf("%s: %+v, want an alarm: %v", name, f, c.want)
		}
	}
}

// An S whose M forgot most of T answers other than T: it is condensed anew, although no label is known.
func TestJudgeNamesAnMThatForgot(t *testing.T) {
	o := brief()
	o.Bounds.MostGrowth, o.Bounds.Agreement = 9, 75 // a small S is less faithful than one of the default size
	s := started(t, drifting(t, 1500), o)
	v, err := s.version(t.Context(), 0)
	expect.OK(t, err)
	for k := range s.data.Labels {
		if k >= s.cuts[0] {
			s.data.Labels[k] = -1
		}
	}
	before, err := s.judge(t.Context(), v, 0, 1)
	expect.OK(t, err)
	for id := range v.rows {
		v.rows[id] = attach.Row{}
	}
	after, err := s.judge(t.Context(), v, 0, 1)
	expect.OK(t, err)
	if len(before.Alarms) > 0 || !slices.Equal(after.Alarms, []string{CondenseAnew}) || after.Labelled != 0 {
		t.Errorf("alarms %q, and with an empty M %+v", before.Alarms, after)
	}
}

// Labels count from the chunk on at which they are known.
func TestLabelsComeLater(t *testing.T) {
	o := brief()
	o.Delay = 2
	s := started(t, drifting(t, 400), o)
	for k, want := range []int{0, 0, 1, 2} {
		if got := len(s.at(k).Train) - len(s.train); got != s.cuts[want]-s.cuts[0] {
			t.Errorf("before chunk %d %d arrivals train, want %d", k, got, s.cuts[want]-s.cuts[0])
		}
		if got := len(s.at(k).Train) + len(s.at(k).Unlabelled) + len(s.validation); got != s.cuts[k] {
			t.Errorf("before chunk %d %d nodes are in a role, want %d", k, got, s.cuts[k])
		}
	}
}

func TestRunOnTheDriftingPreset(t *testing.T) {
	d, o := drifting(t, 2400), brief()
	r, err := Run(t.Context(), d, o, trainer.Silent{})
	expect.OK(t, err)
	if len(r.Chunks) != 4 || r.First != 960 || r.Order != ByTime || r.Nodes != 40 {
		t.Fatalf("%+v", r)
	}
	if r.Mean[SScheduled] < r.Mean[SNever]+5 || r.Mean[Whole] < r.Mean[TNever]+5 || r.Mean[SAlarm] < r.Mean[SNever]+3 {
		t.Errorf("means %.1f: trained anew, S and T have to be ahead", r.Mean)
	}
	for k, c := range r.Chunks {
		if c.Arrivals != 360 || c.Labelled != 360 || c.Known[SGrown] <= c.Known[SNever] ||
			c.Known[Whole] != c.Known[SScheduled] ||
			c.Refreshed != (c.Judged != nil && len(c.Judged.Alarms) > 0) {
			t.Errorf("chunk %d: %+v", k, c)
		}
	}
	alarm, scheduled := r.Refreshes()
	if scheduled != 3 || alarm < 1 {
		t.Errorf("%d refreshes by alarm, %d on schedule", alarm, scheduled)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil || strings.Count(text.String(), "\n") != 7 ||
		!strings.Contains(text.String(), "order of time, seed 0, 960 nodes at the start, 40 synthetic nodes") {
		t.Errorf("%v\n%s", err, text.String())
	}
	d = drifting(t, 600)
	once, err1 := Run(t.Context(), d, o, trainer.Silent{})
	again, err2 := Run(t.Context(), d, o, trainer.Silent{})
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(again.Mean, once.Mean) {
		t.Errorf("another run has other means: %v", err)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"first is 1": func(o *Options) { o.First = 1 }, "chunks is 1": func(o *Options) { o.Chunks = 1 },
		"label delay is 0": func(o *Options) { o.Delay = 0 }, "sample is 0": func(o *Options) { o.Bounds.Sample = 0 },
		"agreement is 101": func(o *Options) {
			o.Bounds.Agreement = 101
		}, "drop is -1": func(o *Options) { o.Bounds.Drop = -1 },
		"growth is 0.14 and at most 0.1": func(o *Options) { o.Bounds.MostGrowth = 0.1 },
		"micro-batch is 0":               func(o *Options) { o.Bounds.Batch = 0 },
	} {
		o := Defaults()
		change(&o)
		expect.Error(t, expect.ErrorOf(Run(t.Context(), drifting(t, 400), o, trainer.Silent{})), want)
	}
}

// Evaluation in order does not read weights of edges, and says so.
func TestWeightsOfEdgesAreRefused(t *testing.T) {
	d := drifting(t, 400)
	d.Adj.Val = slices.Repeat([]float32{2}, d.Adj.NNZ())
	expect.Error(t, expect.ErrorOf(Run(t.Context(), d, Defaults(), trainer.Silent{})), "edges have weights")
	d.Adj.Val = nil
	d.Relate(&graph.Bins{Directed: true}, d.Adj)
	expect.Error(t, expect.ErrorOf(Run(t.Context(), d, Defaults(), trainer.Silent{})), "edges have directions")
	d.By, d.Relations, d.NodeTypes = nil, nil, &schema.Types{}
	expect.Error(t, expect.ErrorOf(Run(t.Context(), d, Defaults(), trainer.Silent{})), "nodes are of several types")
}

// An artifact without a dictionary cannot give arrivals rows of M, and is refused.
func TestVersionWithoutGrowth(t *testing.T) {
	s := started(t, drifting(t, 400), brief())
	v, err := s.version(t.Context(), 0)
	expect.OK(t, err)
	v.Bundle.Growth = nil
	if _, err := NewVersion(v.Bundle); !errors.Is(err, artifact.ErrNoGrowth) {
		t.Errorf("error %v, want %v", err, artifact.ErrNoGrowth)
	}
}

func swap(values []float64) func(i, j int) {
	return func(i, j int) { values[i], values[j] = values[j], values[i] }
}
