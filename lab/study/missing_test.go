package study

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// Test nodes lose the share of their edges, the same ones and more at a larger share; other rows stay as they are.
func TestThinned(t *testing.T) {
	g, _ := generate.Scaled("small", 600)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	thin := func(share float64) map[[2]int32]bool {
		adj := thinned(d.Adj, d.Test, share, rand.New(rand.NewPCG(1, 2)))
		kept := map[[2]int32]bool{}
		for _, i := range d.Test {
			cols, _ := adj.Row(int(i))
			for _, j := range cols {
				kept[[2]int32{i, j}] = true
			}
		}
		for _, i := range d.Train {
			if adj.RowLen(int(i)) != d.Adj.RowLen(int(i)) {
				t.Fatalf("training node %d has %d edges, want %d", i, adj.RowLen(int(i)), d.Adj.RowLen(int(i)))
			}
		}
		return kept
	}
	all, half, few, none := thin(0), thin(.5), thin(.9), thin(1)
	if share := float64(len(half)) / float64(len(all)); share < .45 || share > .55 || len(none) != 0 {
		t.Errorf("of %d edges half leaves %d and all of them %d", len(all), len(half), len(none))
	}
	for e := range few {
		if !half[e] || !all[e] {
			t.Errorf("edge %v is lost at a half and not at nine tenths", e)
		}
	}
}

// The studies of growth and of missing edges do not read weights of edges, and say so.
func TestWeightsOfEdgesAreRefused(t *testing.T) {
	d := small(t, generate.BagOfWords)
	d.Adj.Val = slices.Repeat([]float32{2}, d.Adj.NNZ())
	_, missing := Missing(t.Context(), d, trainer.Defaults(), []uint64{0}, []float64{0}, trainer.Silent{})
	_, grow := Grow(t.Context(), d, GrowDefaults(), trainer.Silent{})
	for _, err := range []error{missing, grow} {
		expect.Error(t, err, "edges have weights")
	}
	d.Adj.Val = nil
	d.Relate(graph.Slots{Directed: true}, d.Adj)
	_, missing = Missing(t.Context(), d, trainer.Defaults(), []uint64{0}, []float64{0}, trainer.Silent{})
	_, grow = Grow(t.Context(), d, GrowDefaults(), trainer.Silent{})
	for _, err := range []error{missing, grow} {
		expect.Error(t, err, "edges have directions")
	}
	d.By, d.Relations, d.NodeTypes = graph.Slots{}, nil, &schema.Types{}
	_, missing = Missing(t.Context(), d, trainer.Defaults(), []uint64{0}, []float64{0}, trainer.Silent{})
	_, grow = Grow(t.Context(), d, GrowDefaults(), trainer.Silent{})
	for _, err := range []error{missing, grow} {
		expect.Error(t, err, "nodes are of several types")
	}
}

// Without edges an arrival is answered by what its own features say, on T and on S alike.
func TestMissing(t *testing.T) {
	g, _ := generate.Scaled("small", 900)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	o := trainer.Defaults()
	o.Nodes, o.WeightDecays = 40, []float64{1e-4}
	r, err := Missing(t.Context(), d, o, []uint64{0, 1}, []float64{0, 1}, trainer.Silent{})
	expect.OK(t, err)
	if whole, lost := r[0], r[1]; lost.None.Mean != 100 || whole.None.Mean > 10 || lost.Whole.Mean > whole.Whole.Mean-3 ||
		lost.Alone.Mean > whole.Alone.Mean-3 || lost.Own.Mean < lost.Alone.Mean-3 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := WriteMissing(&text, r); err != nil || strings.Count(text.String(), "\n") != 3 {
		t.Errorf("%v\n%s", err, text.String())
	}
	expect.Error(t, expect.ErrorOf(Missing(t.Context(), d, o, []uint64{0}, []float64{0, 2}, trainer.Silent{})),
		"missing-edges[1] is 2")
}
