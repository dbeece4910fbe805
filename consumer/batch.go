package consumer

import (
	"slices"
	"sync"
	"unsafe"

	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
)

// batch is one micro-batch on its way down the path. Each stage fills one part from the parts before it, and leaves
// those unchanged. The next batch uses the memory of a part again. No part holds the version, so that an old version
// can be freed between batches. A slice with an entry per arrival is in the order of decoded.arrivals.
type batch struct {
	decoded    decodedBatch  // decode.go: arrivals, and why other records are none
	neighbours neighbours    // lookup.go: rows of the neighbours, and which neighbours are earlier arrivals
	attachment attachment    // attach.go: the model's input, counts of neighbours, degraded arrivals
	predicted  predictionSet // predictions.go: predictions to publish, and those that are not finite
	growth     newRows       // grow.go: the rows that the arrivals get
	refused    refusals      // refused.go: records that were dropped
}

// output returns the predictions and dead letters of the batch.
func (b *batch) output() event.Batch {
	return event.Batch{Predictions: b.predicted.predictions, Answered: b.predicted.answered,
		DeadLetters: append(slices.Clip(b.decoded.deadLetters), b.predicted.deadLetters...),
	}
}

// spares keeps the memory of batches that are committed, for the next ones.
type spares struct {
	most int // that are kept
	mu   sync.Mutex
	free []*batch
}

// take returns memory for a batch.
func (s *spares) take() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return new(batch)
	}
	b := s.free[n]
	s.free[n], s.free = nil, s.free[:n]
	return b
}

// give takes the memory of a batch back. The batch was shed.
func (s *spares) give(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < s.most {
		s.free = append(s.free, b)
	}
}

// maxKept bounds the memory, in bytes, that a batch leaves to the next one. Usual batches take less; and a few batches
// of the largest records must not hold their memory for ever.
const maxKept = 32 << 20

// shed waits until the rows are solved and drops the records; if the batch holds more than maxKept, it drops all
// memory. Nothing of the batch is used afterwards.
func (b *batch) shed() {
	b.growth.solving.Wait()
	if b.footprint() > maxKept {
		*b = batch{}
		return
	}
	clear(b.decoded.deadLetters[:cap(b.decoded.deadLetters)])
	clear(b.predicted.deadLetters[:cap(b.predicted.deadLetters)])
	for i := range b.decoded.slots { // ids may be parts of records ([read.Reader.InPlace])
		s := &b.decoded.slots[i]
		m := &s.message
		s.record, s.joined, m.ID, m.Edge, m.Arrival.ID, m.Arrival.Key = nil, nil, "", event.Edge{}, "", nil
		clear(m.Arrival.Edges)
	}
	clear(b.decoded.fetched.ids)
	clear(b.decoded.forgets)
	b.neighbours.shed()
	predictions := b.predicted.predictions[:cap(b.predicted.predictions)] // also the withdrawn ones
	for i := range predictions {
		predictions[i].ID, predictions[i].Key = "", nil
	}
	clear(b.predicted.answered)
	clear(b.predicted.output.reasons.wire)
	clear(b.growth.arrived[:cap(b.growth.arrived)])
	clear(b.growth.decided)
}

// footprint returns about how much memory the batch keeps, in bytes, the text of ids included.
func (b *batch) footprint() int {
	const text, row = int(unsafe.Sizeof("")), int(unsafe.Sizeof(attach.Row{}))
	sum := b.decoded.bytes + b.decoded.fetched.footprint()
	slots := b.decoded.slots[:cap(b.decoded.slots)]
	for i := range slots {
		a := &slots[i].message.Arrival
		sum += text*cap(a.Edges) + 4*cap(a.Features.Indices) + 4*cap(a.Features.Values)
	}
	n, m := &b.neighbours, &b.neighbours.earlier
	sum += text*cap(n.ids) + n.place.Bytes() + 4*(cap(n.at)+cap(n.numbers)+cap(n.ends)) +
		row*(cap(n.original)+cap(n.edgeRows)+cap(m.found)+cap(m.rows)) + text*cap(m.asked)
	a := &b.attachment
	sum += 8*cap(a.pairs) + 4*(cap(a.dense.Data)+cap(a.adj.ColIdx)+cap(a.sparse.ColIdx)+cap(a.sparse.Val))
	r := &b.predicted.output.reasons
	sum += int(unsafe.Sizeof(explain.Reason{}))*cap(r.found) + int(unsafe.Sizeof(event.Reason{}))*cap(r.wire)
	return sum + a.attacher.Bytes() + a.memory.Bytes()
}

// sized returns s with length n, keeping the elements that its memory held.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// zeroed returns s with length n and zero elements.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}
