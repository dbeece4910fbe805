package consumer

import (
	"cmp"
	"slices"

	"rivulet/event"
	"rivulet/infer/target"
)

// appendLabels appends the labels of a row of probabilities to dst, the most probable first. It never returns nil.
func appendLabels(dst []event.Score, row []float32, names []string) []event.Score {
	if dst == nil {
		dst = []event.Score{}
	}
	for k, p := range row {
		if target.Has(p) {
			dst = append(dst, event.Score{Class: k, Name: names[k], Probability: p})
		}
	}
	slices.SortFunc(dst, func(a, b event.Score) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.Class, b.Class))
	})
	return dst
}

// appendNumbers appends predicted numbers with their intervals to dst.
func appendNumbers(dst []event.Number, row []float32, outputs []string, radius []float64) []event.Number {
	for k, v := range row {
		dst = append(dst, event.Number{Name: outputs[k], Value: v, Lower: float32(float64(v) - radius[k]),
			Upper: float32(float64(v) + radius[k])})
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
