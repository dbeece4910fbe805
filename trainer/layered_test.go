package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// lines keeps what a run shows.
type lines struct {
	steps, now []string
	onNow      func()
}

func (l *lines) Step(what string, done, total int) {
	if done == total {
		l.steps = append(l.steps, what)
	}
}

func (l *lines) Now(line string) {
	l.now = append(l.now, line)
	if l.onNow != nil {
		l.onNow()
	}
}

// layeredRun is a run with one GCN of a few units.
func layeredRun(t *testing.T) ready {
	t.Helper()
	o := Defaults()
	o.Models, o.Hidden, o.WeightDecays = []string{"gcn"}, 8, []float64{1e-1, 1e-3}
	return makeReady(t, small(t, generate.Dense), o)
}

// Neighbourhood gives the accuracy of the model joined to all of T.
func TestValidationByNeighbourhoodIsThatOfT(t *testing.T) {
	k := layeredRun(t)
	f, err := fitOriginal(t.Context(), k.T, k.held, k.run, "gcn")
	expect.OK(t, err)
	got, err := wholeGround(k.T, k.held).Validate(t.Context(), f.Model)
	want := search.Accuracy(eval.Plain(k.joint(f.Model).Build()), k.held.judges)
	if err != nil || got != want || got != f.Validation {
		t.Errorf("accuracy %v (%v), on all of T %v, of the fit %v", got, err, want, f.Validation)
	}
}

// Above the bound the ground is the graph that a quarter of the bound of T's nodes induces, and the judges are joined
// to it alone; the same every time.
func TestGroundOfALargeT(t *testing.T) {
	k := layeredRun(t)
	n := k.Adj.Rows
	if k.run.ground(k.T, k.held).Adj != k.Adj {
		t.Fatal("the ground of a small T is not T")
	}
	k.run.sampledFrom = n - 1
	g, again := k.run.ground(k.T, k.held), k.run.ground(k.T, k.held)
	size := (n - 1) / 4
	if g.Adj.Rows != size || g.X.Raw.Rows() != size || len(g.Labels) != size {
		t.Fatalf("%d nodes, %d rows, %d labels of %d, want %d", g.Adj.Rows, g.X.Raw.Rows(), len(g.Labels), n, size)
	}
	if !slices.Equal(g.Adj.ColIdx, again.Adj.ColIdx) {
		t.Error("another ground for the same data and options")
	}
	nodes := sampleOf(k, size)
	for a, i := range nodes {
		for b, j := range nodes {
			if has(g.Adj, a, b) != has(k.Adj, int(i), int(j)) {
				t.Fatalf("edge %d–%d differs between the sample and T", i, j)
			}
		}
		if g.Labels[a] != k.Labels[i] {
			t.Fatalf("label of node %d is %d", i, g.Labels[a])
		}
	}
	for b, batch := range g.Judges.Batches {
		whole := k.held.judges.Batches[b]
		for r := range batch.R.Rows {
			for a, i := range nodes {
				if has(batch.R, r, a) != has(whole.R, r, int(i)) {
					t.Fatalf("judge %d and node %d are joined in one of the sample and T", r, i)
				}
			}
			if int(batch.Known[r]) != batch.R.RowLen(r) {
				t.Fatalf("judge %d has %d neighbours and says %d", r, batch.R.RowLen(r), batch.Known[r])
			}
		}
	}
}

// A weight decay that was chosen on a sample is used for all rows in proportion to the numbers of rows, and one that
// was not chosen among others is used as it is.
func TestDecaysOfASampleAreScaled(t *testing.T) {
	const rows = 20
	for _, tt := range []struct {
		model  string
		decays []float64
		scaled bool
	}{
		{"sgc", []float64{1e-3, 1e-4}, true}, {"sgc", []float64{1e-3}, false},
		{"gcn", []float64{1e-1, 1e-3}, true}, {"gcn", []float64{1e-3}, false},
	} {
		t.Run(fmt.Sprint(tt.model, " ", len(tt.decays)), func(t *testing.T) {
			k := layeredRun(t)
			k.run.Models, k.run.WeightDecays = []string{tt.model}, tt.decays
			k.run.sampledRows, k.run.sampledFrom = rows, k.Adj.Rows-1
			f, err := fitOriginal(t.Context(), k.T, k.held, k.run, tt.model)
			expect.OK(t, err)
			some := rows
			if tt.model == "gcn" {
				some = len(sample.Labelled(k.run.ground(k.T, k.held).Labels))
			}
			want := tt.decays
			if tt.scaled {
				want = nil
				for _, decay := range tt.decays {
					want = append(want, fit.DecayOfAll(decay, some, len(k.labelled)))
				}
			}
			if !slices.Contains(want, f.WeightDecay) || tt.scaled && some >= len(k.labelled) {
				t.Errorf("weight decay %v, want one of %v: %d of %d rows", f.WeightDecay, want, some, len(k.labelled))
			}
		})
	}
}

