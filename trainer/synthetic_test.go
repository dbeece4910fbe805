package trainer

import (
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
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
	layer, err := fit.SGC(t.Context(), fit.Problem{Design: fit.Explicit{X: s.Means}, Weights: s.Weights,
		Soft: &fit.SoftLabels{Means: s.Soft, Spread: s.SoftSpread}, Directions: directions(s),
		Classes: len(d.Classes)}, float64(s.SoftDecay), fit.Final, nil)
	expect.OK(t, err)
	k, err := newTask(d, o)
	expect.OK(t, err)
	m := k.shape(modelSGC).Linear(layer)
	c := k.newClustering(solveRows, Silent{})
	onS, err := c.make(t.Context(), []infer.Model{m}, "", Silent{})
	expect.OK(t, err)
	p, err := k.place(onS, m, artifact.AttachFrozen)
	expect.OK(t, err)
	set := p.On(k.test()[NodeBatch])
	got, want := search.Accuracy(p.Plain(), set), find(t, out.Results, eval.StoSLabels, false, NodeBatch).Accuracy.Mean
	if got < want-1 || got > want+1 {
		t.Errorf("S teaches %.2f, the run says %.2f", got, want)
	}
}

func TestSpreadIsForClusters(t *testing.T) {
	o := options(15)
	o.Spread, o.Method, o.More = true, "whatever", []Method{{Name: "whatever"}}
	_, err := Train(t.Context(), small(t, generate.BagOfWords), o, created, Silent{})
	if err == nil || !strings.Contains(err.Error(), "spread") {
		t.Errorf("error %v, want one about spread", err)
	}
}

// directions are those of the spread that have soft labels.
func directions(s *artifact.Spread) *graph.Dense {
	r := s.SoftSpread.Rows
	return &graph.Dense{Rows: r, Cols: s.Factor.Cols, Data: s.Factor.Data[:r*s.Factor.Cols]}
}
