package mapping

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Buckets and their pages as bytes, see the package's documentation. What comes before the pages is the bucket's page table.

// tableBytes returns the size of the page table of a bucket with so many pages: the number of rows, and the ends.
func tableBytes(pages int) int { return 4 + 4*pages }

// appendBucket appends bucket b of a layout to dst, with its rows id, row, id, row, … as [rowsByBucket] gives them.
func (l Layout) appendBucket(dst []byte, b int, values []any) []byte {
	begin, size := len(dst), tableBytes(l.Pages)
	ends := make([]int, l.Pages) // first the sizes of the pages
	pageOf := make([]int, len(values)/2)
	for k := range pageOf {
		id, row := values[2*k].(string), values[2*k+1].([]byte)
		pageOf[k] = int(l.page(id)) - b*l.Pages
		ends[pageOf[k]] += uvarintLength(uint64(len(id))) + len(id) + uvarintLength(uint64(len(row))) + len(row)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(pageOf)))
	next := make([]int, l.Pages) // where the next row of a page begins
	end := size
	for p := range ends {
		next[p] = end
		end += ends[p]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(end))
	}
	dst = append(dst, make([]byte, end-size)...)
	for k, p := range pageOf {
		id, row := values[2*k].(string), values[2*k+1].([]byte)
		at := begin + next[p]
		at += binary.PutUvarint(dst[at:], uint64(len(id)))
		at += copy(dst[at:], id)
		at += binary.PutUvarint(dst[at:], uint64(len(row)))
		at += copy(dst[at:], row)
		next[p] = at - begin
	}
	return dst
}

// pageTables are those of the buckets of a table that have been read so far. They may be used by several goroutines.
type pageTables struct {
	Layout
	ends []uint32      // of all pages
	rows []uint32      // of each bucket
	read []atomic.Bool // whether the table of a bucket is here
	mu   sync.Mutex    // held while one is put here
}

func newPageTables(l Layout) *pageTables {
	return &pageTables{Layout: l, ends: make([]uint32, l.Buckets*l.Pages), rows: make([]uint32, l.Buckets), read: make([]atomic.Bool, l.Buckets)}
}

// put keeps the page table at the beginning of a bucket.
func (t *pageTables) put(bucket int, data string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read[bucket].Load() {
		return nil // it is always the same
	}
	rows, err := parsePageTable(t.ends[bucket*t.Pages:(bucket+1)*t.Pages], data)
	if err == nil {
		t.rows[bucket] = rows
		t.read[bucket].Store(true)
	}
	return err
}

// page returns where a page begins and ends in its bucket, whose table is here.
func (t *pageTables) page(page uint32) (begin, end int) {
	if int(page)%t.Pages == 0 {
		return tableBytes(t.Pages), int(t.ends[page])
	}
	return int(t.ends[page-1]), int(t.ends[page])
}

// size returns the size of a bucket, whose table is here, in bytes.
func (t *pageTables) size(bucket int) int { return int(t.ends[(bucket+1)*t.Pages-1]) }

// parsePageTable reads the page table at the beginning of a bucket with as many pages as there are ends, and returns the number of its rows.
func parsePageTable(ends []uint32, data string) (rows uint32, err error) {
	size := tableBytes(len(ends))
	if len(data) < size {
		return 0, fmt.Errorf("a page table of %d bytes for %d pages, want %d", len(data), len(ends), size)
	}
	number := func(k int) uint32 {
		return uint32(data[4*k]) | uint32(data[4*k+1])<<8 | uint32(data[4*k+2])<<16 | uint32(data[4*k+3])<<24
	}
	last := uint32(size)
	for p := range ends {
		if ends[p] = number(p + 1); ends[p] < last {
			return 0, fmt.Errorf("page %d ends at byte %d, before the page before it (%d)", p, ends[p], last)
		}
		last = ends[p]
	}
	return number(0), nil
}

// errCut is part of the error about a page that ends within a row.
var errCut = errors.New("the page ends within a row")

// nextRow returns the first row of some pages, and what is behind it.
func nextRow(data []byte) (id, row, rest []byte, err error) {
	if id, data, err = nextPart(data); err != nil {
		return nil, nil, nil, err
	}
	row, rest, err = nextPart(data)
	return id, row, rest, err
}

func nextPart(data []byte) (part, rest []byte, err error) {
	length, rest, err := uvarint(data)
	if err != nil {
		return nil, nil, err
	}
	if length > uint64(len(rest)) {
		return nil, nil, errCut
	}
	return rest[:length:length], rest[length:], nil
}
