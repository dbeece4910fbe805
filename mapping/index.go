package mapping

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"rivulet/graph"
	"rivulet/infer"
)

// index finds rows of M by their ids: a table of hashes with open addressing, and a record for each row, which has
// its id, columns and values one after the other. So a row that is in no cache is two reads from memory: its slot and
// its record. Beside the id and the entries it takes 19 to 30 bytes a row, and what fills a record up to a multiple of
// [unit]. The garbage collector looks at none of it.
type index struct {
	slots   []uint64 // upper half of the hash | unit of the record; 0 is free. A power of two of them, at most ¾ in use
	records []uint32 // the first unit is no record, and begins with noLength
	ids     int
	ones    []float32 // values of the longest row, if M has no values
}

// A record is: length of the id in bytes, number of entries, the id's bytes, the columns (int32), the values (float32,
// if M has values).
const (
	head = 2 // words before the id
	unit = 4 // words: records begin at multiples of it. Most of 16 bytes' multiples do not cross a cache line
	word = 4 // bytes
)

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
	x.records = make([]uint32, units*unit)
	largePages(x.slots)
	largePages(x.records)
	x.records[0] = noLength
	if rows.Val == nil {
		x.ones = make([]float32, longest)
		for k := range x.ones {
			x.ones[k] = 1
		}
	}
	at := 1
	for i, id := range ids {
		hash := xxhash.Sum64String(id)
		slot := x.slot(hash)
		for x.slots[slot] != 0 {
			slot = x.after(slot)
		}
		x.slots[slot] = hash>>32<<32 | uint64(at)
		x.write(x.records[at*unit:], id, rows, i)
		at += x.units(id, rows, i)
	}
	return x
}

// units returns the length of a record.
func (*index) units(id string, rows *graph.CSR, i int) int {
	words := head + (len(id)+word-1)/word + rows.RowLen(i)
	if rows.Val != nil {
		words += rows.RowLen(i)
	}
	return (words + unit - 1) / unit
}

func (*index) write(record []uint32, id string, rows *graph.CSR, i int) {
	cols, vals := rows.Row(i)
	record[0], record[1] = uint32(len(id)), uint32(len(cols))
	if len(id) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&record[head])), len(id)), id)
	}
	if len(cols) == 0 {
		return
	}
	record = record[head+(len(id)+word-1)/word:]
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

// find sets rows[i] to the row of ids[i], as a lookup does: an unknown id has none, and an empty row has nil slices.
// Rows are parts of the index, not to be written to. It returns the number of unknown ids.
func (x *index) find(ids []string, rows []infer.Row) (unknown int) {
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
			lengths[i] = x.record(slot)[0]
		}
		for i, id := range ids[:n] {
			switch record := x.record(slots[i]); {
			case int(lengths[i]) == len(id) && idOf(record) == id:
				x.row(record, &rows[i])
			case !x.follow(id, hashes[i], places[i], &rows[i]):
				unknown++
			}
		}
		ids, rows = ids[n:], rows[n:]
	}
	return unknown
}

// record returns the record of a slot, and all that is behind it.
func (x *index) record(slot uint64) []uint32 { return x.records[uint64(uint32(slot))*unit:] }

// idOf returns the id of a record.
func idOf(record []uint32) string {
	return unsafe.String((*byte)(unsafe.Pointer(&record[head])), record[0])
}

// follow sets row to that of an id with this hash, which is at this slot or behind it, and reports whether it is
// known.
func (x *index) follow(id string, hash, at uint64, row *infer.Row) bool {
	for slot := x.slots[at]; slot != 0; slot = x.slots[at] {
		if record := x.record(slot); slot>>32 == hash>>32 && idOf(record) == id {
			x.row(record, row)
			return true
		}
		at = x.after(at)
	}
	*row = infer.Row{}
	return false
}

// row reads a record.
func (x *index) row(record []uint32, row *infer.Row) {
	row.Known = true
	n := int(record[1])
	if n == 0 {
		row.Cols, row.Vals = nil, nil
		return
	}
	from := head + (int(record[0])+word-1)/word
	cols := record[from : from+n]
	row.Cols = unsafe.Slice((*int32)(unsafe.Pointer(&cols[0])), n)
	if x.ones != nil {
		row.Vals = x.ones[:n:n]
		return
	}
	vals := record[from+n : from+2*n]
	row.Vals = unsafe.Slice((*float32)(unsafe.Pointer(&vals[0])), n)
}
