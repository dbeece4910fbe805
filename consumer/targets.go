package consumer

import (
	"cmp"
	"slices"

	"rivulet/event"
	"rivulet/infer/target"
)

// otherTask returns the version if its task is another one than classes; nil otherwise.
func otherTask(v Version) Tasked {
	if t, ok := v.(Tasked); ok && t.Task() != target.Classes {
		return t
	}
	return nil
}

// answerTask gives a prediction, which was made as one of classes, the answer of another task: the row of what a
// version predicts. It uses the memory of the prediction's numbers and labels again.
func answerTask(pr *event.Prediction, row []float32, version Tasked) {
	task, names := version.Task(), version.Classes()
	pr.Class, pr.ClassName, pr.Probability = 0, "", task.Confidence(row)
	if pr.Abstained = pr.Probability < version.Threshold(); task == target.Labels {
		pr.Labels = labelsOf(pr.Labels[:0], row, names)
		return
	}
	pr.Abstained, pr.Top, pr.Probabilities = false, nil, nil
	pr.Numbers = numbersOf(pr.Numbers[:0], row, names, version.Radius())
}

// labelsOf appends the labels of a row of probabilities to dst, the most probable first. It never returns nil.
func labelsOf(dst []event.Score, row []float32, names []string) []event.Score {
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

// numbersOf appends predicted numbers with their intervals to dst.
func numbersOf(dst []event.Number, row []float32, outputs []string, radius []float64) []event.Number {
	for k, v := range row {
		dst = append(dst, event.Number{Name: outputs[k], Value: v, Lower: float32(float64(v) - radius[k]),
			Upper: float32(float64(v) + radius[k])})
	}
	return dst
}
