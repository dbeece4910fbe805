package trainer

import (
	"path/filepath"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/expert"
	"rivulet/trainer/fit"
	"rivulet/trainer/search"
)

// A fit to what the artifact has of S, and to nothing else, gives the labels row; without the option the artifact has
// none of it.
func TestSection5ArtifactTeaches(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(15)
	o.Own = OwnNever
	if b := mustTrain(t, d, o).Bundle; b.Spread != nil {
		t.Error("a run without the option has a spread")
	}
	o.Spread = true
	out := mustTrain(t, d, o)
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	s, err := artifact.ReadSpread(dir)
	expect.OK(t, err)
	got, want := taught(t, d, o, s), find(t, out.Results, eval.StoSLabels, false, NodeBatch).Score("accuracy").Mean
	if got < want-1 || got > want+1 {
		t.Errorf("S teaches %.2f, the run says %.2f", got, want)
	}
}

// taught fits an SGC to the soft labels of S, and returns its accuracy in node batches on the S of a run in memory.
func taught(t *testing.T, d *dataset.Dataset, o Options, s *artifact.Spread) float64 {
	t.Helper()
	layer, err := fit.SGC(t.Context(), fit.Problem{Design: fit.Explicit{X: s.Means}, Weights: s.Weights,
		Soft: &fit.SoftLabels{Means: s.Soft, Spread: s.SoftSpread}, Directions: directions(s),
		Classes: len(d.Classes)}, float64(s.SoftDecay), fit.Final, nil)
	expect.OK(t, err)
	k := makeReady(t, d, o)
	m := k.run.shape(k.T, modelSGC).Linear(layer)
	onS, err := newClustering(k.T, k.held, k.run, solveRows).condense(t.Context(), []infer.Model{m}, "")
	expect.OK(t, err)
	p, err := place(k.T, k.run, onS, m, artifact.AttachFrozen)
	expect.OK(t, err)
	return search.Accuracy(p.Plain(), p.On(k.held.test()[NodeBatch]))
}

// The M of a W_S has indicators of the clusters where they gain more than a margin on the support nodes.
func TestIndicatorsOfS(t *testing.T) {
	taken := map[bool]string{}
	for name, d := range generatedSets(t) {
		o := options(0)
		o.Own, o.Spread = OwnNever, true
		k := makeReady(t, d, o)
		c := recipeOf(t, k).result.clusters
		small, err := c.fit(t.Context(), modelSGC)
		expect.OK(t, err)
		alone, err := c.condense(t.Context(), []infer.Model{small.Model}, "")
		expect.OK(t, err)
		got, err := renew(t.Context(), c, small)
		expect.OK(t, err)
		before, err := wholeGround(k.T, k.held).Behind(alone.M)(t.Context(), small.Model)
		expect.OK(t, err)
		after, err := wholeGround(k.T, k.held).Behind(got.M)(t.Context(), small.Model)
		expect.OK(t, err)
		with := got.clusters.indicators > 0
		if with && after <= before+expert.MinGain || !with && after != before {
			t.Errorf("%s: %.2f of the messages alone, %.2f by the M that is taken, with indicators: %v", name, before, after,
				with)
		}
		taken[with] = name
	}
	if len(taken) != 2 {
		t.Errorf("sets by whether their M has indicators: %v, want some of both", taken)
	}
}

func TestSpreadIsForClusters(t *testing.T) {
	o := options(15)
	o.Spread, o.Method, o.More = true, "whatever", []Method{{Name: "whatever"}}
	_, err := Train(t.Context(), small(t, generate.BagOfWords), o, created, Silent{})
	expect.Error(t, err, "spread")
}

// directions are those of the spread that have soft labels.
func directions(s *artifact.Spread) *graph.Dense {
	r := s.SoftSpread.Rows
	return &graph.Dense{Rows: r, Cols: s.Factor.Cols, Data: s.Factor.Data[:r*s.Factor.Cols]}
}

// generatedSets are small graphs of several blocks: with sparse features, with many unlabelled nodes, and with dense
// features. Under the race detector they are smaller.
func generatedSets(t *testing.T) map[string]*dataset.Dataset {
	t.Helper()
	out := map[string]*dataset.Dataset{}
	for _, preset := range []string{"small", "pubmed", "reddit"} {
		out[preset] = generated(t, preset)
	}
	return out
}

// generated is one of generatedSets.
func generated(t *testing.T, preset string) *dataset.Dataset {
	t.Helper()
	if raceEnabled {
		return generatedOf(t, preset, 500)
	}
	return generatedOf(t, preset, 900)
}

func generatedOf(t *testing.T, preset string, nodes int) *dataset.Dataset {
	t.Helper()
	g, err := generate.Scaled(preset, nodes)
	expect.OK(t, err)
	if g.Kind == generate.Dense {
		g.Classes, g.Communities, g.Features = 6, 30, 100
	}
	d, err := generate.Graph(g, 3)
	expect.OK(t, err)
	return d
}
