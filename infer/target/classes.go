package target

import (
	"fmt"
	"math"

	"rivulet/graph"
)

// classes is the task whose labels are one of several classes.
type classes struct{}

func (classes) name() string                   { return "classes" }
func (classes) outputs() string                { return "classes" }
func (classes) group() string                  { return "" }
func (classes) truth() Truth                   { return OneClass }
func (classes) fitted() Fit                    { return OneTemperature }
func (classes) regression() bool               { return false }
func (classes) groups(present, _ int) int      { return present }
func (classes) units(_ *graph.Dense) []float64 { return nil }
func (classes) class(row []float32) int        { return graph.ArgMax(row) }

// loss is Σ_i share_i·CE(target_i, softmax(row i)) with rows of probabilities as targets; its gradient is
// share_i·(softmax(row i) − target_i). [ClassLoss] is the same of classes by their numbers.
func (classes) loss(logits, targets *graph.Dense, share []float32) float64 {
	return sumLosses(logits, targets, share, softLoss)
}

// softLoss is [SoftmaxLoss] with a row of probabilities in place of a class.
func softLoss(row, target []float32, by float32) float64 {
	top, expected := row[0], 0.0 // Σ_c target_c·row_c
	for c, v := range row {
		top = max(top, v)
		expected += float64(target[c]) * float64(v)
	}
	sum := exponentials(row, top)
	for c := range row {
		row[c] = by * (row[c]/sum - target[c])
	}
	return math.Log(float64(sum)) + float64(top) - expected
}

func (classes) probabilities(dst, logits []float32, temperature float32, _ []float32) {
	graph.Softmax(dst, logits, temperature)
}

func (classes) decode(a *Answer, row []float32, _ []float64) {
	best := graph.ArgMax(row)
	*a = Answer{Class: best, Confidence: row[best], Listed: true}
}

func (classes) events(row []float32, class int32, _ []float32, add func(probability float32, is bool)) {
	best := graph.ArgMax(row)
	add(row[best], best == int(class))
}

func (classes) right(row []float32, class int32, _ []float32) float64 {
	if graph.ArgMax(row) == int(class) {
		return 1
	}
	return 0
}

func (classes) shares(shares []float64, probabilities []*graph.Dense) (confidence float64) {
	n := 0.0
	for _, p := range probabilities {
		n += float64(p.Rows)
	}
	for _, p := range probabilities {
		for i := range p.Rows {
			c := graph.ArgMax(p.Row(i))
			shares[c] += 1 / n
			confidence += float64(p.Row(i)[c]) / n
		}
	}
	return max(0, confidence)
}

func (classes) metrics() []Metric {
	return []Metric{
		// The share of nodes whose class is right; 0 of no nodes.
		{Name: "accuracy", Title: "%", Long: "accuracy", Behind: "right", Stored: true},
		{Name: "macro_f1", Title: "macro F1", Show: Together},
	}
}

func (t classes) score(a *Answers) []Score {
	confusion := a.Confusion()
	right, n := 0, 0
	for c, row := range confusion {
		right += row[c]
		for _, of := range row {
			n += of
		}
	}
	return valued(t.metrics(), 100*float64(right)/float64(max(1, n)), MacroF1(confusion))
}

// Confusion counts the answers by class, C×C: row the label, column the prediction.
func (a *Answers) Confusion() [][]int {
	if len(a.Logits) == 0 {
		return nil
	}
	out := make([][]int, a.Logits[0].Cols)
	for c := range out {
		out[c] = make([]int, len(out))
	}
	at := 0
	for _, labels := range a.Labels {
		for _, y := range labels {
			out[y][a.Class[at]]++
			at++
		}
	}
	return out
}

// MacroF1 returns the mean over classes of 2·right/(predicted + true), in percent; classes that are neither predicted
// nor true are left out. 0 if there are none.
func MacroF1(confusion [][]int) float64 {
	sum, present := 0.0, 0
	for c := range confusion {
		predicted, labelled := 0, 0
		for k := range confusion {
			predicted += confusion[k][c]
			labelled += confusion[c][k]
		}
		if predicted+labelled > 0 {
			present++
			sum += 2 * float64(confusion[c][c]) / float64(predicted+labelled)
		}
	}
	return 100 * sum / float64(max(1, present))
}

func (classes) summary(s *Summary) string {
	onS, whole := s.percent("accuracy")
	return fmt.Sprintf("of the test nodes %.1f%% right on %d synthetic nodes; %s, %.1f%%; %.1f%% of the answers are the "+
		"same", onS, s.Nodes, s.Joined, whole, s.Agreement)
}
