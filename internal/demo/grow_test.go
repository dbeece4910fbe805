package demo

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/config"
	"rivulet/dataset"
	"rivulet/internal/refresh"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// fast returns a stream in which arrivals share micro-batches, many of them.
func fast() Options {
	o := options(config.ModeNode)
	o.Rate, o.Batch, o.Train.Seed = 2000, 16, 3
	return o
}

func mustPlan(t *testing.T, d *dataset.Dataset, seed uint64) *plan {
	t.Helper()
	p, err := newPlan(d, seed)
	expect.OK(t, err)
	return p
}

// Half of each class is withheld and arrives with the test nodes, mixed; nothing of an arrival is known before; and
// each edge is named once, by its later end.
func TestPlan(t *testing.T) {
	d := tiny(t)
	p := mustPlan(t, d, 3)
	if diff := cmp.Diff(p.order, mustPlan(t, d, 3).order); diff != "" {
		t.Errorf("the same seed gives another order:\n%s", diff)
	}
	if slices.Equal(p.order, mustPlan(t, d, 4).order) {
		t.Error("another seed gives the same order")
	}
	sorted := func(nodes ...[]int32) []int32 { return slices.Sorted(slices.Values(slices.Concat(nodes...))) }
	if !slices.Equal(sorted(p.order, p.base.Train), sorted(d.Train, d.Test)) {
		t.Error("training and test nodes are not divided into T and arrivals")
	}
	for class := range d.Classes {
		of := func(nodes []int32) (n int) {
			for _, i := range nodes {
				n += count(d.Labels[i] == int32(class))
			}
			return n
		}
		if all, kept := of(d.Train), of(p.base.Train); kept != (all+1)/2 {
			t.Errorf("class %d keeps %d of %d training nodes", class, kept, all)
		}
	}
	tests := 0
	for k, i := range p.order {
		if p.base.Labels[i] != -1 {
			t.Fatalf("arrival %d has a class before it came", k)
		}
		if _, withheld := p.withheld[d.IDs[i]]; !withheld && k < len(p.order)/2 {
			tests++
		}
	}
	if tests < 150 || tests > 250 { // 200 of 400, deviation about 7
		t.Errorf("%d of 400 test nodes are in the first half", tests)
	}
	exists, named := map[string]bool{}, 0
	for _, i := range p.base.Train {
		exists[d.IDs[i]] = true
	}
	for k := range p.order {
		a := p.arrival(k, time.Time{})
		for _, id := range a.Edges {
			if !exists[id] {
				t.Fatalf("arrival %d names %s, which is not there yet", k, id)
			}
		}
		named += len(a.Edges)
		exists[a.ID] = true
	}
	all := *d
	all.Train = slices.Concat(p.base.Train, p.order)
	if want := all.Original().Adj.NNZ()/2 - p.base.Original().Adj.NNZ()/2; named != want {
		t.Errorf("%d edges are named, want %d", named, want)
	}
	d.Test = nil
	expect.Error(t, expect.ErrorOf(newPlan(d, 3)), "and 0 test nodes")
}

