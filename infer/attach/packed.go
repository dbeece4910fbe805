package attach

import (
	"unsafe"

	"rivulet/graph"
)

// PackedRows is an M in memory whose rows go by number: a record for each row, in one piece of memory that the garbage
// collector does not look into. A record begins at word number·[PackedUnit], and is:
//
//	length of the node's id in bytes | number of entries | the id's bytes | columns (int32) | values (float32, if M
//	has values)
//
// so that a lookup that has found the id has the row in the processor's cache. No row has number 0.
type PackedRows struct {
	Words []uint32
	Ones  []float32 // as many as the longest row has entries, if M has no values; else nil
}

// PackedUnit is the number of words that a unit has: most records that begin at a multiple of 16 bytes do not cross a
// cache line.
const PackedUnit = graph.PrefetchUnit

const (
	packedHead = 2 // words before the id
	packedWord = 4 // bytes
)

// PackedUnits returns the length of a record, in units, with an id of so many bytes, and so many columns and values
// together.
func PackedUnits(idBytes, numbers int) int {
	return (packedHead + packedWords(idBytes) + numbers + PackedUnit - 1) / PackedUnit
}

// packedWords returns how many words an id of so many bytes takes.
func packedWords(bytes int) int { return int(uint(bytes+packedWord-1) / packedWord) }

// Write writes the record of a row, whose memory is zeros. vals is nil if M has no values.
func (p *PackedRows) Write(number uint32, id string, cols []int32, vals []float32) {
	record := p.Record(number)
	record[0], record[1] = uint32(len(id)), uint32(len(cols))
	if len(id) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&record[packedHead])), len(id)), id)
	}
	if len(cols) == 0 {
		return
	}
	record = record[packedHead+packedWords(len(id)):]
	copy(unsafe.Slice((*int32)(unsafe.Pointer(&record[0])), len(cols)), cols)
	if vals != nil {
		copy(unsafe.Slice((*float32)(unsafe.Pointer(&record[len(cols)])), len(vals)), vals)
	}
}

// Record returns the words from a row's record on.
func (p *PackedRows) Record(number uint32) []uint32 { return p.Words[uint64(number)*PackedUnit:] }

// IsOf reports whether a row belongs to the node with this id. The record of number 0 may begin with a length that no
// id has.
func (p *PackedRows) IsOf(number uint32, id string) bool {
	record := p.Record(number)
	return int(record[0]) == len(id) && unsafe.String((*byte)(unsafe.Pointer(&record[packedHead])), len(id)) == id
}

// Entries returns how many a row has.
func (p *PackedRows) Entries(number uint32) int { return int(p.Words[uint64(number)*PackedUnit+1]) }

// Row returns the columns, ascending, and the values of a row: parts of the record, not to be written to. Both are nil
// for one without entries.
func (p *PackedRows) Row(number uint32) (cols []int32, vals []float32) {
	if p.Ones != nil {
		at, n := p.entries(number, 1)
		if n == 0 {
			return nil, nil
		}
		return unsafe.Slice((*int32)(at), n), p.Ones[:n:n]
	}
	at, n := p.entries(number, 2)
	if n == 0 {
		return nil, nil
	}
	return unsafe.Slice((*int32)(at), n), unsafe.Slice((*float32)(unsafe.Add(at, packedWord*n)), n)
}

// entries returns the place of the n columns of a row, nil if it has none. If an entry has two words, a column and a
// value, the n values are behind the columns. It panics if they are not all within Words. Sums of rows read entries
// from there, because most rows are so short that making slices of them takes as long as adding them.
func (p *PackedRows) entries(number uint32, words uintptr) (at unsafe.Pointer, n uintptr) {
	record := p.Record(number)
	if n = uintptr(record[1]); n == 0 {
		return nil, 0
	}
	from := uintptr(packedHead + packedWords(int(record[0])))
	if from+words*n > uintptr(len(record)) {
		panic("infer: a row that ends behind all rows")
	}
	return unsafe.Add(unsafe.Pointer(&record[0]), packedWord*from), n
}

// entry returns the column and the value of entry k of n.
func entry(at unsafe.Pointer, k, n uintptr) (col uint32, val float32) {
	return *(*uint32)(unsafe.Add(at, packedWord*k)), *(*float32)(unsafe.Add(at, packedWord*(n+k)))
}

// Prefetch asks the processor to have rows in its caches soon, and does not wait for them: an M in memory is read at
// random, and a row's columns must be there before its sum can be taken.
func (p *PackedRows) Prefetch(numbers []uint32) { graph.Prefetch(p.Words, numbers) }

// numberedRows are rows of an M in memory, by their numbers. The numbers of arrival i's neighbours end at ends[i]. A
// neighbour with number 0 has no row.
type numberedRows struct {
	m       *PackedRows
	numbers []uint32
	ends    []int32
}

// of returns the numbers of an arrival's neighbours.
func (r *numberedRows) of(i int) []uint32 {
	begin := int32(0)
	if i > 0 {
		begin = r.ends[i-1]
	}
	return r.numbers[begin:r.ends[i]]
}

func (r *numberedRows) arrivals() int   { return len(r.ends) }
func (r *numberedRows) edges(i int) int { return len(r.of(i)) }

func (r *numberedRows) count(i int) (known int32, entries int) {
	for _, number := range r.of(i) {
		if number != 0 {
			known++
			entries += r.m.Entries(number)
		}
	}
	return known, entries
}

func (r *numberedRows) mark(i int, set columns) {
	for _, number := range r.of(i) {
		if number != 0 {
			cols, _ := r.m.Row(number)
			set.mark(cols)
		}
	}
}

func (r *numberedRows) add(i int, s *sums) {
	for _, number := range r.of(i) {
		switch {
		case number == 0:
		case r.m.Ones != nil:
			cols, vals := r.m.Row(number)
			s.set.add(cols, vals, s.vals)
		default:
			at, n := r.m.entries(number, 2)
			for k := range n {
				c, v := entry(at, k, n)
				s.set.addOne(c, v, s.vals)
			}
		}
	}
}

func (r *numberedRows) addFull(i int, sums []float32) (known int32) {
	for _, number := range r.of(i) {
		if number == 0 {
			continue
		}
		known++
		if r.m.Ones != nil {
			cols, _ := r.m.Row(number)
			for _, c := range cols {
				sums[c]++
			}
			continue
		}
		at, n := r.m.entries(number, 2)
		for k := range n {
			c, v := entry(at, k, n)
			sums[c] += v
		}
	}
	return known
}

func (r *numberedRows) prefetch(i int) { r.m.Prefetch(r.of(i)) }
