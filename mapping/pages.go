package mapping

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// Buckets and their pages as bytes, see the package's documentation. A bucket begins with its page table.

// tableHead is the size of a page table before the ends of its pages: its seal, and the number of rows.
const tableHead = sealBytes + 4

// tableBytes returns the size of the page table of a bucket with so many pages.
func tableBytes(pages int) int { return tableHead + 4*pages }

// appendBucket appends bucket b of a table to dst, with its rows id, row, id, row, … as [rowsByBucket] gives them.
func (t *Table) appendBucket(dst []byte, b int, values []any) []byte {
	begin, seals := len(dst), t.seals()
	sizes := make([]int, t.Pages)
	pageOf := make([]int, len(values)/2)
	for k := range pageOf {
		id, row := values[2*k].(string), values[2*k+1].([]byte)
		pageOf[k] = int(t.page(id)) - b*t.Pages
		sizes[pageOf[k]] += uvarintLength(uint64(len(id))) + len(id) + uvarintLength(uint64(len(row))) + len(row)
	}
	dst = append(dst, make([]byte, sealBytes)...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(pageOf)))
	next := make([]int, t.Pages) // where the next row of a page begins
	end := tableBytes(t.Pages)
	for p, size := range sizes {
		next[p] = end
		if size > 0 {
			end += size + sealBytes
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(end))
	}
	binary.LittleEndian.PutUint64(dst[begin:], seals.table(b, dst[begin+sealBytes:]))
	dst = append(dst, make([]byte, end-tableBytes(t.Pages))...)
	for k, p := range pageOf {
		id, row := values[2*k].(string), values[2*k+1].([]byte)
		at := begin + next[p]
		at += binary.PutUvarint(dst[at:], uint64(len(id)))
		at += copy(dst[at:], id)
		at += binary.PutUvarint(dst[at:], uint64(len(row)))
		at += copy(dst[at:], row)
		next[p] = at - begin
	}
	for p, size := range sizes {
		if rows := dst[begin+next[p]-size : begin+next[p]]; size > 0 {
			binary.LittleEndian.PutUint64(dst[begin+next[p]:], seals.page(uint32(b*t.Pages+p), rows))
		}
	}
	return dst
}

// pageTables holds the page tables of the buckets that have been read so far. Several goroutines may use it.
type pageTables struct {
	Layout
	seals seals
	ends  []uint32      // per page, over all buckets
	rows  []uint32      // per bucket
	read  []atomic.Bool // whether the table of a bucket is here
	mu    sync.Mutex    // held while one is put here
}

func newPageTables(t *Table) *pageTables {
	return &pageTables{Layout: t.Layout, seals: t.seals(), ends: make([]uint32, t.Buckets*t.Pages),
		rows: make([]uint32, t.Buckets), read: make([]atomic.Bool, t.Buckets)}
}

// put keeps the page table at the beginning of a bucket. A table that is kept is not read again: a version's rows never
// change.
func (t *pageTables) put(bucket int, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read[bucket].Load() {
		return nil
	}
	rows, err := t.seals.parsePageTable(bucket, t.ends[bucket*t.Pages:(bucket+1)*t.Pages], data)
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

// parsePageTable reads the page table at the beginning of a bucket: where its pages end, as many as there are ends,
// and the number of its rows.
func (s seals) parsePageTable(bucket int, ends []uint32, data []byte) (rows uint32, err error) {
	size := tableBytes(len(ends))
	if len(data) < size {
		return 0, fmt.Errorf("a page table of %d bytes for %d pages, want %d", len(data), len(ends), size)
	}
	table := data[sealBytes:size]
	if sum, want := s.table(bucket, table), binary.LittleEndian.Uint64(data); sum != want {
		return 0, fmt.Errorf("a page table with the checksum %016x, its seal says %016x", sum, want)
	}
	last := uint32(size)
	for p := range ends {
		if ends[p] = binary.LittleEndian.Uint32(table[4+4*p:]); ends[p] < last {
			return 0, fmt.Errorf("page %d ends at byte %d, want %d or more", p, ends[p], last)
		}
		last = ends[p]
	}
	return binary.LittleEndian.Uint32(table), nil
}

// errCut is part of the error about a page that ends within a row.
var errCut = errors.New("the page ends within a row")

// nextRow returns the first row of some pages, and the bytes behind it.
func nextRow(data []byte) (id, row, rest []byte, err error) {
	if id, data, err = nextPart(data); err != nil {
		return nil, nil, nil, err
	}
	row, rest, err = nextPart(data)
	return id, row, rest, err
}

func nextPart(data []byte) (part, rest []byte, err error) {
	length, rest, err := Uvarint(data)
	if err != nil {
		return nil, nil, err
	}
	if length > uint64(len(rest)) {
		return nil, nil, errCut
	}
	return rest[:length:length], rest[length:], nil
}

// sealBytes is the size of a seal.
const sealBytes = 8

// seals makes the seals of one publication: checksums of pages and page tables that depend on the publication and on
// the number of the page or bucket. So a reader sees bytes that changed, two buckets that were exchanged, and a bucket
// of another publication.
type seals uint64

// seals returns the seals of the publication that the marker names.
func (t *Table) seals() seals { return seals(xxhash.Sum64String(t.MarkerID)) }

// page returns the seal of the rows of a page, by its number among all pages.
func (s seals) page(page uint32, rows []byte) uint64 { return s.sum(uint64(page), rows) }

// table returns the seal of a page table, without its own.
func (s seals) table(bucket int, table []byte) uint64 { return s.sum(^uint64(bucket), table) }

func (s seals) sum(part uint64, data []byte) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(uint64(s) + part)
	_, _ = d.Write(data) // it never fails
	return d.Sum64()
}

// open returns the rows of a page, without the seal behind them, which it compares.
func (s seals) open(page uint32, data []byte) (rows []byte, err error) {
	end := len(data) - sealBytes
	if end < 0 {
		return nil, fmt.Errorf("page %d has %d bytes, and its seal alone has %d", page, len(data), sealBytes)
	}
	if sum, want := s.page(page, data[:end]), binary.LittleEndian.Uint64(data[end:]); sum != want {
		return nil, fmt.Errorf("page %d has the checksum %016x, its seal says %016x", page, sum, want)
	}
	return data[:end], nil
}

// MarkerSeal is the field of a version's marker that holds [GroupedRows.Seal].
const MarkerSeal = "seal"

// bucketSum is the sum of the checksums of the buckets of a table, and whether one of them is missing in Redis.
type bucketSum struct {
	sum     uint64
	missing bool
}

func (s *bucketSum) add(bucket []byte) { s.sum += xxhash.Sum64(bucket) }

func (s *bucketSum) String() string { return strconv.FormatUint(s.sum, 16) }
