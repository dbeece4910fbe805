package mapping

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"rivulet/artifact"
)

// HashName is the function from an id to its page: the leading bits of XXH64 with seed 0 of the id's bytes. A reader
// must refuse a table that was written with another function.
const HashName = "xxh64"

// Layout says into how many parts the rows of an M are cut. Both numbers are powers of two. The leading bits of an id's
// hash are the number of its page among all pages, and the leading bits of the page's number are the number of its
// bucket.
type Layout struct {
	Buckets int // ≥ 1
	Pages   int // per bucket, ≥ 1
}

const (
	// rowsPerPage is the largest mean number of rows of a page. Looking up one row reads its whole page, and readers keep
	// four bytes for each page.
	rowsPerPage = 8
	// bytesPerBucket is the largest mean size of a bucket, of up to mostBuckets. A bucket is written by one command, and
	// lost as a whole. Larger ones would need fewer keys, but even the keys of millions of rows fit into a processor's
	// second cache.
	bytesPerBucket = 32 << 10
	mostBuckets    = 1 << 20
	// leastBuckets is their number at least if each has leastPages or more, so that small tables, too, are spread
	// over a cluster.
	leastBuckets = 16
	leastPages   = 8
)

// LayoutOf returns the layout of the rows of m.
func LayoutOf(m *artifact.Mapping) Layout {
	bytes := int64(0)
	for _, id := range m.IDs {
		bytes += int64(len(id))
	}
	return layoutOf(len(m.IDs), bytes, m.Rows.NNZ())
}

// layoutOf returns the layout of so many rows, with so many bytes of ids and entries in all.
func layoutOf(rows int, idBytes int64, entries int) Layout {
	pages := maxPages(rows)
	bytes := idBytes + int64(rowHeadBytes*rows) + int64(entries*(minEntryBytes+1))
	buckets := powerOfTwo(int((bytes + bytesPerBucket - 1) / bytesPerBucket))
	buckets = min(pages, mostBuckets, max(buckets, min(leastBuckets, pages/leastPages)))
	return Layout{Buckets: buckets, Pages: pages / buckets}
}

// rowHeadBytes is roughly a row's size in a bucket beside its id and entries: the lengths of both, and the number of
// entries.
const rowHeadBytes = 3

// maxPages returns the number of pages of n rows.
func maxPages(n int) int { return powerOfTwo((n + rowsPerPage - 1) / rowsPerPage) }

// powerOfTwo returns the smallest power of two that is n or more.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(1, n)-1)) }

// Check returns an error if a table of n rows cannot have this layout.
func (l Layout) Check(n int) error {
	most := maxPages(n)
	for _, part := range []struct {
		name   string
		number int
	}{{"buckets", l.Buckets}, {"pages", l.Pages}} {
		if part.number < 1 || part.number > most || part.number != powerOfTwo(part.number) {
			return fmt.Errorf("%s is %d for %d rows, want a power of two of up to %d", part.name, part.number, n, most)
		}
	}
	if l.Buckets > most/l.Pages {
		return fmt.Errorf("%d buckets of %d pages for %d rows, want up to %d pages in all", l.Buckets, l.Pages, n, most)
	}
	return nil
}

// page returns the number of an id's page among all pages.
func (l Layout) page(id string) uint32 { return l.pageAt(xxhash.Sum64String(id)) }

// pageAt returns the number of the page of a hash.
func (l Layout) pageAt(hash uint64) uint32 {
	return uint32(hash >> (64 - bits.Len(uint(l.Buckets*l.Pages-1)))) // a shift by 64 gives 0
}

// bucket returns the number of an id's bucket.
func (l Layout) bucket(id string) int { return l.bucketOf(l.page(id)) }

// bucketOf returns the number of the bucket of a page.
func (l Layout) bucketOf(page uint32) int { return int(page) / l.Pages }

// Position is the position of an id in a call, and the number of the bucket, or page, in which its row is.
type Position struct {
	Part uint32
	At   int32
}

// SortByPart returns the positions of ids, sorted by the parts that they are in.
func SortByPart(ids []string, part func(id string) uint32) []Position {
	keys := make([]uint64, len(ids)) // part, position: numbers are sorted much faster than structs are
	for i, id := range ids {
		keys[i] = uint64(part(id))<<32 | uint64(i)
	}
	slices.Sort(keys)
	order := make([]Position, len(ids))
	for i, key := range keys {
		order[i] = Position{uint32(key >> 32), int32(key)}
	}
	return order
}

// SamePart returns how many entries at the beginning of a sorted list are in one part.
func SamePart(order []Position) int {
	n := 1
	for n < len(order) && order[n].Part == order[0].Part {
		n++
	}
	return n
}

// CutText returns the parts of a text that end at these places. They share its memory, so nobody may change it any
// more.
func CutText(text []byte, ends []int) []string {
	all, begin := unsafe.String(unsafe.SliceData(text), len(text)), 0
	parts := make([]string, len(ends))
	for k, end := range ends {
		parts[k], begin = all[begin:end], end
	}
	return parts
}
