package demo

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

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
		if p.test[k] != slices.Contains(d.Test, i) {
			t.Fatalf("arrival %d is a test node: %t", k, p.test[k])
		}
		tests += count(p.test[k] && k < len(p.order)/2)
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

// Every arrival is predicted once; with rows of arrivals fewer neighbours are unknown than without; and the figures
// without them equal the figures of the artifact offline.
func TestGrow(t *testing.T) {
	d, o := tiny(t), options(attach.Node)
	o.Rate, o.Batch, o.Train.Seed = 2000, 16, 3 // arrivals share micro-batches, many of them
	r, err := Grow(t.Context(), d, o)
	expect.OK(t, err)
	p := mustPlan(t, d, o.Train.Seed)
	n := len(p.order)
	if r.Arrivals != n || r.Predicted != n || r.Missing != 0 || r.Duplicates != 0 || r.DeadLetters != 0 ||
		r.Batches < n/16 || r.Batches == n {
		t.Errorf("%d arrivals: %+v", n, r.Delivery)
	}
	arrivals, tests, right, without := 0, 0, 0., 0.
	for k, w := range r.Windows {
		if w.From != arrivals {
			t.Errorf("window %d begins at %d, want %d", k, w.From, arrivals)
		}
		arrivals, tests = arrivals+w.Arrivals, tests+w.Test
		right, without = right+w.Accuracy*float64(w.Test), without+w.AccuracyWithout*float64(w.Test)
	}
	all := r.All
	if len(r.Windows) != windows || arrivals != n || tests != 400 || all.Test != 400 || r.Test != 400 ||
		r.Withheld != n-400 || math.Abs(right/400-all.Accuracy) > 1e-9 || math.Abs(without/400-all.AccuracyWithout) > 1e-9 {
		t.Errorf("%d arrivals, %d test nodes in windows; all %+v", arrivals, tests, all)
	}
	neighbours, toArrivals := 0, 0
	for k := range p.order {
		for _, id := range p.arrival(k, time.Time{}).Edges {
			neighbours++
			toArrivals += count(slices.ContainsFunc(p.order[:k], func(i int32) bool { return d.IDs[i] == id }))
		}
	}
	if all.UnknownWithout != share(toArrivals, neighbours) || !(all.Unknown < all.UnknownWithout) {
		t.Errorf("unknown with growth %v%%, without %v%%, want %v%%", all.Unknown, all.UnknownWithout,
			share(toArrivals, neighbours))
	}
	// Chance is below 30%.
	if all.Accuracy < 50 || all.AccuracyWithout < 50 || all.AccuracyWhole < 50 || all.Accuracy == all.AccuracyWithout {
		t.Errorf("accuracies %+v", all)
	}
	var out bytes.Buffer
	expect.OK(t, r.Print(&out))
	for _, want := range []string{"349 training nodes withheld and 400 test nodes arrive, seed 3", "0–73", "  all   400 ",
		"749 predicted, 0 missing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// Graph batches are refused before the training.
func TestGrowRefusesGraphBatches(t *testing.T) {
	expect.Error(t, expect.ErrorOf(Grow(t.Context(), tiny(t), options(attach.Graph))), "growing: ")
}
