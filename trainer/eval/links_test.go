package eval

import (
	"math"
	"testing"

	"rivulet/graph"
)

// Ranks count candidates that are no neighbours, and half of those with an equal score.
func TestRanksOfLinks(t *testing.T) {
	q := &Queries{Vectors: &graph.Dense{Rows: 6, Cols: 1, Data: []float32{6, 5, 4, 4, 2, 1}},
		Held: [][]int32{{2, 4}, nil, {0}}, Known: [][]int32{{0}, {3}, nil}}
	// Node 0: candidate 2 is behind 1 and level with 3, so its rank is 2½; candidate 4 is behind 1 and 3, so it is 3.
	// Node 2 turns the order around: candidate 0 is the last of six.
	a := &Answer{Logits: []*graph.Dense{{Rows: 2, Cols: 1, Data: []float32{1, 1}},
		{Rows: 1, Cols: 1, Data: []float32{-1}}}}
	got := a.Links(&Set{Queries: q})
	want := Links{MRR: Spread{Mean: 100 * (1/2.5 + 1./3 + 1./6) / 3}, Hits10: Spread{Mean: 100}, Hits50: Spread{Mean: 100}}
	for k, of := range got.spreads() {
		if math.Abs(of.Mean-want.spreads()[k].Mean) > 1e-9 {
			t.Errorf("%s is %v, want %v", linkScores[k][0], of.Mean, want.spreads()[k].Mean)
		}
	}
}
