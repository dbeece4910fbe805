package mapping

import (
	"hash/maphash"
	"iter"
	"sync"

	"rivulet/infer"
)

// arrivalCache keeps rows of arrivals in memory by their ids, each with the epoch under which Redis has it. It is
// safe for concurrent use.
//
// It holds two generations of rows. Rows are added to the young one. When that has used its half of the memory it
// becomes the old one, and the old one is dropped with the rows that are in it alone. A row of the old one that is
// asked for is added to the young one again, so rows in use stay. Rows are in large pieces of memory that the garbage
// collector does not look into, and are never overwritten: a caller may keep a row that it was given.
type arrivalCache struct {
	limit int64 // bytes of one generation

	mu         sync.Mutex
	young, old *arrivalGeneration
}

// arrivalGeneration is a table of hashes with open addressing, and the records that its slots lead to.
type arrivalGeneration struct {
	slots  []arrivalSlot  // a power of two of them, at most ¾ in use
	used   int            // slots in use
	pieces []infer.Packed // records
	free   int            // in units: where the last piece is free
	size   int            // units of a piece; a record that is larger has a piece of its own
	bytes  int64          // memory of slots and pieces
}

// arrivalSlot leads to the record of a row.
type arrivalSlot struct {
	epoch int64
	hash  uint32 // its id's
	place uint32 // its piece, then, in pieceBits, its number there, which is not 0; 0: the slot is free
}

// Sizes of a generation.
const (
	slotBytes     = 16
	fewestSlots   = 16
	pieceBits     = 12
	unitBytes     = 4 * infer.PackedUnit
	largestPiece  = 1 << pieceBits // units
	smallestPiece = 1 << 6         // units
)

// hashOf returns the hash of an id. It has a seed, so that who chooses ids of arrivals cannot give many of them one slot.
func hashOf(id string) uint32 { return uint32(maphash.String(arrivalSeed, id)) }

var arrivalSeed = maphash.MakeSeed()

// newArrivalCache returns a cache of about maxBytes, 64 GiB at most: places do not go further.
func newArrivalCache(maxBytes int64) *arrivalCache {
	c := &arrivalCache{limit: min(maxBytes/2, 32<<30)}
	c.young, c.old = c.generation(), c.generation()
	return c
}

func (c *arrivalCache) generation() *arrivalGeneration {
	size := min(max(c.limit/(16*unitBytes), smallestPiece), largestPiece)
	return &arrivalGeneration{slots: make([]arrivalSlot, fewestSlots), size: int(size), bytes: fewestSlots * slotBytes}
}

// get sets rows[i] to the row of ids[i] where it is in memory, under an epoch that is not before oldest, and
// appends the positions of the other ids to absent.
func (c *arrivalCache) get(ids []string, rows []infer.Row, oldest int64, absent []int32) []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var near nearby
	for i, id := range ids {
		k := i % together
		if k == 0 {
			near.look(c.young, ids[i:min(i+together, len(ids))])
		}
		row, epoch, found := near.get(id, k)
		if !found {
			row, epoch, found = c.search(id, near.hashes[k], oldest)
		}
		if found && epoch >= oldest {
			rows[i] = row
		} else {
			absent = append(absent, int32(i))
		}
	}
	return absent
}

// search looks for an id in both generations.
func (c *arrivalCache) search(id string, hash uint32, oldest int64) (row infer.Row, epoch int64, found bool) {
	if row, epoch, found = c.young.get(id, hash); found {
		return row, epoch, true
	}
	if row, epoch, found = c.old.get(id, hash); found && epoch >= oldest {
		c.add(id, hash, row, epoch)
	}
	return row, epoch, found
}

// nearby are the first slots of some ids, and what their records say of the lengths of ids. They are read side by side,
// because the processor then fetches them from memory at the same time.
type nearby struct {
	in      *arrivalGeneration
	hashes  [together]uint32
	slots   [together]arrivalSlot
	lengths [together]uint32
}

func (n *nearby) look(in *arrivalGeneration, ids []string) {
	n.in = in
	for k, id := range ids {
		n.hashes[k] = hashOf(id)
	}
	for k := range ids {
		n.slots[k] = in.slots[in.first(n.hashes[k])]
	}
	for k := range ids {
		if slot := &n.slots[k]; slot.place != 0 {
			piece, number := in.record(slot)
			n.lengths[k] = piece.Record(number)[0]
		}
	}
}

// get returns the row of an id if it is the one in its first slot.
func (n *nearby) get(id string, k int) (row infer.Row, epoch int64, found bool) {
	slot := &n.slots[k]
	if slot.place == 0 || slot.hash != n.hashes[k] || int(n.lengths[k]) != len(id) {
		return row, 0, false
	}
	piece, number := n.in.record(slot)
	if !piece.IsOf(number, id) {
		return row, 0, false
	}
	return n.in.row(slot), slot.epoch, true
}

