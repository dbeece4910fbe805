package eval

import (
	"cmp"
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/target"
)

// Labels are the scores of predictions of several labels, in percent. A node is said to have a label of a probability
// of one half or more.
type Labels struct {
	// MicroF1 is 2·right/(predicted + true), with the labels of all nodes counted together.
	MicroF1 Spread `json:"micro_f1"`
	// MacroF1 is the mean of the F1 of the labels, without labels that are neither predicted nor true.
	MacroF1 Spread `json:"macro_f1"`
	// MAP is the mean over the labels of their average precision, without labels that no node has: nodes are ranked by
	// the label's logit, and the precisions at the ranks of the nodes that have it are averaged.
	MAP Spread `json:"map"`
}

// Labels scores an answer by its logits, which a temperature does not change: they are at least 0 where the probability
// is one half.
func (a *Answer) Labels(s *Set) *Labels {
	truth, logits := graph.Stack(s.Targets...), graph.Stack(a.Logits...)
	confusion, precision, present := make([]target.F1, truth.Cols), 0.0, 0
	var all target.F1
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
	out := &Labels{MicroF1: Spread{Mean: 100 * all.Ratio()}}
	said := 0
	for _, of := range confusion {
		if of.Predicted+of.True > 0 {
			said++
			out.MacroF1.Mean += 100 * of.Ratio()
		}
	}
	out.MacroF1.Mean /= float64(max(1, said))
	out.MAP.Mean = 100 * precision / float64(max(1, present))
	return out
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

// LabelReliability sorts the probabilities of all labels (a batch each) into bins. Confidence of a bin is the mean
// probability of its labels, accuracy the share of them that is true.
func LabelReliability(probabilities, truth []*graph.Dense) []Bin {
	bins := newBins()
	for b, p := range probabilities {
		for i := range p.Rows {
			for k, v := range p.Row(i) {
				bins.count(v, truth[b].Row(i)[k] != 0)
			}
		}
	}
	return bins.means()
}

// labelReference returns the figures of an answer with which a consumer compares its stream: the share of each label
// among all that are said.
func (a *Answer) labelReference(shares []float64) (confidence float64) {
	said, n := 0.0, 0.0
	for _, p := range a.Probabilities {
		for i := range p.Rows {
			n++
			confidence += float64(target.Labels.Confidence(p.Row(i)))
			for k, v := range p.Row(i) {
				if target.Has(v) {
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

// spreads are the scores in the order of tables.
func (l *Labels) spreads() []*Spread { return []*Spread{&l.MicroF1, &l.MacroF1, &l.MAP} }

// bothLabels writes a score of graph and of node batches.
func bothLabels(l *line, of func(l *Labels) Spread) string {
	return fmt.Sprintf("%.1f/%.1f", of(l.graph.Labels).Mean, of(l.node.Labels).Mean)
}
