// Package rowcache keeps rows of M, of nodes of T or of arrivals, in a bounded piece of memory.
//
//	cache.go       the cache: two generations of rows, found by a table of hashes with open addressing
//	doorkeeper.go  which ids were asked for a short while ago, by a Bloom filter
package rowcache

import (
	"iter"
	"sync"

	"rivulet/infer/attach"
	"rivulet/internal/hashtable"
)

// Cache keeps rows in memory by their ids, each with a stamp: the epoch under which Redis has the row of an
// arrival, or whether an id is in T. It is safe for concurrent use, and has no goroutine.
//
// It holds two generations of rows. Rows are added to the young one. When that has used its half of the memory it
// becomes the old one, and the old one is dropped with the rows that are in it alone. A row of the old one that is
// asked for is added to the young one again, so rows in use stay. Rows are in large pieces of memory that the garbage
// collector does not look into, and are never overwritten: a caller may keep a row that it was given.
type Cache struct {
	limit int64                        // bytes of one generation
	head  func(stamp int64) attach.Row // makes a row, without entries, from its stamp

	mu         sync.RWMutex
	young, old *generation
	renewed    int         // rows of the old generation that are in the young one, too
	door       *doorkeeper // nil: the cache takes every row
}

// generation is a table of hashes, and the records that its slots lead to. A slot's value is the row's stamp, and its
// place is a piece and, in pieceBits, a number there, which is not 0.
type generation struct {
	hashtable.Table[int64]                     // at most ¾ of the slots are in use
	used                   int                 // slots in use
	pieces                 []attach.PackedRows // records
	free                   int                 // in units: where the last piece is free
	size                   int                 // units of a piece; a record that is larger has a piece of its own
	bytes                  int64               // memory of slots and pieces
}

type slot = hashtable.Slot[int64]

// Sizes of a generation.
const (
	slotBytes     = 16
	fewestSlots   = 16
	pieceBits     = 12
	unitBytes     = 4 * attach.PackedUnit
	largestPiece  = 1 << pieceBits // units
	smallestPiece = 1 << 6         // units
)

// together is the number of ids that are looked up side by side: the memory of all is asked for before the first is
// read.
const together = 16

// New returns a cache of about maxBytes, 64 GiB at most: places do not go further.
func New(maxBytes int64, head func(stamp int64) attach.Row) *Cache {
	c := &Cache{limit: min(maxBytes/2, 32<<30), head: head}
	c.young, c.old = c.newGeneration(0), c.newGeneration(0)
	return c
}

// NewSelective is [New] of a cache that admits an id, once it is full, when the id comes for the second time: countless
// ids that come once do not push out the rows in use.
func NewSelective(maxBytes int64, head func(stamp int64) attach.Row) *Cache {
	door := newDoorkeeper(maxBytes)
	c := New(maxBytes-door.bytes(), head)
	c.door = door
	return c
}

// newGeneration returns an empty one with slots for so many rows.
func (c *Cache) newGeneration(rows int) *generation {
	slots := fewestSlots
	for 4*rows > 3*slots {
		slots *= 2
	}
	size := min(max(c.limit/(16*unitBytes), smallestPiece), largestPiece)
	g := &generation{size: int(size), bytes: int64(slots) * slotBytes}
	g.Reset(slots)
	return g
}

// Get sets rows[i] to the row of ids[i] where it is in memory, with a stamp that is not below oldest, and returns the
// positions of the other ids. A nil cache has no row.
func (c *Cache) Get(ids []string, rows []attach.Row, oldest int64) (absent []int32) {
	if c == nil {
		absent = make([]int32, len(ids))
		for i := range absent {
			absent[i] = int32(i)
		}
		return absent
	}
	absent, aged := c.read(ids, rows, oldest)
	if len(aged) > 0 {
		c.renew(ids, aged)
	}
	return absent
}

// read is Get without the renewal: aged are the positions of rows that it found in the old generation.
func (c *Cache) read(ids []string, rows []attach.Row, oldest int64) (absent, aged []int32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var hashes [together]uint32
	young, old := nearby{in: c.young}, nearby{in: c.old}
	for i, id := range ids {
		k := i % together
		if k == 0 {
			group := ids[i:min(i+together, len(ids))]
			for j, id := range group {
				hashes[j] = hashtable.Hash(id)
			}
			young.look(hashes[:len(group)])
			old.look(hashes[:len(group)])
		}
		in, at := c.young, young.find(id, hashes[k], k)
		if at == nil {
			if in, at = c.old, old.find(id, hashes[k], k); at != nil && at.Value >= oldest {
				aged = append(aged, int32(i))
			}
		}
		if at == nil || at.Value < oldest {
			if absent == nil {
				absent = make([]int32, 0, len(ids)-i)
			}
			absent = append(absent, int32(i))
			continue
		}
		rows[i] = c.head(at.Value)
		rows[i].Cols, rows[i].Vals = in.row(at)
	}
	return absent, aged
}

// renew adds rows of the old generation to the young one, unless another call has added a row with the same id
// meanwhile.
func (c *Cache) renew(ids []string, aged []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range aged {
		hash := hashtable.Hash(ids[i])
		if at := c.old.get(ids[i], hash); at != nil && c.young.get(ids[i], hash) == nil {
			cols, vals := c.old.row(at)
			c.renewed++
			c.add(ids[i], hash, attach.Row{Cols: cols, Vals: vals}, at.Value)
		}
	}
}

