package outofcore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Bounds of spilled files: how many of them are filled together, and the memory of each while they are.
const (
	mostBuckets = 512
	bufferBytes = 16 << 10
)

// bucketRecords is how many records of a bucket are wanted in memory at most; one takes some 100 to 200 bytes there.
const bucketRecords = 1 << 17

// bucketsFor returns the number of buckets for so many records.
func bucketsFor(records int64) int { return int(min(mostBuckets, 1+records/bucketRecords)) }

// spill keeps records in files, each of which is read as a whole. The order of the records of a file stays.
type spill struct {
	dir     string
	files   []*os.File
	writers []*bufio.Writer
	records int64
}

// newSpill makes n files in a new directory.
func newSpill(dir string, n int) (*spill, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	s := &spill{dir: dir}
	for k := range n {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(k)))
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.files, s.writers = append(s.files, f), append(s.writers, bufio.NewWriterSize(f, bufferBytes))
	}
	return s, nil
}

// bucket returns the file of a text, by its hash.
func (s *spill) bucket(text string) int {
	return int(xxhash.Sum64String(text) % uint64(len(s.files)))
}

// put appends a record to file k.
func (s *spill) put(k int, r *record) error {
	s.records++
	var head [binary.MaxVarintLen64]byte
	if _, err := s.writers[k].Write(head[:binary.PutUvarint(head[:], uint64(len(r.bytes)))]); err != nil {
		return err
	}
	_, err := s.writers[k].Write(r.bytes)
	return err
}

// each calls use with each record of file k. It is valid until the next.
func (s *spill) each(k int, use func(*record) error) error {
	if err := s.writers[k].Flush(); err != nil {
		return err
	}
	f := s.files[k]
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	var r record
	for {
		n, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		if r.bytes = r.bytes[:0]; cap(r.bytes) < int(n) {
			r.bytes = make([]byte, 0, 2*n)
		}
		r.bytes = r.bytes[:n]
		if _, err := io.ReadFull(in, r.bytes); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		r.at = 0
		if err := use(&r); err != nil {
			return err
		}
		if r.short {
			return fmt.Errorf("%s: a record has changed since it was written", f.Name())
		}
	}
}

// close removes the files.
func (s *spill) close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// record is a sequence of numbers and texts, which are read in the order in which they were written.
type record struct {
	bytes []byte
	at    int
	short bool // more was read than there is
}

func (r *record) reset() *record {
	r.bytes, r.at = r.bytes[:0], 0
	return r
}

func (r *record) number(n int64) *record {
	r.bytes = binary.AppendVarint(r.bytes, n)
	return r
}

func (r *record) text(s string) *record {
	r.bytes = append(binary.AppendUvarint(r.bytes, uint64(len(s))), s...)
	return r
}

func (r *record) nextNumber() int64 {
	n, size := binary.Varint(r.bytes[r.at:])
	if size <= 0 {
		r.short = true
		return 0
	}
	r.at += size
	return n
}

func (r *record) nextText() string {
	n, size := binary.Uvarint(r.bytes[r.at:])
	if size <= 0 || uint64(len(r.bytes)-r.at-size) < n {
		r.short = true
		return ""
	}
	r.at += size
	text := string(r.bytes[r.at : r.at+int(n)])
	r.at += int(n)
	return text
}
