package mcond

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/test/expect"
)

// same compares results bit for bit; a NaN equals itself.
func same(t *testing.T, what string, want, got *Result) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func mustLearn(t *testing.T, w *world, o Options) *Result {
	t.Helper()
	r, err := Learn(t.Context(), w.in, o, nil)
	expect.OK(t, err)
	return r
}

func TestLearn(t *testing.T) {
	w := newWorld(t)
	o := small()
	o.Rounds, o.RelaySteps = 12, 10
	r := mustLearn(t, w, o)
	l := r.Losses
	if n := o.Rounds * steps; len(l.Gra) != n || len(l.Str) != n {
		t.Errorf("%d and %d losses of the steps on S, want %d", len(l.Gra), len(l.Str), n)
	}
	if n := o.Rounds * steps; len(l.Tra) != n || len(l.Ind) != n {
		t.Errorf("%d and %d losses of the steps on M, want %d", len(l.Tra), len(l.Ind), n)
	}
	if first, last := mean(l.Gra[:steps]), mean(l.Gra[len(l.Gra)-steps:]); last > 0.7*first {
		t.Errorf("L_gra went from %.3f to %.3f", first, last)
	}
	for round := range o.Rounds { // one relay each: within a round, M must get better
		at := l.Ind[round*steps : (round+1)*steps]
		if round > 0 && at[len(at)-1] > at[0] {
			t.Errorf("L_ind went from %.3f to %.3f in round %d", at[0], at[len(at)-1], round)
		}
	}
	if r.Accuracy < 90 {
		t.Errorf("M brings %.1f%% of the support nodes to their class, want 90%%", r.Accuracy)
	}
	if r.X.Rows != 8 || r.X.Cols != worldFeatures || r.M.Rows != worldNodes || r.M.Cols != 8 {
		t.Errorf("X' is %d×%d, M %d×%d", r.X.Rows, r.X.Cols, r.M.Rows, r.M.Cols)
	}
	expect.Same(t, []int32{0, 0, 0, 1, 1, 1, 2, 2}, r.Labels, "Y'")
	for i := range r.Affinity.Rows {
		for j, v := range r.Affinity.Row(i) {
			if v != r.Affinity.Row(j)[i] || (i == j) != (v == 0) || v >= 1 {
				t.Errorf("A'[%d,%d] is %v, A'[%d,%d] %v", i, j, v, j, i, r.Affinity.Row(j)[i])
			}
		}
	}
	if err := errors.Join(r.Adj.Validate(), r.M.Validate()); err != nil {
		t.Error(err)
	}
}

// Class-aware: a labelled node starts on the synthetic nodes of its class, an unlabelled one on all alike.
func TestStartOfM(t *testing.T) {
	w := newWorld(t)
	r := mustLearn(t, w, small())
	for i, y := range w.in.Labels {
		row, sum := r.Start.Row(i), 0.0
		for k, v := range row {
			sum += float64(v)
			above := v > 1.0/8
			if y >= 0 && above != (r.Labels[k] == y) {
				t.Fatalf("node %d of class %d starts with %v on synthetic node %d of class %d", i, y, v, k, r.Labels[k])
			}
			if y < 0 && v != row[0] {
				t.Fatalf("unlabelled node %d starts with %v", i, row)
			}
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("row %d starts with the sum %v", i, sum)
		}
	}
	o := small()
	o.RandomStart = true
	random := mustLearn(t, w, o)
	distinct := map[float32]bool{}
	for _, v := range random.Start.Data {
		distinct[v] = true
	}
	if len(distinct) < len(random.Start.Data)/2 {
		t.Errorf("a random start has %d values in %d entries", len(distinct), len(random.Start.Data))
	}
}

