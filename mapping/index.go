package mapping

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// index finds rows of M by their ids: a table of hashes with open addressing, and a record for each row
// ([infer.Packed]), which has its id, columns and values one after the other. So a row that is in no cache is two reads from
// memory: its slot and its record. Beside the id and the entries it takes 19 to 30 bytes a row, and what fills a record up to a
// multiple of a unit. The garbage collector looks at none of it.
type index struct {
	slots []uint64     // upper half of the hash | number of the row; 0 is free. A power of two of them, at most ¾ in use
	rows  infer.Packed // the first unit is no record, and begins with noLength
	ids   int
}

// noLength is that of no id.
const noLength = math.MaxUint32

// newIndex copies the rows of distinct ids.
func newIndex(ids []string, rows *graph.CSR) *index {
	x := &index{slots: make([]uint64, 1<<bits.Len(uint(len(ids)+len(ids)/3))), ids: len(ids)}
	units, longest := 1, 0
	for i, id := range ids {
		units += x.units(id, rows, i)
		longest = max(longest, rows.RowLen(i))
	}
	if uint64(units) >= 1<<32 {
		panic("mapping: M takes 64 GiB or more, which an index cannot hold")
	}
	x.rows.Words = make([]uint32, units*infer.PackedUnit)
	largePages(x.slots)
	largePages(x.rows.Words)
	x.rows.Words[0] = noLength
	if rows.Val == nil {
		x.rows.Ones = slices.Repeat([]float32{1}, max(1, longest))
	}
	at := 1
	for i, id := range ids {
		hash := xxhash.Sum64String(id)
		slot := x.slot(hash)
		for x.slots[slot] != 0 {
			slot = x.after(slot)
		}
		x.slots[slot] = hash>>32<<32 | uint64(at)
		x.write(x.rows.Record(uint32(at)), id, rows, i)
		at += x.units(id, rows, i)
	}
	return x
}

// units returns the length of a record.
func (*index) units(id string, rows *graph.CSR, i int) int {
	numbers := rows.RowLen(i)
	if rows.Val != nil {
		numbers *= 2
	}
	return packedUnits(len(id), numbers)
}

// packedUnits returns the length of a record ([infer.Packed]) of an id of so many bytes, and so many columns and
// values, in units.
func packedUnits(idBytes, numbers int) int {
	words := infer.PackedHead + infer.PackedWords(idBytes) + numbers
	return (words + infer.PackedUnit - 1) / infer.PackedUnit
}

func (*index) write(record []uint32, id string, rows *graph.CSR, i int) {
	cols, vals := rows.Row(i)
	writePacked(record, id, cols, vals)
}

// writePacked writes a record ([infer.Packed]). vals is nil where M has no values.
func writePacked(record []uint32, id string, cols []int32, vals []float32) {
	record[0], record[1] = uint32(len(id)), uint32(len(cols))
	if len(id) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&record[infer.PackedHead])), len(id)), id)
	}
	if len(cols) == 0 {
		return
	}
	record = record[infer.PackedHead+infer.PackedWords(len(id)):]
	copy(unsafe.Slice((*int32)(unsafe.Pointer(&record[0])), len(cols)), cols)
	if vals != nil {
		copy(unsafe.Slice((*float32)(unsafe.Pointer(&record[len(cols)])), len(vals)), vals)
	}
}

func (x *index) slot(hash uint64) uint64  { return hash & uint64(len(x.slots)-1) }
func (x *index) after(slot uint64) uint64 { return (slot + 1) & uint64(len(x.slots)-1) }
func (x *index) len() int                 { return x.ids }

// together is how many ids go side by side through each of the three steps of a lookup. A step asks for the memory that the next
// one reads, and meanwhile other ids take their steps.
const together = 16

// looking is a group of ids on its way: their hashes, and the places of the slots that have these or are free.
type looking struct {
	hashes, places [together]uint64
}

// number sets numbers[i] to that of the row of ids[i], 0 for an unknown one. It returns how many are unknown.
func (x *index) number(ids []string, numbers []uint32) (unknown int) {
	var ways [3]looking
	groups := (len(ids) + together - 1) / together
	group := func(g int) (of *looking, from, to int) {
		return &ways[g%len(ways)], g * together, min((g+1)*together, len(ids))
	}
	for g := range groups + 2 {
		if g < groups {
			of, from, to := group(g)
			x.hash(of, ids[from:to])
		}
		if g := g - 1; g >= 0 && g < groups {
			of, from, to := group(g)
			x.probe(of, numbers[from:to])
		}
		if g := g - 2; g >= 0 {
			of, from, to := group(g)
			unknown += x.compare(of, ids[from:to], numbers[from:to])
		}
	}
	return unknown
}

// hash makes the hashes of ids and asks for their slots.
func (x *index) hash(of *looking, ids []string) {
	var units [together]uint32 // of four words, in which are two slots
	for i, id := range ids {
		of.hashes[i] = xxhash.Sum64String(id)
		units[i] = uint32(x.slot(of.hashes[i]) / 2)
	}
	graph.Prefetch(unsafe.Slice((*uint32)(unsafe.Pointer(&x.slots[0])), 2*len(x.slots)), units[:len(ids)])
}

// probe finds the slots of hashes, and asks for the records that they name, whose numbers it sets.
func (x *index) probe(of *looking, numbers []uint32) {
	for i := range numbers {
		hash := of.hashes[i]
		at := x.slot(hash)
		slot := x.slots[at]
		for slot != 0 && slot>>32 != hash>>32 {
			at = x.after(at)
			slot = x.slots[at]
		}
		of.places[i], numbers[i] = at, uint32(slot)
	}
	x.rows.Prefetch(numbers)
}

// compare sets numbers to those of the records that have the ids, and returns how many ids are unknown.
func (x *index) compare(of *looking, ids []string, numbers []uint32) (unknown int) {
	for i, id := range ids {
		if record := x.rows.Record(numbers[i]); int(record[0]) != len(id) || x.rows.ID(record) != id {
			if numbers[i] = x.follow(id, of.hashes[i], of.places[i]); numbers[i] == 0 {
				unknown++
			}
		}
	}
	return unknown
}

// follow returns the number of the row of an id with this hash, which is at this slot or behind it; 0 if it is not known.
func (x *index) follow(id string, hash, at uint64) uint32 {
	for slot := x.slots[at]; slot != 0; slot = x.slots[at] {
		if slot>>32 == hash>>32 && x.rows.ID(x.rows.Record(uint32(slot))) == id {
			return uint32(slot)
		}
		at = x.after(at)
	}
	return 0
}

// find sets rows[i] to the row of ids[i], as a lookup does: an unknown id has none, and an empty row has nil slices.
// Rows are parts of the index, not to be written to. It returns the number of unknown ids.
func (x *index) find(ids []string, rows []infer.Row) (unknown int) {
	var numbers [together]uint32
	for len(ids) > 0 {
		n := min(together, len(ids))
		unknown += x.number(ids[:n], numbers[:n])
		for i, number := range numbers[:n] {
			if rows[i] = (infer.Row{Known: number != 0}); number != 0 {
				rows[i].Cols, rows[i].Vals = x.rows.Row(number)
			}
		}
		ids, rows = ids[n:], rows[n:]
	}
	return unknown
}
