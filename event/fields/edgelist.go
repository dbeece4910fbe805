package fields

import (
	"cmp"
	"sync"

	"rivulet/event"
)

// MaxScratch bounds the memory, in bytes, that a decoder keeps between records, so that one huge record does
// not cost memory for ever.
const MaxScratch = 1 << 20

// EdgeIDs gathers the edge ids of one record as parts of one string.
type EdgeIDs struct {
	Field string // the list's name in errors; empty: edges
	ids   []byte
	ends  []int // edge i is ids[ends[i-1]:ends[i]]
}

var edgeLists = sync.Pool{New: func() any { return new(EdgeIDs) }}

// NewEdgeIDs returns an empty list, which the caller releases.
func NewEdgeIDs() *EdgeIDs { return edgeLists.Get().(*EdgeIDs) }

// Release gives the list back.
func (e *EdgeIDs) Release() {
	e.Field, e.ids, e.ends = "", e.ids[:0], e.ends[:0]
	if cap(e.ids) <= MaxScratch && cap(e.ends) <= MaxScratch/8 {
		edgeLists.Put(e)
	}
}

// Len is the number of ids.
func (e *EdgeIDs) Len() int { return len(e.ends) }

// Add appends an id, which must be text and not empty.
func (e *EdgeIDs) Add(id []byte) error {
	if len(id) == 0 {
		return event.Errorf(event.ReasonUnparsable, e.element(), "is empty")
	}
	if err := CheckText(id, ""); err != nil {
		return Inside(e.element(), err)
	}
	e.ids = append(e.ids, id...)
	e.ends = append(e.ends, len(e.ids))
	return nil
}

// element is the place of the next id.
func (e *EdgeIDs) element() string { return event.Element(cmp.Or(e.Field, "edges"), e.Len()) }

// AppendTo appends the ids to edges.
func (e *EdgeIDs) AppendTo(edges []string) []string {
	all, start := string(e.ids), 0
	for _, end := range e.ends {
		edges = append(edges, all[start:end])
		start = end
	}
	return edges
}
