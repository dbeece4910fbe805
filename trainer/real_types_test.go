package trainer

import (
	"math"
	"testing"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/trainer/eval"
	"rivulet/trainer/sample"
)

// typedByWords is a set whose edges have a type by how many words their ends share, which says nothing of classes but
// what words say: none, one, or more.
func typedByWords(d *dataset.Dataset) *dataset.Dataset {
	by := graph.Slots{Types: []string{"few", "many", "none"}}
	out := make([][]graph.Edge, len(by.Types))
	words := make([]bool, d.X.Cols())
	for i := range int32(d.Adj.Rows) {
		mine, _ := d.X.Sparse.Row(int(i))
		for _, w := range mine {
			words[w] = true
		}
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			theirs, _ := d.X.Sparse.Row(int(j))
			shared := 0
			for _, w := range theirs {
				if words[w] {
					shared++
				}
			}
			// relative to the longer list, so that sets of long lists have edges of all types, too
			of := 2
			switch share := float64(shared) / float64(max(1, len(mine), len(theirs))); {
			case share > 0.2:
				of = 1
			case share > 0.05:
				of = 0
			}
			out[of] = append(out[of], graph.Edge{Row: i, Col: j, Val: 1})
		}
		for _, w := range mine {
			words[w] = false
		}
	}
	var adj []*graph.CSR
	for _, edges := range out {
		adj = append(adj, graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges))
	}
	d.Relate(by, adj...)
	return d
}

// joined are the test nodes that are joined to T one by one: with one seed at most 1,000.
func joined(test []int32) []int32 {
	if realSeeds(2) == 1 {
		return sample.Evenly(test, 1000)
	}
	return test
}

// On real graphs with typed edges the accuracy of rsgc on S is that of arrivals that are each truly joined to T alone,
// within half a point, over the seeds. Of the larger graph every so-many-th test node is joined, and what T's tables
// are off by there is taken for all; W_O is the same with every seed.
func TestTypesOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains on real graphs, and joins hundreds of arrivals one by one")
	}
	for _, set := range explainedSets[:2] {
		d := typedByWords(realSet(t, set.name))
		var alone, onS []float64
		correction := 0.0
		for seed := range realSeeds(5) {
			o := Defaults()
			o.Models, o.Nodes, o.Costs, o.Seed, o.Own = []string{"rsgc"}, 2*set.nodes, false, seed, OwnNever
			accuracy := map[string]float64{}
			out := mustTrain(t, d, o)
			for _, r := range out.Results {
				accuracy[r.Setting] = r.Score("accuracy").Mean
			}
			if seed == 0 {
				_, frozen, alone := besideJoined(t, d, o, firstModel(t, out), joined(d.Test))
				correction = alone - frozen
			}
			alone, onS = append(alone, accuracy[eval.OtoO]+correction), append(onS, accuracy[eval.OtoS])
			t.Logf("%s, seed %d: O→O by tables %.2f, O→S %.2f", set.name, seed, accuracy[eval.OtoO], accuracy[eval.OtoS])
		}
		of, on := eval.SpreadOf(alone), eval.SpreadOf(onS)
		t.Logf("%s: joined alone %.2f ±%.2f, on S %.2f ±%.2f", set.name, of.Mean, of.Std, on.Mean, on.Std)
		if math.Abs(of.Mean-on.Mean) > 0.5 {
			t.Errorf("%s: %.2f joined alone and %.2f on S", set.name, of.Mean, on.Mean)
		}
	}
}
