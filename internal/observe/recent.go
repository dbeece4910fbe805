package observe

import (
	"time"

	"rivulet/internal/monitor"
)

// Recent remembers the last values by id.
type Recent[V any] struct {
	ttl   time.Duration
	by    map[string]labelMemory[V]
	order []place // a ring of the ids in the order in which they came
	next  int
	count uint64
}

type labelMemory[V any] struct {
	value V
	since time.Time
	count uint64
}

type place struct {
	id    string
	count uint64
}

// NewRecent returns an empty memory for up to o.Remember values.
func NewRecent[V any](o monitor.LabelOptions) *Recent[V] {
	return &Recent[V]{ttl: o.TTL, by: map[string]labelMemory[V]{}, order: make([]place, 0, o.Remember)}
}

// Put remembers a value, and removes the oldest one if there is no room. lost reports that the removed value, or an
// earlier value of the same id, was still waiting.
func (r *Recent[V]) Put(id string, v V, now time.Time) (lost bool) {
	_, lost = r.by[id]
	r.count++
	at := place{id, r.count}
	if len(r.order) < cap(r.order) {
		r.order = append(r.order, at)
	} else {
		old := r.order[r.next]
		if r.by[old.id].count == old.count {
			delete(r.by, old.id)
			lost = true
		}
		r.order[r.next] = at
		r.next = (r.next + 1) % len(r.order)
	}
	r.by[id] = labelMemory[V]{v, now, r.count}
	return lost
}

// Has reports whether a value of an id waits.
func (r *Recent[V]) Has(id string, now time.Time) bool {
	got, ok := r.by[id]
	return ok && now.Sub(got.since) <= r.ttl
}

// Take returns the value of an id, unless it has waited for too long, and removes it.
func (r *Recent[V]) Take(id string, now time.Time) (V, bool) {
	got, ok := r.by[id]
	delete(r.by, id)
	return got.value, ok && now.Sub(got.since) <= r.ttl
}