// Every arrival is predicted once in all three streams; with growth arrivals know one another; the refresh takes over
// between two batches, and knows the earlier arrivals.
func TestGrow(t *testing.T) {
	d, o := tiny(t), fast()
	r, err := Grow(t.Context(), d, o)
	expect.OK(t, err)
	p := mustPlan(t, d, o.Train.Seed)
	n, half := len(p.order), len(p.order)/2
	for k, versions := range []int{1, 1, 2} {
		s := r.Streams[k]
		got := []int{s.Predicted, s.Missing, s.Duplicates, s.DeadLetters, s.MixedBatches, len(s.Versions)}
		expect.Same(t, []int{n, 0, 0, 0, 0, versions}, got,
			"growth %s: predicted, missing, twice, dead, of two versions, versions", s.Growth)
		if s.Batches < n/16 || s.Batches == n {
			t.Errorf("growth %s: %d micro-batches, want some of several arrivals", s.Growth, s.Batches)
		}
	}
	arrivals, tests := 0, 0
	for k, w := range r.Windows {
		if w.From != arrivals {
			t.Errorf("window %d begins at %d, want %d", k, w.From, arrivals)
		}
		arrivals, tests = arrivals+w.Arrivals, tests+w.Test
		if k < 5 && w.Refresh.Refreshed != 0 {
			t.Errorf("window %d: %v%% answered by an artifact that knows later arrivals", k, w.Refresh.Refreshed)
		}
		if k >= 8 && w.Refresh.Refreshed != 100 {
			t.Errorf("window %d: %v%% answered by the refreshed artifact", k, w.Refresh.Refreshed)
		}
	}
	if arrivals != n || tests != 400 || r.All.Test != 400 || r.Swapped == nil || r.Swapped.Refresh.Refreshed != 100 {
		t.Errorf("%d arrivals, %d test nodes in windows; all %+v, swapped %+v", arrivals, tests, r.All, r.Swapped)
	}
	accuracy, unknown := offline(t, d, p, o)
	if r.All.Off.Accuracy != accuracy || r.All.Off.Unknown != unknown {
		t.Errorf("growth off: accuracy %v%%, unknown %v%%, offline %v%% and %v%%", r.All.Off.Accuracy, r.All.Off.Unknown,
			accuracy, unknown)
	}
	if !(r.All.On.Unknown < r.All.Off.Unknown) || !(r.Swapped.Refresh.Unknown < r.Swapped.Off.Unknown) {
		t.Errorf("unknown with growth %v%%, without %v%%; refreshed %v%%, without %v%%", r.All.On.Unknown, r.All.Off.Unknown,
			r.Swapped.Refresh.Unknown, r.Swapped.Off.Unknown)
	}
	if r.All.Off.Agreement < 50 || r.All.On.Agreement < 50 || r.Swapped.Refresh.Agreement < 50 { // chance is below 30
		t.Errorf("agreement %v%%, %v%%, refreshed %v%%", r.All.Off.Agreement, r.All.On.Agreement, r.Swapped.Refresh.Agreement)
	}
	labelled := 0
	for _, id := range p.ids[:half] {
		_, withheld := p.withheld[id]
		labelled += count(withheld)
	}
	f := r.Refresh
	if f.Arrivals != half || f.Labelled != labelled || f.Nodes != len(p.base.Train)+half || f.Refused ||
		r.Streams[2].Versions[1] != f.Version {
		t.Errorf("refresh %+v, want %d arrivals, %d with a class", f, half, labelled)
	}
	if r.Streams[2].FirstSwapped < half || r.Streams[2].FirstSwapped > n*3/4 {
		t.Errorf("the refreshed artifact answered from arrival %d on", r.Streams[2].FirstSwapped)
	}
	var out bytes.Buffer
	expect.OK(t, r.Print(&out))
	for _, want := range []string{"growth off", "0–73", "refreshed", "374 arrivals merged",
		f.Version + " served from arrival"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// offline returns the first artifact's answers to the test nodes without rows of arrivals.
func offline(t *testing.T, d *dataset.Dataset, p *plan, o Options) (accuracy, unknown float64) {
	t.Helper()
	outcome, err := trainer.Train(t.Context(), p.base, o.Train, time.Now(), trainer.Silent{})
	expect.OK(t, err)
	expect.OK(t, outcome.Bundle.Seal())
	served, _, err := serving.New(outcome.Bundle, mapping.FromArtifact(outcome.Bundle.Mapping), serving.Options{})
	expect.OK(t, err)
	told := *p.base
	told.Labels = d.Labels
	if _, accuracy, err = eval.Compare(&told, outcome.Bundle, [][]int32{d.Test}, false, served,
		served.Bins()); err != nil {
		t.Fatal(err)
	}
	edges, toArrivals := 0, 0
	for k := range p.order {
		for _, id := range p.arrival(k, time.Time{}).Edges {
			edges++
			toArrivals += count(slices.Contains(p.ids[:k], id))
		}
	}
	return accuracy, share(toArrivals, edges)
}

// A refresh whose labels are wrong is refused, and the stream continues with the old version.
func TestGrowRefusesAWorseArtifact(t *testing.T) {
	d, o := tiny(t), fast()
	p := mustPlan(t, d, 3)
	for id, class := range p.withheld {
		p.withheld[id] = (class + 1) % int32(len(d.Classes))
	}
	outcome, err := prepare(t.Context(), p.base, o)
	expect.OK(t, err)
	g := &growthRun{plan: p, bundle: outcome.Bundle, o: o}
	run, err := g.run(t.Context(), GrowthRefresh)
	expect.OK(t, err)
	if f := run.refresh.done; !f.Refused || !(f.Validation < f.ValidationBefore-refresh.MaxDrop) || f.Labelled == 0 {
		t.Errorf("not refused: %+v", f)
	}
	if s := g.stream(run); s.Predicted != len(p.order) ||
		!slices.Equal(s.Versions, []string{outcome.Bundle.Manifest.Version}) {
		t.Errorf("%+v", s)
	}
}

// Options that Grow cannot serve are refused before the training.
func TestGrowRefuses(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"graph batches": func(o *Options) { o.Mode = config.ModeGraph },
		"labels":        func(o *Options) { o.Labels = true },
	} {
		o := fast()
		change(&o)
		expect.Error(t, expect.ErrorOf(Grow(t.Context(), tiny(t), o)), "growing: ", "%s", name)
	}
}

func TestPausesLeaveOutWhatWasHeld(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	p := newPauses(map[string]time.Time{"a": at(1), "b": at(1), "c": at(2), "d": at(10), "e": at(13)},
		[]*replay.Gate{{From: at(3), To: at(9.5)}, {}})
	for _, tc := range []struct{ from, to, want float64 }{
		{0, 20, 3},    // 10 to 13
		{0, 9, 1.5},   // 2 to 10, of which 6.5 were held
		{0, 1.5, 1},   // 1 to 2
		{14, 20, 0},   // after all
		{12, 12, 3},   // in the middle of one
		{4, 5, 1.5},   // while held
		{0, 0.5, 0},   // before all
		{1.5, 2, 1.5}, // touches both
	} {
		if got := p.longest(at(tc.from), at(tc.to)).Seconds(); got != tc.want {
			t.Errorf("from %v to %v: %v s, want %v", tc.from, tc.to, got, tc.want)
		}
	}
	if got := newPauses(nil, nil).longest(at(0), at(1)); got != 0 {
		t.Errorf("nothing was published, and paused for %v", got)
	}
}
