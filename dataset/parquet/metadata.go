package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	maxFooter  = 64 << 20 // bytes; a footer has about a hundred for each column of each row group
	maxDepth   = 32       // nested structs
	maxStructs = 1 << 20  // structs in lists of one footer: a thousand columns in a thousand row groups
	maxColumns = 1 << 16  // elements of a schema
)

var errMetadata = errors.New("malformed metadata")

// checkFooter decodes a file's footer as the library will, but refuses any length beyond the footer's bytes.
func checkFooter(r io.ReaderAt, size int64) error {
	const tail = 8 // length and magic
	var end [tail]byte
	if size < tail+4 {
		return fmt.Errorf("not a Parquet file: it has %d bytes", size)
	}
	if _, err := r.ReadAt(end[:], size-tail); err != nil {
		return err
	}
	if magic := string(end[4:]); magic == "PARE" {
		return errors.New("the file is encrypted, which is not supported")
	} else if magic != "PAR1" {
		return fmt.Errorf("not a Parquet file: it ends in %q", magic)
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if length > size-tail-4 || length > maxFooter {
		return fmt.Errorf("footer of %d bytes in a file of %d; at most %d are allowed", length, size, maxFooter)
	}
	var footer format.FileMetaData
	if err := newMetadata(r, size-tail-length, length).decode(&footer); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if len(footer.Schema) > maxColumns {
		return fmt.Errorf("footer: a schema of %d elements, more than %d", len(footer.Schema), maxColumns)
	}
	return nil
}

type thriftReader = thrift.Reader

// metadata gives the library's Thrift decoder a section of a file and refuses every length beyond the section's
// bytes: the library itself allocates a declared length before it reads that much. Strings are returned empty.
type metadata struct {
	thriftReader
	section *io.SectionReader
	in      *bufio.Reader
	structs int   // in lists, so far
	open    []int // structs that are still to end, by depth
}

func newMetadata(r io.ReaderAt, at, length int64) *metadata {
	m := &metadata{section: io.NewSectionReader(r, at, length)}
	m.in = bufio.NewReader(m.section)
	m.thriftReader = new(thrift.CompactProtocol).NewReader(m.in)
	return m
}

// decode reads the next struct into the one at v.
func (m *metadata) decode(v any) error {
	m.open, m.structs = append(m.open[:0], 1), 0
	return thrift.NewDecoder(m).Decode(v)
}

// left returns the number of bytes that have not been read.
func (m *metadata) left() int64 {
	at, _ := m.section.Seek(0, io.SeekCurrent) // a section reader knows its place
	return m.section.Size() - at + int64(m.in.Buffered())
}

// enter counts the structs that follow; each ends with a stop byte.
func (m *metadata) enter(structs int) error {
	if m.open = append(m.open, structs); len(m.open) > maxDepth {
		return fmt.Errorf("%w: structs in structs beyond %d", errMetadata, maxDepth)
	}
	return nil
}

func (m *metadata) leave() {
	if last := len(m.open) - 1; last >= 0 {
		if m.open[last]--; m.open[last] == 0 {
			m.open = m.open[:last]
		}
	}
}

func (m *metadata) ReadField() (thrift.Field, error) {
	f, err := m.thriftReader.ReadField()
	if err != nil {
		return f, err
	}
	switch f.Type {
	case thrift.STOP:
		m.leave()
	case thrift.STRUCT:
		err = m.enter(1)
	}
	return f, err
}

func (m *metadata) ReadList() (thrift.List, error) {
	l, err := m.thriftReader.ReadList()
	switch {
	case err != nil:
	case int64(l.Size) > m.left(): // each element has a byte at least
		err = fmt.Errorf("%w: %d elements in %d bytes", errMetadata, l.Size, m.left())
	case l.Type == thrift.LIST || l.Type == thrift.SET || l.Type == thrift.MAP:
		err = fmt.Errorf("%w: a list of type %s", errMetadata, l.Type)
	case l.Type == thrift.STRUCT && l.Size > 0:
		if m.structs += int(l.Size); m.structs > maxStructs {
			return l, fmt.Errorf("%w: more than %d structs in lists", errMetadata, maxStructs)
		}
		err = m.enter(int(l.Size))
	}
	return l, err
}

func (m *metadata) ReadSet() (thrift.Set, error) {
	l, err := m.ReadList()
	return thrift.Set(l), err
}

func (m *metadata) ReadMap() (thrift.Map, error) {
	return thrift.Map{}, fmt.Errorf("%w: a map, which Parquet has nowhere", errMetadata)
}

func (m *metadata) ReadLength() (int, error) {
	n, err := m.thriftReader.ReadLength()
	if err == nil && int64(n) > m.left() {
		err = fmt.Errorf("%w: %d bytes declared, %d left", errMetadata, n, m.left())
	}
	return n, err
}

func (m *metadata) ReadBytes() ([]byte, error) {
	n, err := m.ReadLength()
	if err == nil {
		_, err = m.in.Discard(n)
	}
	return nil, err
}

func (m *metadata) ReadString() (string, error) {
	_, err := m.ReadBytes()
	return "", err
}
