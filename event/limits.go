package event

import (
	"cmp"
	"fmt"
	"slices"
)

// Limits bound a record; a record beyond them is a dead letter. A trainer calls the same checks, so that nodes which no
// consumer would predict are found before training (internal/preflight).
type Limits struct {
	// Edges is the longest edge list, before repeated ids are merged; 0 means no limit.
	Edges int
	// RecordBytes is the largest record, key and value together; 0 means no limit.
	RecordBytes int
	// IDBytes is the longest id, of the arrival or a neighbour; 0 leaves only the limit that a prediction's key and id
	// have.
	IDBytes int
}

// MaxNames is the largest size of an arrival's key and id together. A prediction repeats both, and JSON takes six
// bytes for a control character: longer ones might not fit into a record of the predictions.
const MaxNames = 128 << 10

// CheckRecord refuses a record whose key and value are too large.
func (l Limits) CheckRecord(bytes int) *FieldError {
	if l.RecordBytes == 0 || bytes <= l.RecordBytes {
		return nil
	}
	return &FieldError{Reason: ReasonTooLarge,
		Detail: fmt.Sprintf("key and value have %d bytes, limits.record_bytes is %d", bytes, l.RecordBytes)}
}

// CheckArrival refuses an arrival with too many edges, or with ids that are too long. key is the length of its record's
// key. Ids are sent to Redis and kept there.
func (l Limits) CheckArrival(a *Arrival, key int) *FieldError {
	if err := a.CheckEdges(l.Edges); err != nil {
		return FaultOf(err)
	}
	if key+len(a.ID) > MaxNames {
		return &FieldError{Reason: ReasonTooLarge, Field: "id",
			Detail: fmt.Sprintf("it has %d bytes and the key %d, and a prediction repeats both: together they must be at "+
				"most %d",
				len(a.ID), key, MaxNames)}
	}
	if l.IDBytes == 0 {
		return nil
	}
	field, id := "id", a.ID
	if len(id) <= l.IDBytes {
		k := slices.IndexFunc(a.Edges, func(edge string) bool { return len(edge) > l.IDBytes })
		if k < 0 {
			return nil
		}
		field, id = fmt.Sprintf("edges[%d]", k), a.Edges[k]
	}
	return &FieldError{Reason: ReasonTooLarge, Field: field,
		Detail: fmt.Sprintf("the id has %d bytes, limits.id_bytes is %d", len(id), l.IDBytes)}
}

// CheckEdge refuses an edge of its own with an id that is too long.
func (l Limits) CheckEdge(e *Edge) *FieldError {
	longest := cmp.Or(l.IDBytes, MaxNames)
	for _, end := range []struct{ field, id string }{{"source", e.Source}, {"target", e.Target}} {
		if len(end.id) > longest {
			return &FieldError{Reason: ReasonTooLarge, Field: end.field,
				Detail: fmt.Sprintf("the id has %d bytes, limits.id_bytes is %d", len(end.id), longest)}
		}
	}
	return nil
}