// sampleOf draws the nodes of a sample again.
func sampleOf(k ready, size int) []int32 {
	var nodes []int32
	for _, i := range k.run.rng(purposeNodes).Perm(k.Adj.Rows)[:size] {
		nodes = append(nodes, int32(i))
	}
	slices.Sort(nodes)
	return nodes
}

func has(m *graph.CSR, i, j int) bool {
	cols, _ := m.Row(i)
	return slices.Contains(cols, int32(j))
}

// On a large T the decays are compared on the sample and one is fitted on all nodes, to a model that is about as good.
func TestALargeTIsFittedOnce(t *testing.T) {
	k := layeredRun(t)
	small, err := fitOriginal(t.Context(), k.T, k.held, k.run, "gcn")
	expect.OK(t, err)
	k.run.sampledFrom = k.Adj.Rows - 1
	var shown lines
	k.run.Progress = &shown
	large, err := fitOriginal(t.Context(), k.T, k.held, k.run, "gcn")
	expect.OK(t, err)
	want := []string{"fitting gcn on the original graph, a sample", "fitting gcn on the original graph, all nodes"}
	if !slices.Equal(shown.steps, want) {
		t.Errorf("stages %q, want %q", shown.steps, want)
	}
	if large.Validation < small.Validation-5 {
		t.Errorf("validation %.1f, with all decays on all of T %.1f", large.Validation, small.Validation)
	}
	accuracy, err := wholeGround(k.T, k.held).Validate(t.Context(), large.Model)
	if err != nil || accuracy != large.Validation {
		t.Errorf("validation %v, the model has %v (%v)", large.Validation, accuracy, err)
	}
}

// Every epoch has a line with all that is known of it, and the context ends a fit at once.
func TestEpochsAreShownAndCanBeEnded(t *testing.T) {
	k := layeredRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	shown := &lines{}
	shown.onNow = func() {
		if len(shown.now) == 12 {
			cancel()
		}
	}
	k.run.Progress = shown
	_, err := fitOriginal(ctx, k.T, k.held, k.run, "gcn")
	if !errors.Is(err, context.Canceled) || len(shown.now) != 12 {
		t.Fatalf("%v after %d epochs, want the context's error after 12", err, len(shown.now))
	}
	if line := shown.now[0]; !strings.HasPrefix(line, "gcn, weight decay 0.1, epoch 1 of 300, loss ") ||
		strings.Contains(line, "validation") {
		t.Errorf("first line %q", line)
	}
	for _, part := range []string{"epoch 12 of 300", ", validation ", ", at most ", " s left"} {
		if !strings.Contains(shown.now[11], part) {
			t.Errorf("twelfth line %q has no %q", shown.now[11], part)
		}
	}
}

// Every iteration of a linear model has a line: the weight decay, the loss, the best validation of the fits before, and
// the time left.
func TestIterationsAreShown(t *testing.T) {
	k := layeredRun(t)
	shown := &lines{}
	k.run.Progress = shown
	best, err := fitOriginal(t.Context(), k.T, k.held, k.run, "sgc")
	expect.OK(t, err)
	first, last := shown.now[0], shown.now[len(shown.now)-1]
	if !strings.HasPrefix(first, "sgc, weight decay 0.1, iteration 1 of at most 300, loss ") ||
		strings.Contains(first, "validation") ||
		!strings.HasSuffix(first, " s left") {
		t.Errorf("first line %q", first)
	}
	if !strings.HasPrefix(last, fmt.Sprintf("sgc, weight decay %g, iteration ", best.WeightDecay)) ||
		!strings.Contains(last, ", best validation ") || !strings.HasSuffix(last, " s left") {
		t.Errorf("last line %q", last)
	}
	losses := []float64{}
	for _, line := range shown.now {
		var decay, loss float64
		var number, most int
		if _, err := fmt.Sscanf(line, "sgc, weight decay %g, iteration %d of at most %d, loss %g", &decay, &number, &most,
			&loss); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if number == 1 {
			losses = losses[:0]
		}
		if losses = append(losses, loss); len(losses) > 1 && loss > losses[len(losses)-2] {
			t.Errorf("the loss rises: %q", line)
		}
	}
}

// A validation ends between two batches.
func TestValidationEndsWithItsContext(t *testing.T) {
	k := layeredRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	shape := fit.NewShape("gcn", 8)
	p := fit.OnOriginal(shape, k.Adj, k.x, k.Labels, k.Classes())
	_, _, err := fit.GNN(t.Context(), p, fit.DefaultGNNOptions(1e-3, 1), func(m infer.Model) (float64, error) {
		return wholeGround(k.T, k.held).Validate(ctx, m)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
