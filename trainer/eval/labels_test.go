package eval

import (
	"math"
	"testing"

	"rivulet/graph"
	"rivulet/infer/target"
)

// Scores of labels by hand. Label 0 is ranked right, wrong, right: precisions 1 and 2/3. Label 1 has two nodes with one
// logit, of which one has it: they are ranked together, 1/2. No node has label 2.
func TestLabelScores(t *testing.T) {
	dense := func(rows, cols int, data ...float32) *graph.Dense {
		return &graph.Dense{Rows: rows, Cols: cols, Data: data}
	}
	s := &Set{Task: target.Labels, Labels: [][]int32{{0, 0}, {0}},
		Targets: []*graph.Dense{dense(2, 3, 1, 1, 0, 0, 0, 0), dense(1, 3, 1, 0, 0)}}
	a := &Answer{Logits: []*graph.Dense{dense(2, 3, 3, 2, -1, 1, 2, -2), dense(1, 3, -1, 1, 4)}}
	got := a.Labels(s)
	// said: label 0 of nodes 0, 1; label 1 of all three; label 2 of node 2. true: label 0 of nodes 0, 2; label 1 of node 0
	f0, f1, f2 := 2*1.0/(2+2), 2*1.0/(3+1), 0.0
	for what, of := range map[string][2]float64{
		"micro F1": {got.MicroF1.Mean, 100 * 2 * 2.0 / (6 + 3)},
		"macro F1": {got.MacroF1.Mean, 100 * (f0 + f1 + f2) / 3},
		"mAP":      {got.MAP.Mean, 100 * ((1+2.0/3)/2 + 0.5) / 2},
		"score":    {a.Score(s), 100 * 2 * 2.0 / (6 + 3)},
	} {
		if math.Abs(of[0]-of[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, of[0], of[1])
		}
	}
	bins := LabelReliability([]*graph.Dense{dense(2, 3, 1, 1, 0, 0, 0, 0), dense(1, 3, 1, 1, 0)}, s.Targets)
	if bins[0].Count != 5 || bins[0].Accuracy != 0 || bins[ReliabilityBins-1].Count != 4 ||
		bins[ReliabilityBins-1].Accuracy != 0.75 {
		t.Errorf("bins %+v", bins)
	}
}