// nearby are the first slots of some ids, and the lengths of ids in their records. They are read side by side, because
// the processor then fetches them from memory at the same time.
type nearby struct {
	in      *generation
	slots   [together]slot
	lengths [together]uint32
}

// look reads the first slots of ids with these hashes.
func (n *nearby) look(hashes []uint32) {
	for k, hash := range hashes {
		n.slots[k] = n.in.Slots[n.in.First(hash)]
	}
	for k := range hashes {
		if at := &n.slots[k]; at.Place != 0 {
			piece, number := n.in.record(at)
			n.lengths[k] = piece.Record(number)[0]
		}
	}
}

// find returns the slot of an id, the k-th of the ids whose first slots were read; nil if it has none.
func (n *nearby) find(id string, hash uint32, k int) *slot {
	at := &n.slots[k]
	if at.Place == 0 {
		return nil
	}
	if at.Hash == hash && int(n.lengths[k]) == len(id) {
		if piece, number := n.in.record(at); piece.IsOf(number, id) {
			return at
		}
	}
	return n.in.get(id, hash)
}

// Row is a row with its id and stamp.
type Row struct {
	ID    string
	Row   attach.Row
	Stamp int64
}

// Set adds copies of rows and ids. A row takes the place of the one that its id has. A cache with a doorkeeper that
// was full once adds a row only if its id was set a short while before. A nil cache adds none.
func (c *Cache) Set(rows iter.Seq[Row]) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range rows {
		if hash := hashtable.Hash(r.ID); c.door == nil || c.old.used == 0 || c.door.knows(hash) {
			c.add(r.ID, hash, r.Row, r.Stamp)
		}
	}
}

// add adds a row to the young generation. If that is full, a new one begins.
func (c *Cache) add(id string, hash uint32, row attach.Row, stamp int64) {
	units := attach.PackedUnits(len(id), 2*len(row.Cols))
	if more := c.young.growth(units); more > 0 && c.young.used > 0 && c.young.bytes+more > c.limit {
		c.young, c.old, c.renewed = c.newGeneration(c.young.used), c.young, 0
	}
	c.young.add(id, hash, row, stamp, units)
}

// Clear drops all rows. A nil cache has none.
func (c *Cache) Clear() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.renewed = c.newGeneration(0), c.newGeneration(0), 0
}

// Size returns how many rows are in memory, and the memory.
func (c *Cache) Size() (rows int, bytes int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.young.used + c.old.used - c.renewed, c.young.bytes + c.old.bytes + c.door.bytes()
}

// get returns the slot of an id, nil if it has none.
func (g *generation) get(id string, hash uint32) *slot {
	if at := &g.Slots[g.find(id, hash)]; at.Place != 0 {
		return at
	}
	return nil
}

// row returns the entries of the row that a slot leads to: parts of the generation's memory, not to be written to.
func (g *generation) row(at *slot) (cols []int32, vals []float32) {
	piece, number := g.record(at)
	return piece.Row(number)
}

// find returns the position of the slot of an id, or of the free slot for it.
func (g *generation) find(id string, hash uint32) uint32 {
	for at := g.First(hash); ; at = g.Next(at) {
		at = g.Seek(hash, at)
		if g.Slots[at].Place == 0 {
			return at
		}
		if piece, number := g.record(&g.Slots[at]); piece.IsOf(number, id) {
			return at
		}
	}
}

// record returns the piece and the number there of the record of a slot.
func (g *generation) record(slot *slot) (piece *attach.PackedRows, number uint32) {
	return &g.pieces[slot.Place>>pieceBits], slot.Place & (1<<pieceBits - 1)
}

// full reports whether one row more needs more slots, and crowded whether a record of so many units needs another
// piece.
func (g *generation) full() bool { return 4*(g.used+1) > 3*len(g.Slots) }
func (g *generation) crowded(units int) bool {
	return len(g.pieces) == 0 || (g.free+units)*attach.PackedUnit > len(g.pieces[len(g.pieces)-1].Words)
}

// growth returns how many bytes of memory it takes to add a record of so many units, 0 where there is room.
func (g *generation) growth(units int) (bytes int64) {
	if g.full() {
		bytes += int64(len(g.Slots)) * slotBytes
	}
	if g.crowded(units) {
		bytes += int64(g.piece(units)) * unitBytes
	}
	return bytes
}

// piece returns the size of a new piece, in units, for a record of so many. Its first unit is no record's, because
// no record has number 0.
func (g *generation) piece(units int) int { return max(g.size, 1+units) }

func (g *generation) add(id string, hash uint32, row attach.Row, stamp int64, units int) {
	g.bytes += g.growth(units)
	if g.full() {
		g.Grow()
	}
	if g.crowded(units) {
		g.pieces = append(g.pieces, attach.PackedRows{Words: make([]uint32, g.piece(units)*attach.PackedUnit)})
		g.free = 1
	}
	at := &g.Slots[g.find(id, hash)]
	if at.Place == 0 {
		g.used++
	}
	*at = slot{Value: stamp, Hash: hash, Place: uint32(len(g.pieces)-1)<<pieceBits | uint32(g.free)}
	g.free += units
	piece, number := g.record(at)
	piece.Write(number, id, row.Cols, row.Vals)
}
