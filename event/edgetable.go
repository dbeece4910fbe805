package event

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

// edgeTable finds ids that are twice in a long list of edges. It is a hash table with open addressing in memory that
// is used again. A Go map that is used again takes 1.3 times as long for 33 edges and 1.7 times for 1,000, a new one
// six times (BenchmarkNormaliseEdges).
type edgeTable struct {
	// slots are the upper half of an id's hash and its place in the list, from 1 on; 0 is free. Their number is a
	// power of two, and at most half of them are in use.
	slots []uint64
}

var edgeTables = sync.Pool{New: func() any { return new(edgeTable) }}

// edgeSeed is random, so that nobody can choose ids that all have one hash.
var edgeSeed = maphash.MakeSeed()

// begin empties the table, for a list of a number of edges.
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
