package consumer

import (
	"hash/maphash"
	"math/bits"
)

// places finds ids in a list of distinct ids: a table of hashes with open addressing. A map from string to int32 does
// the same and takes twice as long (BenchmarkGather).
type places struct {
	slots []int32 // position in the list + 1; 0 is free. A power of two of them, at most half in use
}

// placesSeed decides the order of slots, which nothing depends on.
var placesSeed = maphash.MakeSeed()

// clear empties the table, for a list of at most n ids.
func (p *places) clear(n int) {
	p.slots = zeroed(p.slots, 1<<bits.Len(uint(2*n)))
}

// find returns the position of id in ids, −1 where it is not there, and the slot that it has, or may take.
func (p *places) find(ids []string, id string) (position int32, slot uint64) {
	mask := uint64(len(p.slots) - 1)
	for slot = maphash.String(placesSeed, id) & mask; ; slot = (slot + 1) & mask {
		k := p.slots[slot] - 1
		if k < 0 || ids[k] == id {
			return k, slot
		}
	}
}
