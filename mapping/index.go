package mapping

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping/offheap"
)

// index finds rows of M by their ids: buckets of hashes, and a record for each row ([attach.PackedRows]), which has its
// id, columns and values one after the other. So a row that is in no cache is two reads from memory: its bucket, which
// is a cache line, and its record; an id that is not known mostly takes the first read alone. Beside the id and the
// entries it takes some 16 bytes a row, and the padding of a record to a multiple of a unit. The garbage collector
// looks at none of it.
type index struct {
	buckets []bucket
	rows    attach.PackedRows // the first unit is no record, and begins with noLength
	ids     int
	bytes   int64 // approximate memory
}

// bucket has rows whose ids' hashes name it, or a bucket before it that was full.
type bucket struct {
	// a byte of the hash for each slot, never 0; 0: the slot is free. The last byte says that ids are behind
	tags    [2]uint64
	numbers [bucketSlots]uint32
}

const (
	bucketSlots = 12
	bucketIDs   = 8 // in the mean: 6 of 100 buckets have more than they can hold
	idsBehind   = 1 << 63
	eachByte    = 0x0101010101010101
)

// noLength is the length of no id.
const noLength = math.MaxUint32

// newIndex copies the rows of distinct ids.
func newIndex(ids []string, rows *graph.CSR) *index {
	x, err := indexOf(func(yield func(*artifact.Mapping, error) bool) {
		yield(&artifact.Mapping{IDs: ids, Rows: rows}, nil)
	})
	if err != nil {
		panic(err)
	}
	return x
}

// indexOf copies the rows of an M that comes in pieces, which are read twice: to count, and to copy. It refuses an id
// that is in two of them.
func indexOf(pieces iter.Seq2[*artifact.Mapping, error]) (*index, error) {
	c := counts{units: 1, unitsOfOnes: 1}
	for m, err := range pieces {
		if err != nil {
			return nil, err
		}
		c.add(m)
	}
	x := &index{buckets: make([]bucket, c.ids/bucketIDs+1), ids: c.ids, bytes: c.bytes}
	if !c.values {
		c.units = c.unitsOfOnes
	}
	if uint64(c.units) >= 1<<32 {
		return nil, errors.New("mapping: M takes 64 GiB or more, which an index cannot hold")
	}
	x.rows.Words = make([]uint32, c.units*attach.PackedUnit)
	offheap.LargePages(x.buckets)
	offheap.LargePages(x.rows.Words)
	x.rows.Words[0] = noLength
	ones := slices.Repeat([]float32{1}, max(1, c.longest))
	if !c.values {
		x.rows.Ones = ones
	}
	at := 1
	for m, err := range pieces {
		if err != nil {
			return nil, err
		}
		for i, id := range m.IDs {
			hash := xxhash.Sum64String(id)
			if c.pieces > 1 && x.follow(id, hash) != 0 {
				return nil, fmt.Errorf("%q %w", id, errTwice)
			}
			cols, vals := m.Rows.Row(i)
			if c.values && vals == nil {
				vals = ones[:len(cols)]
			}
			x.rows.Write(uint32(at), id, cols, vals)
			x.insert(hash, uint32(at))
			at += attach.PackedUnits(len(id), len(cols)+len(vals))
		}
	}
	return x, nil
}

// counts is the size of an M.
type counts struct {
	pieces, ids, longest int
	units, unitsOfOnes   int  // of all records, with values and without
	values               bool // whether a piece has some
	bytes                int64
}

func (c *counts) add(m *artifact.Mapping) {
	c.pieces++
	c.ids += len(m.IDs)
	c.values = c.values || m.Rows.Val != nil
	for i, id := range m.IDs {
		entries := m.Rows.RowLen(i)
		c.units += attach.PackedUnits(len(id), 2*entries)
		c.unitsOfOnes += attach.PackedUnits(len(id), entries)
		c.longest = max(c.longest, entries)
		c.bytes += memoryBytes(id, entries)
	}
}

// insert puts a row into the bucket of its hash, or the next one that is not full.
func (x *index) insert(hash uint64, number uint32) {
	for at := x.bucket(hash); ; at = x.after(at) {
		b := &x.buckets[at]
		for slot := range bucketSlots {
			if word, shift := &b.tags[slot/8], slot%8*8; *word>>shift&0xff == 0 {
				*word |= tagOf(hash) << shift
				b.numbers[slot] = number
				return
			}
		}
		b.tags[1] |= idsBehind
	}
}

// bucket returns the place of the bucket that a hash names, and tagOf the byte that stands for the hash there.
func (x *index) bucket(hash uint64) uint32 { return uint32(hash >> 32 * uint64(len(x.buckets)) >> 32) }
func tagOf(hash uint64) uint64             { return max(1, hash&0xff) }

