package answer

import (
	"slices"

	"rivulet/event"
)

// ModelCount counts the predictions of one of several models that answer every arrival.
type ModelCount struct {
	Name                   string
	Predictions, Abstained int
	Agreed                 int // with the class that the first model predicts; 0 where the task is not classes
}

// Split returns a batch with the predictions of its first model alone, for observers that follow one prediction an
// arrival, and counts for each model. Where first is empty one model answers: the batch is returned as it is.
func Split(b *event.Batch, first string) (*event.Batch, []ModelCount) {
	if first == "" {
		return b, nil
	}
	own := &event.Batch{DeadLetters: b.DeadLetters, Tombstones: b.Tombstones}
	counts := []ModelCount{{Name: first}}
	for i := range b.Predictions {
		pr := &b.Predictions[i]
		if pr.Model == first {
			own.Predictions, own.Answered = append(own.Predictions, *pr), append(own.Answered, b.Answered[i])
		}
		at := slices.IndexFunc(counts, func(c ModelCount) bool { return c.Name == pr.Model })
		if at < 0 {
			at, counts = len(counts), append(counts, ModelCount{Name: pr.Model})
		}
		counts[at].Predictions++
		if pr.Abstained {
			counts[at].Abstained++
		}
		if n := len(own.Predictions); n > 0 && agree(&own.Predictions[n-1], pr) {
			counts[at].Agreed++
		}
	}
	return own, counts
}

// agree reports whether two predictions give one arrival the same class.
func agree(a, b *event.Prediction) bool {
	return a.Source == b.Source && a.Class == b.Class && b.Numbers == nil && b.Labels == nil && b.Links == nil
}
