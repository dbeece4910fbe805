package consumer

import (
	"slices"

	"rivulet/event"
)

// batch is one micro-batch on its way down the path. Each stage fills one part from the parts before it, which it
// does not change. The memory of a part is used again by the next batch; no part holds the version, which may be let
// go of in between. A slice with an entry for each arrival has them in the order of decoded.arrivals.
type batch struct {
	decoded    decoded    // decode.go: the arrivals, and why other records are none
	neighbours neighbours // lookup.go: the rows of their neighbours, and which of those are earlier arrivals
	noted      noted      // notes.go: what the arrivals are attached to, agreed on with whoever predicts them again
	attachment attachment // attach.go: what the model sees, what became of the neighbours, and what is degraded
	predicted  predicted  // predictions.go: what is published, and what is no number
	growth     growth     // grow.go: the rows that the arrivals get
}

// leaves returns what the batch leaves behind.
func (b *batch) leaves() event.Batch {
	return event.Batch{Predictions: b.predicted.predictions,
		DeadLetters: append(slices.Clip(b.decoded.deadLetters), b.predicted.deadLetters...)}
}

// sized returns s with length n. Its elements are those that the memory held before.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// zeroed returns s with length n and zero elements.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}