func (x *index) after(at uint32) uint32 {
	if at++; int(at) == len(x.buckets) {
		return 0
	}
	return at
}

// slots returns the slots that may have a tag, by the highest bit of a byte each, in the words of tags. The lowest of
// them has it.
func (b *bucket) slots(tag uint64) (first, second uint64) {
	first, second = b.tags[0]^tag*eachByte, b.tags[1]^tag*eachByte
	return (first - eachByte) &^ first & (0x80 * eachByte),
		(second - eachByte) &^ second & (0x80 * eachByte) & math.MaxUint32
}

func (x *index) len() int { return x.ids }

// together is the number of ids that go side by side through each of the three steps of a lookup. A step asks for the
// memory that the next one reads, and meanwhile other ids take their steps.
const together = 16

// probeGroup is the hashes of a group of ids on its way.
type probeGroup [together]uint64

// number sets numbers[i] to the row number of ids[i], 0 for an unknown id. It returns how many are unknown.
func (x *index) number(ids []string, numbers []uint32) (unknown int) {
	var ways [3]probeGroup
	groups := (len(ids) + together - 1) / together
	group := func(g int) (of *probeGroup, from, to int) {
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

// hash makes the hashes of ids and asks for their buckets.
func (x *index) hash(of *probeGroup, ids []string) {
	var units [together]uint32
	for i, id := range ids {
		of[i] = xxhash.Sum64String(id)
		units[i] = x.bucket(of[i]) * bucketUnits
	}
	graph.Prefetch(unsafe.Slice((*uint32)(unsafe.Pointer(&x.buckets[0])),
		int(bucketUnits)*attach.PackedUnit*len(x.buckets)), units[:len(ids)])
}

// bucketUnits is the number of units ([graph.Prefetch]) that a bucket has.
const bucketUnits = uint32(unsafe.Sizeof(bucket{})) / (4 * attach.PackedUnit)

// probe sets numbers[i] to the number of the first row in the i-th hash's bucket whose tag is that hash's, or to 0 if
// there is none, and prefetches the records of these rows.
func (x *index) probe(of *probeGroup, numbers []uint32) {
	for i := range numbers {
		hash := of[i]
		b := &x.buckets[x.bucket(hash)]
		first, second := b.slots(tagOf(hash))
		switch {
		case first != 0:
			numbers[i] = b.numbers[bits.TrailingZeros64(first)/8]
		case second != 0:
			numbers[i] = b.numbers[8+bits.TrailingZeros64(second)/8]
		default:
			numbers[i] = 0
		}
	}
	x.rows.Prefetch(numbers)
}

// compare sets numbers to the numbers of the records that have the ids, and returns how many ids are unknown.
func (x *index) compare(of *probeGroup, ids []string, numbers []uint32) (unknown int) {
	for i, id := range ids {
		if numbers[i] == 0 && x.buckets[x.bucket(of[i])].tags[1]&idsBehind == 0 {
			unknown++
			continue
		}
		if !x.rows.IsOf(numbers[i], id) {
			if numbers[i] = x.follow(id, of[i]); numbers[i] == 0 {
				unknown++
			}
		}
	}
	return unknown
}

// follow returns the row number of an id with this hash, searching all buckets where it may be; 0 if it is not known.
func (x *index) follow(id string, hash uint64) uint32 {
	tag := tagOf(hash)
	for at := x.bucket(hash); ; at = x.after(at) {
		b := &x.buckets[at]
		first, second := b.slots(tag)
		for ; first != 0; first &= first - 1 {
			if number := b.numbers[bits.TrailingZeros64(first)/8]; x.rows.IsOf(number, id) {
				return number
			}
		}
		for ; second != 0; second &= second - 1 {
			if number := b.numbers[8+bits.TrailingZeros64(second)/8]; x.rows.IsOf(number, id) {
				return number
			}
		}
		if b.tags[1]&idsBehind == 0 {
			return 0
		}
	}
}

// find sets rows[i] to the row of ids[i], as a lookup does: an unknown id has none, and an empty row has nil slices.
// Rows are parts of the index, not to be written to. It returns the number of unknown ids.
func (x *index) find(ids []string, rows []attach.Row) (unknown int) {
	var numbers [together]uint32
	for len(ids) > 0 {
		n := min(together, len(ids))
		unknown += x.number(ids[:n], numbers[:n])
		for i, number := range numbers[:n] {
			if rows[i] = (attach.Row{Known: number != 0}); number != 0 {
				rows[i].Cols, rows[i].Vals = x.rows.Row(number)
			}
		}
		ids, rows = ids[n:], rows[n:]
	}
	return unknown
}