func TestAblations(t *testing.T) {
	w := newWorld(t)
	full := mustLearn(t, w, small())
	for _, c := range []struct {
		name     string
		set      func(o *Options)
		str, ind bool
	}{
		{"no L_str", func(o *Options) { o.NoStructure = true }, false, true},
		{"no L_ind", func(o *Options) { o.NoInductive = true }, true, false},
		{"plain", func(o *Options) { o.NoStructure, o.NoInductive = true, true }, false, false},
	} {
		o := small()
		c.set(&o)
		var last Event
		r, err := Learn(t.Context(), w.in, o, func(e Event) { last = e })
		expect.OK(t, err)
		if (len(r.Losses.Str) > 0) != c.str || (len(r.Losses.Ind) > 0) != c.ind || len(r.Losses.Gra) == 0 ||
			len(r.Losses.Tra) == 0 {
			t.Errorf("%s: %d, %d, %d, %d losses", c.name, len(r.Losses.Gra), len(r.Losses.Str), len(r.Losses.Tra),
				len(r.Losses.Ind))
		}
		if math.IsNaN(last.Str) == c.str || math.IsNaN(last.Ind) == c.ind {
			t.Errorf("%s: the last event says L_str %v, L_ind %v", c.name, last.Str, last.Ind)
		}
		if cmp.Equal(full.M.Val, r.M.Val) {
			t.Errorf("%s: M is that of the full run", c.name)
		}
	}
	// λ = 0 equals leaving out L_str, and β = 0 equals leaving out L_ind; the pairs' draws move nothing else.
	o, zero := small(), small()
	o.NoStructure, o.NoInductive, zero.Lambda, zero.Beta = true, true, 0, 0
	left, weighed := mustLearn(t, w, o), mustLearn(t, w, zero)
	if diff := cmp.Diff(left.Snapshot, weighed.Snapshot); diff != "" {
		t.Errorf("plain and λ = β = 0 differ (-plain +zero):\n%s", diff)
	}
}

func TestGCond(t *testing.T) {
	w := newWorld(t)
	o := small()
	r, err := GCond(t.Context(), w.in, o, nil)
	expect.OK(t, err)
	if r.M != nil || r.Mapping != nil || r.Start != nil || len(r.Losses.Tra)+len(r.Losses.Ind)+len(r.Losses.Str) > 0 {
		t.Error("GCond has a mapping")
	}
	if len(r.Losses.Gra) != o.Rounds*steps || len(r.Thresholds) != len(o.Mu) {
		t.Errorf("%d losses and %d thresholds", len(r.Losses.Gra), len(r.Thresholds))
	}
}

// The bits depend neither on the number of processors nor on a progress report.
func TestDeterminism(t *testing.T) {
	w := newWorld(t)
	before := runtime.GOMAXPROCS(1)
	one := mustLearn(t, w, small())
	runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(before)
	four, err := Learn(t.Context(), w.in, small(), func(Event) {})
	expect.OK(t, err)
	same(t, "four processors", one, four)
	o := small()
	o.Seed++
	if other := mustLearn(t, w, o); cmp.Equal(one.X, other.X) {
		t.Error("another seed gives the same X'")
	}
}

// soon is a context that has ended when it was asked a number of times.
type soon struct {
	context.Context
	left int
}

