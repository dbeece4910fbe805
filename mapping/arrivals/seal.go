package arrivals

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"rivulet/infer/growth"
)

// Behind each stored row and note is a checksum, its seal: of the bytes before it, and of where they belong, so that a
// row is not taken for another id's. It has four bytes, because a bucket stays packed only while its values have up to
// 64 bytes (rowsPerBucket).
const sealBytes = 4

// sum returns the checksum of a row or note. key is the arrival's id, or the place of a note, and seed is of the table.
func sum(seed uint64, key string, data []byte) uint32 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	_, _ = d.WriteString(key) // neither fails
	_, _ = d.Write(data)
	return uint32(d.Sum64())
}

// appendSeal appends a seal of dst's bytes from begin on.
func appendSeal(dst []byte, begin int, seed uint64, key string) []byte {
	return binary.LittleEndian.AppendUint32(dst, sum(seed, key, dst[begin:]))
}

// unseal returns a row or note without its seal, which it compares.
func unseal(data []byte, seed uint64, key string) ([]byte, error) {
	end := len(data) - sealBytes
	if end < 0 {
		return nil, fmt.Errorf("%d bytes are stored, and a seal alone has %d", len(data), sealBytes)
	}
	if got, want := sum(seed, key, data[:end]), binary.LittleEndian.Uint32(data[end:]); got != want {
		return nil, fmt.Errorf("%d bytes have the checksum %08x, their seal says %08x", end, got, want)
	}
	return data[:end], nil
}

// rowSeed and noteSeed are the seeds of rows, and of a note by its offset and edge.
func (t *Table) rowSeed() uint64 { return xxhash.Sum64String(t.Keys) }
func (t *Table) noteSeed(n *growth.Note) uint64 {
	return xxhash.Sum64String(t.Notes) + uint64(n.Offset) + uint64(n.Edge)<<32
}
