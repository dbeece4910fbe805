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

// together is how many ids are looked up side by side: the processor fetches their slots from memory at the same
// time, and then their records.
const together = 16

// number sets numbers[i] to that of the row of ids[i], 0 for an unknown one. It returns how many are unknown.
func (x *index) number(ids []string, numbers []uint32) (unknown int) {
	var hashes, slots, places [together]uint64
	var lengths [together]uint32
	for len(ids) > 0 {
		n := min(together, len(ids))
		for i, id := range ids[:n] {
			hashes[i] = xxhash.Sum64String(id)
		}
		for i, hash := range hashes[:n] {
			slots[i] = x.slots[x.slot(hash)]
		}
		for i, hash := range hashes[:n] { // the slots are in the first cache now
			at := x.slot(hash)
			for slots[i] != 0 && slots[i]>>32 != hash>>32 {
				at = x.after(at)
				slots[i] = x.slots[at]
			}
			places[i] = at
		}
		for i, slot := range slots[:n] {
			lengths[i] = x.rows.Record(uint32(slot))[0]
		}
		for i, id := range ids[:n] {
			number := uint32(slots[i])
			if int(lengths[i]) != len(id) || x.rows.ID(x.rows.Record(number)) != id {
				if number = x.follow(id, hashes[i], places[i]); number == 0 {
					unknown++
				}
			}
			numbers[i] = number
		}
		ids, numbers = ids[n:], numbers[n:]
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