func (s *soon) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// A round that is under way when the run is interrupted is given up.
func TestAnInterruptedRoundIsGivenUp(t *testing.T) {
	w, o := newWorld(t), small()
	_, err := Learn(&soon{t.Context(), 5}, w.in, o, func(Event) { t.Error("a round was finished") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted run: %v", err)
	}
}

func TestPatience(t *testing.T) {
	w := newWorld(t)
	scores := map[int]float64{evalEvery: 5, 2 * evalEvery: 7, 3 * evalEvery: 6, 4 * evalEvery: 7, 5 * evalEvery: 9}
	w.in.Validate = func(s *Snapshot) (float64, error) { return scores[s.Round], nil }
	o := small()
	o.Rounds, o.Patience = 5*evalEvery, 2
	r := mustLearn(t, w, o)
	if r.Rounds != 4*evalEvery || r.Round != 2*evalEvery || r.Accuracy != 7 {
		t.Errorf("ended after round %d with round %d at %v, want %d with %d at 7", r.Rounds, r.Round, r.Accuracy, 4*evalEvery,
			2*evalEvery)
	}
	want := []Evaluation{{evalEvery, 5}, {2 * evalEvery, 7}, {3 * evalEvery, 6}, {4 * evalEvery, 7}}
	expect.Same(t, want, r.Evaluations, "evaluations")
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	o := small()
	clock := time.Unix(0, 0)
	o.Now = func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}
	var events []Event
	if _, err := Learn(t.Context(), w.in, o, func(e Event) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	if len(events) != o.Rounds {
		t.Fatalf("%d events, want %d", len(events), o.Rounds)
	}
	for k, e := range events {
		if e.Round != k+1 || e.Rounds != o.Rounds || math.IsNaN(e.Accuracy) != (e.Round < evalEvery) ||
			(e.BestRound > 0) != (e.Round >= evalEvery) {
			t.Errorf("event %d is %+v", k, e)
		}
		if e.Elapsed != time.Duration(k+1)*time.Second || e.Left != time.Duration(o.Rounds-k-1)*time.Second {
			t.Errorf("event %d: %v and %v left", k, e.Elapsed, e.Left)
		}
	}
}

func TestWithoutSupportAndValidation(t *testing.T) {
	w := newWorld(t)
	w.in.Support, w.in.Validate = nil, nil
	r := mustLearn(t, w, small())
	if len(r.Losses.Ind) > 0 || !math.IsNaN(r.Accuracy) || len(r.Evaluations)+len(r.Thresholds) > 0 {
		t.Errorf("%d values of L_ind, accuracy %v, %d evaluations, %d thresholds", len(r.Losses.Ind), r.Accuracy,
			len(r.Evaluations), len(r.Thresholds))
	}
	if r.Round != 6 || r.Mu != 0.5 || r.Delta != 0.5 {
		t.Errorf("round %d, μ %v, δ %v; want the last round and the first thresholds", r.Round, r.Mu, r.Delta)
	}
}

func TestRefusedInput(t *testing.T) {
	for _, c := range []struct {
		change func(in *Input, o *Options)
		want   string
	}{
		{func(in *Input, _ *Options) { in.Labels = in.Labels[1:] }, "119 labels"},
		{func(in *Input, _ *Options) { in.Budget = []int{1, 1} }, "budget for 2 classes, want 3"},
		{func(in *Input, _ *Options) { in.Budget = []int{1, 1, 100} }, "budget[2] is 100"},
		{func(in *Input, _ *Options) { in.Budget = []int{0, 0, 0} }, "budget is zero"},
		{func(in *Input, _ *Options) { in.Labels[5] = 3 }, "labels[5] is 3, want below 3"},
		{func(in *Input, _ *Options) { in.Pre.Mean = in.Pre.Mean[1:] }, "preprocess.mean"},
		{func(_ *Input, o *Options) { o.Rounds = 0 }, "rounds is 0, want at least 1"},
		{func(_ *Input, o *Options) { o.Beta = -1 }, "beta is -1"},
		{func(_ *Input, o *Options) { o.RateX = 0 }, "rate_x is 0"},
		{func(_ *Input, o *Options) { o.Delta = nil }, "number of delta is 0"},
		{func(_ *Input, o *Options) { o.Mu = []float64{0, math.NaN()} }, "mu is NaN"},
	} {
		w, o := newWorld(t), small()
		c.change(&w.in, &o)
		expect.Error(t, expect.ErrorOf(Learn(t.Context(), w.in, o, nil)), c.want)
	}
}

func TestValidateFails(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("no disk")
	for _, at := range []int{2, 6} {
		calls := 0
		w.in.Validate = func(*Snapshot) (float64, error) {
			calls++
			if calls > at/2 {
				return 0, broken
			}
			return 1, nil
		}
		if _, err := Learn(t.Context(), w.in, small(), nil); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
}

// GCond-X learns features alone, so that models read X' as it is, and its losses are those of Z' = X'; DosCond meets
// every step with weights that were never trained. Both lower their loss.
func TestGCondAloneAndInOneStep(t *testing.T) {
	w := newWorld(t)
	results := map[string]*Result{}
	for name, change := range map[string]func(o *Options){"gcond": func(*Options) {},
		"x": func(o *Options) { o.NoAdjacency = true }, "one step": func(o *Options) { o.OneStep = true }} {
		o := small()
		o.Rounds, o.RelaySteps = 12, 10
		change(&o)
		r, err := GCond(t.Context(), w.in, o, nil)
		expect.OK(t, err)
		results[name] = r
		if first, last := mean(r.Losses.Gra[:steps]), mean(r.Losses.Gra[len(r.Losses.Gra)-steps:]); last >= first {
			t.Errorf("%s: L_gra went from %.3f to %.3f", name, first, last)
		}
	}
	if n := results["x"].Adj.NNZ(); n != 0 {
		t.Errorf("A' of features alone has %d entries", n)
	}
	if cmp.Equal(results["gcond"].X, results["one step"].X) {
		t.Error("a step of its own relay changes nothing")
	}
}
