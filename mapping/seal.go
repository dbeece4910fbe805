package mapping

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// sealBytes is the size of a seal.
const sealBytes = 8

// seals makes the seals of one publication: checksums of pages and page tables that depend on the publication and on
// the number of the page or bucket. So a reader sees bytes that changed, two buckets that were exchanged, and a bucket
// of another publication.
type seals uint64

// seals returns those of the publication that the marker names.
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

// MarkerSeal is the field of a version's marker that holds [Grouped.Seal].
const MarkerSeal = "seal"

// bucketSum is the sum of the checksums of the buckets of a table, and whether one of them is missing in Redis.
type bucketSum struct {
	sum     uint64
	missing bool
}

func (s *bucketSum) add(bucket []byte) { s.sum += xxhash.Sum64(bucket) }

func (s *bucketSum) String() string { return strconv.FormatUint(s.sum, 16) }
