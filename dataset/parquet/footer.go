package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxFooter bounds the footer. It has some hundred bytes for each column of each row group.
const maxFooter = 64 << 20

// checkFooter walks a file's footer: whatever OpenFile of the library allocates for it is covered by bytes that are there.
func checkFooter(r io.ReaderAt, size int64) error {
	const tail = 8 // length and magic
	var end [tail]byte
	if size < tail+4 {
		return fmt.Errorf("not a Parquet file: it has %d bytes", size)
	}
	if _, err := r.ReadAt(end[:], size-tail); err != nil {
		return err
	}
	if magic := string(end[4:]); magic != "PAR1" {
		if magic == "PARE" {
			return fmt.Errorf("the file is encrypted, which is not supported")
		}
		return fmt.Errorf("not a Parquet file: it ends in %q", magic)
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if length > size-tail-4 || length > maxFooter {
		return fmt.Errorf("footer of %d bytes in a file of %d; at most %d are allowed", length, size, maxFooter)
	}
	footer := make([]byte, length)
	if _, err := r.ReadAt(footer, size-tail-length); err != nil {
		return err
	}
	columns := int64(0)
	s := &skim{in: footer, visit: func(path [2]int16, v int64) {
		if path == [2]int16{2} { // FileMetaData.schema
			columns = v
		}
	}}
	if err := s.structure(0); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if columns > maxChildren {
		return fmt.Errorf("footer: a schema of %d elements, more than %d", columns, maxChildren)
	}
	return nil
}
