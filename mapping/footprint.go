package mapping

import (
	"math/bits"
	"runtime"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/graph"
)

// Footprint says how much memory M takes where it is served.
type Footprint struct{}

// Held returns the bytes of a [Memory] of m, ids included: the growth of the live heap while one is made from a
// copy. Nothing else may allocate meanwhile.
func (Footprint) Held(m *artifact.Mapping) int64 {
	before := liveHeap()
	own := &artifact.Mapping{IDs: make([]string, len(m.IDs)), Rows: &graph.CSR{Rows: m.Rows.Rows, Cols: m.Rows.Cols,
		RowPtr: slices.Clone(m.Rows.RowPtr), ColIdx: slices.Clone(m.Rows.ColIdx), Val: slices.Clone(m.Rows.Val)}}
	for i, id := range m.IDs {
		own.IDs[i] = strings.Clone(id)
	}
	memory := FromArtifact(own)
	own = nil // a consumer keeps the lookup alone
	held := liveHeap() - before
	runtime.KeepAlive(memory)
	return max(0, held)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalisers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Stored returns the bytes that the rows of m take in Redis, keys and the overhead of its allocator included.
// It counts as Redis 7 does: a bucket is one packed list of ids and rows in an allocation of its own. Buckets
// with an id or row of more than 64 bytes are hash tables, which take more than is counted here.
func (Footprint) Stored(m *artifact.Mapping) int64 {
	table := Table{Buckets: Buckets(m.IDs)}
	lists, row := make([]int, table.Buckets), []byte(nil)
	for i, id := range m.IDs {
		row = AppendRow(row[:0], RowOf(m, i))
		lists[table.bucket(id)] += packed(id) + packed(string(row))
	}
	total := int64(8) << bits.Len(uint(max(0, table.Buckets-1))) // the table of keys has a power of two of places
	for b, list := range lists {
		key := len(table.key(uint32(b))) + keyPrefixBytes
		total += allocated(list+listOverhead) + allocated(key+stringOverhead) + allocated(entryBytes) +
			allocated(objectBytes)
	}
	return total
}

// Sizes of Redis 7, in bytes.
const (
	listOverhead   = 7  // a packed list's header and end
	stringOverhead = 4  // a short string's header and its final zero
	entryBytes     = 24 // a key's entry in the table of keys
	objectBytes    = 16 // the object of its value
	keyPrefixBytes = 40 // "{prefix}:VERSION:rows:" before a bucket's number, in round figures
)

// packed returns the bytes of a string in a packed list: its header, itself and its length for the way back. A
// decimal integer is kept as a number.
func packed(s string) int {
	if n, ok := integerBytes(s); ok {
		return n + 1
	}
	size := len(s) + 1
	if len(s) > 63 {
		size = len(s) + 2
	}
	if size > 127 {
		return size + 2
	}
	return size + 1
}

// integerBytes returns the bytes that a packed list has for the decimal integer s, and whether s is one.
func integerBytes(s string) (int, bool) {
	if s == "" || len(s) > 18 || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n := uint64(0)
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	switch {
	case n < 1<<7:
		return 1, true
	case n < 1<<12:
		return 2, true
	case n < 1<<15:
		return 3, true
	case n < 1<<23:
		return 4, true
	case n < 1<<31:
		return 5, true
	}
	return 9, true
}

// allocated returns the bytes that jemalloc takes for an allocation of n: the next multiple of 16 up to 128,
// above the next of four steps between powers of two.
func allocated(n int) int64 {
	if n <= 128 {
		return int64((n + 15) &^ 15)
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return int64((n + step - 1) &^ (step - 1))
}
