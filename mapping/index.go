package mapping

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// index finds the numbers of ids: a table of hashes with open addressing, and the ids' bytes one after the
// other. It takes 19 to 30 bytes an id beside the id itself, none of which the garbage collector looks at.
type index struct {
	slots []uint64 // upper half of the hash | number + 1; 0 is free. A power of two of them, at most ¾ in use
	begin []int    // len(ids)+1: where an id begins in text
	text  []byte
}

// newIndex numbers distinct ids in their order.
func newIndex(ids []string) *index {
	x := &index{slots: make([]uint64, 1<<bits.Len(uint(len(ids)+len(ids)/3))), begin: make([]int, 1, len(ids)+1)}
	size := 0
	for _, id := range ids {
		size += len(id)
	}
	x.text = make([]byte, 0, size)
	for i, id := range ids {
		x.text = append(x.text, id...)
		x.begin = append(x.begin, len(x.text))
		hash := xxhash.Sum64String(id)
		at := x.slot(hash)
		for x.slots[at] != 0 {
			at = x.after(at)
		}
		x.slots[at] = hash>>32<<32 | uint64(i+1)
	}
	return x
}

func (x *index) slot(hash uint64) uint64  { return hash & uint64(len(x.slots)-1) }
func (x *index) after(slot uint64) uint64 { return (slot + 1) & uint64(len(x.slots)-1) }
func (x *index) len() int                 { return len(x.begin) - 1 }
func (x *index) is(number int, id string) bool {
	return string(x.text[x.begin[number]:x.begin[number+1]]) == id
}

// together is how many ids are looked up side by side: the processor fetches their slots from memory at the same
// time.
const together = 16

// find sets numbers[i] to the number of ids[i], −1 where it has none.
func (x *index) find(ids []string, numbers []int32) {
	var hashes, slots [together]uint64
	for len(ids) > 0 {
		n := min(together, len(ids))
		for i, id := range ids[:n] {
			hashes[i] = xxhash.Sum64String(id)
		}
		for i, hash := range hashes[:n] {
			slots[i] = x.slots[x.slot(hash)]
		}
		for i, id := range ids[:n] {
			numbers[i] = x.follow(id, hashes[i], slots[i])
		}
		ids, numbers = ids[n:], numbers[n:]
	}
}

// follow returns the number of an id with this hash, of which the first slot holds this.
func (x *index) follow(id string, hash, slot uint64) int32 {
	for at := x.slot(hash); slot != 0; slot = x.slots[at] {
		if slot>>32 == hash>>32 && x.is(int(uint32(slot))-1, id) {
			return int32(uint32(slot)) - 1
		}
		at = x.after(at)
	}
	return -1
}
