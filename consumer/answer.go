package consumer

import (
	"cmp"
	"slices"

	"rivulet/event"
	"rivulet/infer/target"
)

// labelsOf returns an answer's labels in the form of a prediction, in the memory of dst; nil: the task has none.
func labelsOf(dst []event.Score, a *target.Answer, names []string) []event.Score {
	if a.Labels == nil {
		return nil
	}
	if dst = dst[:0]; dst == nil {
		dst = []event.Score{} // of none of the labels
	}
	for _, l := range a.Labels {
		dst = append(dst, event.Score{Class: l.Number, Name: names[l.Number], Probability: l.Probability})
	}
	return dst
}

// numbersOf returns an answer's numbers in the form of a prediction, in the memory of dst; nil: the task has none.
func numbersOf(dst []event.Number, a *target.Answer, outputs []string) []event.Number {
	if a.Numbers == nil {
		return nil
	}
	dst = dst[:0]
	for k, n := range a.Numbers {
		dst = append(dst, event.Number{Name: outputs[k], Value: n.Value, Lower: n.Lower, Upper: n.Upper})
	}
	return dst
}

// appendTop appends the k most probable classes to dst, best first; of equal ones the lower index first, as in
// [graph.ArgMax]. order is memory for the classes.
func appendTop(dst []event.Score, order *[]int32, k int, row []float32, classes []string) []event.Score {
	if k = min(k, len(row)); k <= 0 {
		return nil
	}
	*order = (*order)[:0]
	for c := range row {
		*order = append(*order, int32(c))
	}
	slices.SortFunc(*order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b))
	})
	for _, c := range (*order)[:k] {
		dst = append(dst, event.Score{Class: int(c), Name: classes[c], Probability: row[c]})
	}
	return dst
}

// isFinite reports whether a prediction can be written.
func isFinite(pr *event.Prediction) bool {
	for _, n := range pr.Numbers {
		if !finite(n.Value) || !finite(n.Lower) || !finite(n.Upper) {
			return false
		}
	}
	if slices.ContainsFunc(pr.Links, func(l event.Link) bool { return !finite(l.Score) }) {
		return false
	}
	return finite(pr.Probability) && allFinite(pr.Logits) && allFinite(pr.Probabilities) && allFinite(pr.Representation)
}

// finite is false for NaN and for both infinities.
func finite(v float32) bool { return v-v == 0 }

func allFinite(values []float32) bool {
	for _, v := range values {
		if !finite(v) {
			return false
		}
	}
	return true
}
