// Package mappingtest reads and damages rows in Redis, knowing only package mapping's documentation of their bytes.
package mappingtest

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// rows gives the ids and encoded rows of a bucket with so many pages. The rows are parts of it.
func rows(bucket []byte, pages int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		const seal, head = 8, 8 + 4
		begin := head + 4*pages
		for p := range pages {
			end := int(binary.LittleEndian.Uint32(bucket[head+4*p:]))
			page := bucket[begin:end]
			for begin = end; len(page) > seal; {
				var id, row []byte
				id, page = part(page)
				row, page = part(page)
				if !yield(string(id), row) {
					return
				}
			}
		}
	}
}

func part(data []byte) (part, rest []byte) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		panic(fmt.Sprintf("mappingtest: no row begins with %x", data[:min(20, len(data))]))
	}
	return data[n : n+int(length)], data[n+int(length):]
}

// IDs returns the ids of the rows in a bucket with so many pages.
func IDs(bucket string, pages int) (ids []string) {
	for id := range rows([]byte(bucket), pages) {
		ids = append(ids, id)
	}
	return ids
}

// Damaged returns a bucket of the same size in which the row of an id, or if id is "" the first one, is one that no
// codec reads.
func Damaged(bucket string, pages int, id string) string {
	bad := []byte(bucket)
	for found, row := range rows(bad, pages) {
		if found == id || id == "" {
			row[0] = 0x7f // more entries than there are bytes
			return string(bad)
		}
	}
	panic(fmt.Sprintf("mappingtest: id %q is not in the bucket", id))
}
