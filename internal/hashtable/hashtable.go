// Package hashtable finds keys by their hashes, with open addressing.
//
// A [Table] has neither keys nor entries: a slot has the hash of a key and a place where the caller has the key, and
// the caller compares keys. So the same table serves lists of ids ([List]) and caches of packed rows, and the garbage
// collector has nothing to look at. A map of Go takes 1.3 to 2 times as long (BenchmarkList, event's
// BenchmarkNormaliseEdges).
package hashtable

import (
	"hash/maphash"
	"math/bits"
)

// Slot leads to a key.
type Slot[V any] struct {
	Value V
	Hash  uint32
	Place uint32 // where the key is; 0: the slot is free
}

// Table is a list of slots. The search for a key begins at [Table.First] and ends at a free slot, so some slots must
// be free: with half of them in use a search looks at one and a half slots that are in use, with three
// quarters at two and a half.
type Table[V any] struct{ Slots []Slot[V] }

// seed is random, so that nobody can choose keys that all have one hash.
var seed = maphash.MakeSeed()

// Hash returns the hash of a key. It differs from one process to the next.
func Hash(key string) uint32 { return uint32(maphash.String(seed, key)) }

// Reset empties a table of so many slots, which are a power of two. It uses the table's memory again.
func (t *Table[V]) Reset(slots int) {
	if cap(t.Slots) < slots {
		t.Slots = make([]Slot[V], slots)
		return
	}
	t.Slots = t.Slots[:slots]
	clear(t.Slots)
}

// First returns where the search for a hash begins.
func (t *Table[V]) First(hash uint32) uint32 { return hash & uint32(len(t.Slots)-1) }

// Next returns where a search goes on if the key in a slot is another one of the same hash.
func (t *Table[V]) Next(at uint32) uint32 { return (at + 1) & uint32(len(t.Slots)-1) }

// Seek returns the first slot, from a position on, that has the hash or is free.
func (t *Table[V]) Seek(hash, at uint32) uint32 {
	for t.Slots[at].Place != 0 && t.Slots[at].Hash != hash {
		at = t.Next(at)
	}
	return at
}

// Insert puts a slot into the first free place for its hash. The key must not be in the table.
func (t *Table[V]) Insert(s Slot[V]) {
	at := t.First(s.Hash)
	for t.Slots[at].Place != 0 {
		at = t.Next(at)
	}
	t.Slots[at] = s
}

// Grow doubles the number of slots.
func (t *Table[V]) Grow() {
	before := t.Slots
	t.Slots = make([]Slot[V], 2*len(before))
	for _, s := range before {
		if s.Place != 0 {
			t.Insert(s)
		}
	}
}

// List finds ids in a list of distinct ids.
type List struct{ table Table[struct{}] }

// slotBytes is the memory of a slot without a value.
const slotBytes = 8

// Reset empties it, for a list of at most n ids.
func (l *List) Reset(n int) { l.table.Reset(1 << bits.Len(uint(2*n))) }

// Bytes returns the memory that it takes.
func (l *List) Bytes() int { return slotBytes * cap(l.table.Slots) }

// Place returns the position of an id in the list. An id that is not there gets the position behind the last one, where
// the caller must put it.
func (l *List) Place(list []string, id string) (position int, there bool) {
	hash, t := Hash(id), &l.table
	for at := t.First(hash); ; at = t.Next(at) { // as Seek, which takes a twentieth more here
		s := t.Slots[at]
		if s.Place == 0 {
			t.Slots[at] = Slot[struct{}]{Hash: hash, Place: uint32(len(list) + 1)}
			return len(list), false
		}
		if s.Hash == hash && list[s.Place-1] == id {
			return int(s.Place - 1), true
		}
	}
}
