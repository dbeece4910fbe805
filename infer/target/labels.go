package target

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
)

// Mark stands between the names of several labels in one text, so that no label has it in its name. Alone it says that
// a node has none of the labels.
const Mark = ";"

// labels is the task of any number of several labels. A node is said to have a label of a probability of one half or
// more.
type labels struct{}

func (labels) name() string            { return "labels" }
func (labels) outputs() string         { return "labels" }
func (labels) group() string           { return "labels" }
func (labels) truth() Truth            { return LabelSet }
func (labels) fitted() Fit             { return TemperatureEach }
func (labels) regression() bool        { return false }
func (labels) class(row []float32) int { return graph.ArgMax(row) }

// All nodes share one class, and S needs as many nodes as of a class for each label.
func (labels) groups(_, outputs int) int { return outputs }

func (labels) units(targets *graph.Dense) []float64 { return slices.Repeat([]float64{1}, targets.Cols) }

// Has reports whether a node is said to have a label of a probability.
func Has(probability float32) bool { return probability >= 0.5 }

// Probability returns the probability of a label: the sigmoid of its logit, with a temperature above 0.
func Probability(logit, temperature float32) float32 {
	return float32(1 / (1 + math.Exp(-float64(logit)/float64(temperature))))
}

// loss is Σ_i share_i·Σ_c BCE(target_ic, σ(row_ic)) with targets from 0 to 1; its gradient is share_i·(σ(row i) −
// target_i).
func (labels) loss(logits, targets *graph.Dense, share []float32) float64 {
	return sumLosses(logits, targets, share, func(row, target []float32, by float32) float64 {
		loss := 0.0
		for c, v := range row {
			z, y := float64(v), float64(target[c])
			loss += LabelEntropy(z, y)
			row[c] = by * float32(1/(1+math.Exp(-z))-y)
		}
		return loss
	})
}

// LabelEntropy is −y·log σ(z) − (1−y)·log(1 − σ(z)), the cross-entropy of a label with the logit z.
func LabelEntropy(z, y float64) float64 { return max(z, 0) - z*y + math.Log1p(math.Exp(-math.Abs(z))) }

func (labels) probabilities(dst, logits []float32, _ float32, each []float32) {
	for k, v := range logits {
		temperature := float32(1)
		if each != nil {
			temperature = each[k]
		}
		dst[k] = Probability(v, temperature)
	}
}

func (labels) decode(a *Answer, row []float32, _ []float64) {
	of, sum := a.Labels[:0], float32(0)
	if of == nil {
		of = []Label{}
	}
	for k, p := range row {
		if sum += max(p, 1-p); Has(p) {
			of = append(of, Label{k, p})
		}
	}
	slices.SortFunc(of, func(a, b Label) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.Number, b.Number))
	})
	*a = Answer{Class: -1, Confidence: sum / float32(len(row)), Listed: true, Labels: of}
}

func (labels) events(row []float32, _ int32, truth []float32, add func(probability float32, is bool)) {
	for k, p := range row {
		add(p, truth[k] != 0)
	}
}

func (labels) right(row []float32, _ int32, truth []float32) float64 {
	right := 0.0
	for k, p := range row {
		if Has(p) == (truth[k] != 0) {
			right++
		}
	}
	return right / float64(len(truth))
}

func (labels) shares(shares []float64, probabilities []*graph.Dense) (confidence float64) {
	said, n := 0.0, 0.0
	for _, p := range probabilities {
		for i := range p.Rows {
			n++
			confidence += float64(Labels.Confidence(p.Row(i)))
			for k, v := range p.Row(i) {
				if Has(v) {
					shares[k]++
					said++
				}
			}
		}
	}
	for k := range shares {
		if said == 0 { // none is said: all are as far from the stream
			shares[k] = 1 / float64(len(shares))
		} else {
			shares[k] /= said
		}
	}
	return confidence / max(1, n)
}

func (labels) metrics() []Metric {
	return []Metric{
		// 2·right/(predicted + true), with the labels of all nodes counted together.
		{Name: "micro_f1", Title: "micro F1", Long: "micro F1", Behind: "micro F1", Stored: true},
		// The mean of the F1 of the labels, without labels that are neither predicted nor true.
		{Name: "macro_f1", Column: "label_macro_f1", Title: "macro F1", Show: Together},
		// The mean over the labels of their average precision, without labels that no node has: nodes are ranked by the
		// label's logit, and the precisions at the ranks of the nodes that have it are averaged.
		{Name: "map", Title: "mAP %", Show: Together, Stored: true},
	}
}

// score judges logits, which a temperature does not change: they are at least 0 where the probability is one half.
func (t labels) score(a *Answers) []Score {
	truth, logits := graph.Stack(a.Targets...), graph.Stack(a.Logits...)
	confusion, precision, present := make([]F1, truth.Cols), 0.0, 0
	var all F1
	for k := range truth.Cols {
		for i := range truth.Rows {
			confusion[k].Count(logits.Row(i)[k] >= 0, truth.Row(i)[k] != 0)
		}
		all.Add(confusion[k])
		if confusion[k].True > 0 {
			present++
			precision += averagePrecision(logits, truth, k)
		}
	}
	said, macro := 0, 0.0
	for _, of := range confusion {
		if of.Predicted+of.True > 0 {
			said++
			macro += 100 * of.Ratio()
		}
	}
	return valued(t.metrics(), 100*all.Ratio(), macro/float64(max(1, said)), 100*precision/float64(max(1, present)))
}

// averagePrecision ranks nodes by the logits of label k, those with equal logits together.
func averagePrecision(logits, truth *graph.Dense, k int) float64 {
	order := graph.Indices(logits.Rows)
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Compare(logits.Row(int(b))[k], logits.Row(int(a))[k])
	})
	sum, right := 0.0, 0
	for at := 0; at < len(order); {
		found, end := 0, at
		for ; end < len(order) && logits.Row(int(order[end]))[k] == logits.Row(int(order[at]))[k]; end++ {
			if truth.Row(int(order[end]))[k] != 0 {
				found++
			}
		}
		right, at = right+found, end
		sum += float64(found) * float64(right) / float64(at)
	}
	return sum / float64(max(1, right))
}

func (labels) summary(s *Summary) string {
	onS, whole := s.percent("micro_f1")
	precision, precisionOfWhole := s.percent("map")
	return fmt.Sprintf("micro F1 on the test nodes: %.1f%% on %d synthetic nodes; %s, %.1f%%; mean average precision "+
		"%.1f%% and %.1f%%", onS, s.Nodes, s.Joined, whole, precision, precisionOfWhole)
}
