package trainer

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// outcomes are the runs that several tests read, each made once, by a name for its data and options.
var outcomes sync.Map

// shared returns the run of a name, which the first test that asks for it makes.
func shared(t testing.TB, name string, run func() (*Outcome, error)) *Outcome {
	t.Helper()
	once, _ := outcomes.LoadOrStore(name, sync.OnceValues(run))
	out, err := once.(func() (*Outcome, error))()
	expect.OK(t, err)
	return out
}

// defaultRun trains with the defaults on a real graph.
func defaultRun(t *testing.T, name string) *artifact.Bundle {
	t.Helper()
	o := Defaults()
	o.Costs = false
	d := realSet(t, name)
	return shared(t, "default "+name, func() (*Outcome, error) {
		return Train(context.Background(), d, o, created, Silent{})
	}).Bundle
}

// realSet reads one of the development graphs; see datatest.Dir.
func realSet(t testing.TB, name string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(datatest.Dir(t, name), dataset.OpenOptions{})
	expect.OK(t, err)
	return d
}

// realResults returns what a run on a real graph measures, S with its spread where a test of section 5 reads it. Tests
// share it.
func realResults(t *testing.T, name string, nodes int, seed uint64) []eval.Result {
	t.Helper()
	o := Defaults()
	o.Nodes, o.Seed, o.Costs = nodes, seed, false
	o.Own = OwnNever // S alone beside Whole; TestSection11OnRealGraphs has own features
	o.Spread = seed == 0 && name != "coauthor_cs"
	d := realSet(t, name)
	return shared(t, fmt.Sprint("real ", name, nodes, seed), func() (*Outcome, error) {
		return Train(context.Background(), d, o, created, Silent{})
	}).Results
}

// Section 9: O→S at Whole's accuracy. Cora has 1,000 test nodes, hence the mean of five seeds and a wider margin there.
func TestSection9OnRealGraphs(t *testing.T) {
	const leak = 1.5 // an accuracy that is so much too good has used data that it must not use
	for _, c := range []struct {
		name        string
		nodes       int
		seeds       uint64
		graph, node float64 // most points that O→S may be below O→O
		whole       float64 // section 9's Whole in node batches, less a point
	}{
		{"cora", 70, realSeeds(5), 1.5, 1.5, 75.8},
		{"amazon_photo", 38, 1, 1.0, 0.5, 92.4},
		{"coauthor_cs", 46, 1, 1.0, 0.5, 91.7},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name == "coauthor_cs" {
				t.Skip("seconds of training; left out with -short")
			}
			mean := map[string]float64{}
			for seed := range c.seeds {
				results := realResults(t, c.name, c.nodes, seed)
				for _, mode := range modes {
					for _, setting := range []string{eval.OtoO, eval.OtoS} {
						mean[setting+mode.Name] += find(t, results, setting, false, mode.Name).Score("accuracy").Mean /
							float64(c.seeds)
					}
				}
			}
			for mode, margin := range map[string]float64{GraphBatch: c.graph, NodeBatch: c.node} {
				whole, served := mean[eval.OtoO+mode], mean[eval.OtoS+mode]
				t.Logf("%s batches: O→O %.2f, O→S %.2f", mode, whole, served)
				if served < whole-margin || served > whole+leak {
					t.Errorf("%s batches: O→S %.2f, want at most %g below and %g above O→O %.2f", mode, served, margin, leak, whole)
				}
			}
			if got := mean[eval.OtoO+NodeBatch]; got < c.whole || got > c.whole+1+leak {
				t.Errorf("O→O %.2f in node batches, want %g to %g", got, c.whole, c.whole+1+leak)
			}
		})
	}
}

func BenchmarkTrain(b *testing.B) {
	d := realSet(b, "amazon_photo")
	o := Defaults()
	o.Nodes = 38
	seconds := 0.0
	for b.Loop() {
		seconds += mustTrain(b, d, o).Seconds
	}
	b.ReportMetric(seconds/float64(b.N), "train-s")
}

// Section 5: a fit on S with its spread, and one to its soft labels, come near to the fit on T; both are judged on S.
func TestSection5TeachingOnRealGraphs(t *testing.T) {
	for _, c := range []struct {
		name           string
		nodes          int
		strict, labels float64 // most points below O→O in node batches
	}{{"cora", 70, 3, 2}, {"amazon_photo", 38, 1.6, 0.5}} {
		t.Run(c.name, func(t *testing.T) {
			results := realResults(t, c.name, c.nodes, 0)
			whole := find(t, results, eval.OtoO, false, NodeBatch).Score("accuracy").Mean
			for setting, margin := range map[string]float64{eval.StoS: c.strict, eval.StoSLabels: c.labels} {
				got := find(t, results, setting, false, NodeBatch).Score("accuracy").Mean
				t.Logf("%s %.2f, O→O %.2f", setting, got, whole)
				if got < whole-margin || got > whole+2 {
					t.Errorf("%s is %.2f, want at most %g below O→O, %.2f", setting, got, margin, whole)
				}
			}
		})
	}
}