// epochRow is a row that is known, with its id and the epoch under which Redis has it.
type epochRow struct {
	id    string
	row   infer.Row
	epoch int64
}

// set adds copies of rows and ids. A row takes the place of the one that its id has. A nil cache takes none.
func (c *arrivalCache) set(rows iter.Seq[epochRow]) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range rows {
		c.add(r.id, hashOf(r.id), r.row, r.epoch)
	}
}

// add adds a row to the young generation. If that is full, a new one begins.
func (c *arrivalCache) add(id string, hash uint32, row infer.Row, epoch int64) {
	units := infer.PackedUnits(len(id), 2*len(row.Cols))
	if more := c.young.growth(units); more > 0 && c.young.used > 0 && c.young.bytes+more > c.limit {
		c.young, c.old = c.generation(), c.young
	}
	c.young.add(id, hash, row, epoch, units)
}

// get returns the row of an id and its epoch. The row is a part of the generation's memory, not to be written to.
func (g *arrivalGeneration) get(id string, hash uint32) (row infer.Row, epoch int64, found bool) {
	slot := &g.slots[g.find(id, hash)]
	if slot.place == 0 {
		return row, 0, false
	}
	return g.row(slot), slot.epoch, true
}

// row returns the row that a slot leads to.
func (g *arrivalGeneration) row(slot *arrivalSlot) infer.Row {
	piece, number := g.record(slot)
	cols, vals := piece.Row(number)
	return infer.Row{Known: true, Arrived: true, Cols: cols, Vals: vals}
}

// find returns the position of the slot of an id, or that of the free slot in which it would be.
func (g *arrivalGeneration) find(id string, hash uint32) uint32 {
	at := g.first(hash)
	for ; g.slots[at].place != 0; at = g.next(at) {
		if slot := &g.slots[at]; slot.hash == hash {
			piece, number := g.record(slot)
			if piece.IsOf(number, id) {
				break
			}
		}
	}
	return at
}

// record returns the piece and the number there of the record of a slot.
func (g *arrivalGeneration) record(slot *arrivalSlot) (piece *infer.Packed, number uint32) {
	return &g.pieces[slot.place>>pieceBits], slot.place & (1<<pieceBits - 1)
}

func (g *arrivalGeneration) first(hash uint32) uint32 { return hash & uint32(len(g.slots)-1) }
func (g *arrivalGeneration) next(at uint32) uint32    { return (at + 1) & uint32(len(g.slots)-1) }

// full reports whether one row more needs more slots, and crowded whether a record of so many units needs another piece.
func (g *arrivalGeneration) full() bool { return 4*(g.used+1) > 3*len(g.slots) }
func (g *arrivalGeneration) crowded(units int) bool {
	return len(g.pieces) == 0 || (g.free+units)*infer.PackedUnit > len(g.pieces[len(g.pieces)-1].Words)
}

// growth returns how many bytes of memory it takes to add a record of so many units, 0 where there is room.
func (g *arrivalGeneration) growth(units int) (bytes int64) {
	if g.full() {
		bytes += int64(len(g.slots)) * slotBytes
	}
	if g.crowded(units) {
		bytes += int64(g.piece(units)) * unitBytes
	}
	return bytes
}

// piece returns the size of a new piece, in units, for a record of so many. Its first unit is no record's, because
// no record has number 0.
func (g *arrivalGeneration) piece(units int) int { return max(g.size, 1+units) }

func (g *arrivalGeneration) add(id string, hash uint32, row infer.Row, epoch int64, units int) {
	g.bytes += g.growth(units)
	if g.full() {
		g.grow()
	}
	if g.crowded(units) {
		g.pieces = append(g.pieces, infer.Packed{Words: make([]uint32, g.piece(units)*infer.PackedUnit)})
		g.free = 1
	}
	slot := &g.slots[g.find(id, hash)]
	if slot.place == 0 {
		g.used++
	}
	*slot = arrivalSlot{epoch: epoch, hash: hash, place: uint32(len(g.pieces)-1)<<pieceBits | uint32(g.free)}
	g.free += units
	piece, number := g.record(slot)
	piece.Write(number, id, row.Cols, row.Vals)
}

// grow doubles the number of slots.
func (g *arrivalGeneration) grow() {
	before := g.slots
	g.slots = make([]arrivalSlot, 2*len(before))
	for _, slot := range before {
		if slot.place == 0 {
			continue
		}
		at := g.first(slot.hash)
		for g.slots[at].place != 0 {
			at = g.next(at)
		}
		g.slots[at] = slot
	}
}
