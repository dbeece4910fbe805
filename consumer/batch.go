package consumer

import (
	"slices"
	"unsafe"

	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
)

// batch is one micro-batch on its way down the path. Each stage fills one part from the parts before it, which it
// does not change. The memory of a part is used again by the next batch; no part holds the version, which may be let
// go of in between. A slice with an entry for each arrival has them in the order of decoded.arrivals.
type batch struct {
	decoded    decodedBatch    // decode.go: the arrivals, and why other records are none
	neighbours neighbours      // lookup.go: the rows of their neighbours, and which of those are earlier arrivals
	noted      attachmentNotes // notes.go: rows that a consumer which reads the records again uses, too
	attachment attachment      // attach.go: what the model sees, what became of the neighbours, and what is degraded
	predicted  predictionSet   // predictions.go: what is published, and what is no number
	growth     newRows         // grow.go: the rows that the arrivals get
	refused    refusals        // refused.go: what was not published
}

// leaves returns what the batch leaves behind.
func (b *batch) leaves() event.Batch {
	return event.Batch{Predictions: b.predicted.predictions, Answered: b.predicted.answered,
		DeadLetters: append(slices.Clip(b.decoded.deadLetters), b.predicted.deadLetters...)}
}

// maxKept is how much memory, in bytes, a batch leaves to the next one. It is above what usual batches take, and low
// enough that a few batches of the largest records do not cost their memory for ever.
const maxKept = 32 << 20

// shed waits until the rows are solved, and lets go of the records, and of all memory if that is unusually much.
// Nothing of the batch is used afterwards.
func (b *batch) shed() {
	b.growth.solving.Wait()
	if b.footprint() > maxKept {
		*b = batch{}
		return
	}
	clear(b.decoded.deadLetters[:cap(b.decoded.deadLetters)])
	clear(b.predicted.deadLetters[:cap(b.predicted.deadLetters)])
	// Ids may be parts of records ([form.Reader.InPlace]).
	for i := range b.decoded.slots {
		s := &b.decoded.slots[i]
		s.record, s.arrival.ID, s.arrival.Key = nil, "", nil
		clear(s.arrival.Edges)
	}
	clear(b.decoded.fetched.ids)
	b.neighbours.shed()
	clear(b.attachment.standing)
	predictions := b.predicted.predictions[:cap(b.predicted.predictions)] // also those that were withdrawn
	for i := range predictions {
		predictions[i].ID, predictions[i].Key = "", nil
	}
	clear(b.predicted.answered)
	clear(b.predicted.reasons.wire)
	clear(b.growth.arrived[:cap(b.growth.arrived)])
}

// footprint returns about how much memory the batch keeps, in bytes, the text of ids included.
func (b *batch) footprint() int {
	const text, row = int(unsafe.Sizeof("")), int(unsafe.Sizeof(attach.Row{}))
	sum := b.decoded.bytes + b.decoded.fetched.footprint()
	slots := b.decoded.slots[:cap(b.decoded.slots)]
	for i := range slots {
		a := &slots[i].arrival
		sum += text*cap(a.Edges) + 4*cap(a.Features.Indices) + 4*cap(a.Features.Values)
	}
	n, m := &b.neighbours, &b.neighbours.earlier
	sum += text*cap(n.ids) + n.place.Bytes() + 4*(cap(n.at)+cap(n.numbers)+cap(n.ends)) +
		row*(cap(n.original)+cap(n.edgeRows)+cap(m.found)+cap(m.rows)) +
		text*cap(m.asked)
	a := &b.attachment
	sum += 8*cap(a.pairs) + 4*(cap(a.dense.Data)+cap(a.adj.ColIdx)+cap(a.sparse.ColIdx)+cap(a.sparse.Val))
	r := &b.predicted.reasons
	sum += int(unsafe.Sizeof(explain.Reason{}))*cap(r.found) + int(unsafe.Sizeof(event.Reason{}))*cap(r.wire)
	return sum + a.attacher.Bytes() + a.memory.Bytes()
}

// sized returns s with length n. Its elements are those that the memory held before.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// zeroed returns s with length n and zero elements.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}
