package event

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

// edgeTable tells whether an id was met in a list of edges: a table of hashes with open addressing, in memory that is used again. A
// map takes six times as long, most of it to grow (BenchmarkNormaliseEdges).
type edgeTable struct {
	slots []uint64 // upper half of the hash | place in the list, from 1 on; 0 is free. A power of two of them, at most half in use
}

var edgeTables = sync.Pool{New: func() any { return new(edgeTable) }}

// edgeSeed keeps who writes ids from choosing some of one hash.
var edgeSeed = maphash.MakeSeed()

// begin empties the table, for a list of so many.
func (t *edgeTable) begin(edges int) {
	size := 1 << bits.Len(uint(2*edges-1))
	if cap(t.slots) < size {
		t.slots = make([]uint64, size)
		return
	}
	t.slots = t.slots[:size]
	clear(t.slots)
}

// add reports whether id is not in the list, and notes that it comes next there.
func (t *edgeTable) add(list []string, id string) bool {
	hash, last := maphash.String(edgeSeed, id), uint64(len(t.slots)-1)
	at := hash & last
	for ; t.slots[at] != 0; at = (at + 1) & last {
		if slot := t.slots[at]; slot>>32 == hash>>32 && list[uint32(slot)-1] == id {
			return false
		}
	}
	t.slots[at] = hash>>32<<32 | uint64(len(list)+1)
	return true
}
