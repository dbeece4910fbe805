package mapping

import (
	"math/bits"
	"runtime"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/graph"
)

// Footprint is the memory in bytes that M takes in each consumer and in Redis.
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
	runtime.GC() // finalisers of the first run have freed memory
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Stored returns the bytes that the rows of m take in Redis, keys and the overhead of its allocator included.
// It counts as Redis 7 does: a bucket is one string in an allocation of its own.
func (Footprint) Stored(m *artifact.Mapping) int64 {
	table := Table{Layout: LayoutOf(m)}
	buckets := make([]int, table.Buckets)
	for i, id := range m.IDs {
		row := RowLength(RowOf(m, i))
		buckets[table.bucket(id)] += uvarintLength(uint64(len(id))) + len(id) + uvarintLength(uint64(row)) + row
	}
	total := int64(8) << bits.Len(uint(max(0, table.Buckets-1))) // the table of keys has a power of two of places
	for b, bytes := range buckets {
		key := len(table.Key(b)) + keyPrefixBytes
		total += allocated(bytes+tableBytes(table.Pages)+sealBytes*table.Pages+longStringOverhead) +
			allocated(key+stringOverhead) +
			allocated(entryBytes) + allocated(objectBytes)
	}
	return total
}

// Sizes of Redis 7, in bytes.
const (
	stringOverhead     = 4  // a short string's header and its final zero
	longStringOverhead = 10 // of a string of 64 KiB, and bytes behind it in a client's command
	entryBytes         = 24 // a key's entry in the table of keys
	objectBytes        = 16 // the object of its value
	keyPrefixBytes     = 40 // "{prefix}:VERSION:rows:" before a bucket's number, in round figures
)

// allocated returns the bytes that jemalloc takes for an allocation of n: the next multiple of 16 up to 128,
// above the next of four steps between powers of two.
func allocated(n int) int64 {
	if n <= 128 {
		return int64((n + 15) &^ 15)
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return int64((n + step - 1) &^ (step - 1))
}
