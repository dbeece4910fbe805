package mapping

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rivulet/artifact"
)

// Bounds of the files in which the rows of an M in parts are sorted by bucket: bytes of one, all of which are in
// memory when its buckets are written, how many of them are open together, and the memory of each while they are
// filled.
const (
	spillBytes  = 16 << 20
	spillFiles  = 512
	spillBuffer = 16 << 10
)

// spilledHead is about what a row takes in a file beside its id and entries.
const spilledHead = 8

// spilled keeps the rows of M in files. A file has the rows of some neighbouring buckets, in the order of M. A row is
// written as its bucket (counted from the file's first), the length of its id, the id, the length of its encoding, and
// the encoding.
type spilled struct {
	dir    string
	files  []*os.File
	layout Layout
	each   int      // buckets of a file
	starts []uint32 // rows of the buckets below b; one more than buckets

	loaded int   // file whose rows are in memory, -1: none
	rows   []any // id, row, id, row, … by bucket
	seen   map[string]struct{}
}

// spill reads the pieces twice: to count, and to write.
func spill(pieces iter.Seq2[*artifact.Mapping, error], rows int, dir string) (*spilled, error) {
	layout, counts, bytes, err := countRows(pieces, rows)
	if err != nil {
		return nil, err
	}
	s := &spilled{layout: layout, loaded: -1, seen: map[string]struct{}{}, starts: make([]uint32, layout.Buckets+1)}
	for b, n := range counts {
		s.starts[b+1] = s.starts[b] + n
	}
	files := min(spillFiles, layout.Buckets, int(1+bytes/spillBytes))
	s.each = (layout.Buckets + files - 1) / files
	if err := s.fill(pieces, dir, (layout.Buckets+s.each-1)/s.each); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// fill writes the files.
func (s *spilled) fill(pieces iter.Seq2[*artifact.Mapping, error], dir string, files int) (err error) {
	if s.dir, err = os.MkdirTemp(dir, "rivulet-rows-*"); err != nil {
		return err
	}
	writers := make([]*bufio.Writer, files)
	for k := range writers {
		f, err := os.Create(filepath.Join(s.dir, strconv.Itoa(k)))
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		// Where a file without a name may stay open, a kill of the process leaves nothing. Elsewhere close
		// removes it.
		_ = os.Remove(f.Name())
		writers[k] = bufio.NewWriterSize(f, spillBuffer)
	}
	var head, row []byte
	for p, err := range pieces {
		if err != nil {
			return err
		}
		for i, id := range p.IDs {
			b := s.layout.bucket(id)
			w := writers[b/s.each]
			row = AppendRow(row[:0], RowOf(p, i))
			head = binary.AppendUvarint(head[:0], uint64(b%s.each))
			head = append(binary.AppendUvarint(head, uint64(len(id))), id...)
			head = append(binary.AppendUvarint(head, uint64(len(row))), row...)
			if _, err := w.Write(head); err != nil {
				return s.failed(err)
			}
		}
	}
	for _, w := range writers {
		if err := w.Flush(); err != nil {
			return s.failed(err)
		}
	}
	return nil
}

func (s *spilled) failed(err error) error {
	return fmt.Errorf("writing rows to temporary files in %s (the variable TMPDIR names another place): %w",
		filepath.Dir(s.dir), err)
}

func (s *spilled) bucket(arena []byte, b int) ([]byte, []any, error) {
	if at := b / s.each; at != s.loaded {
		if err := s.load(at); err != nil {
			return arena, nil, fmt.Errorf("reading rows of M again from %s: %w", s.files[at].Name(), err)
		}
	}
	first := s.starts[s.loaded*s.each]
	values := s.rows[2*(s.starts[b]-first) : 2*(s.starts[b+1]-first)]
	clear(s.seen)
	for k := 0; k < len(values); k += 2 {
		id := values[k].(string)
		if _, twice := s.seen[id]; twice {
			return arena, nil, fmt.Errorf("%q %w", id, errTwice)
		}
		s.seen[id] = struct{}{}
	}
	return arena, values, nil
}

// load brings the rows of a file into memory.
func (s *spilled) load(at int) error {
	s.rows, s.loaded = nil, -1
	f := s.files[at]
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	data := make([]byte, size) // not used again: rows that were given are parts of it
	if _, err := f.ReadAt(data, 0); err != nil && !(errors.Is(err, io.EOF) && size == 0) {
		return err
	}
	lo := at * s.each
	first := s.starts[lo]
	next := slices.Clone(s.starts[lo : min(lo+s.each, s.layout.Buckets)+1])
	rows := make([]any, 2*(next[len(next)-1]-first))
	for len(data) > 0 {
		var bucket, length uint64
		if bucket, data, err = uvarint(data); err != nil {
			return err
		}
		if length, data, err = uvarint(data); err != nil {
			return err
		}
		id := string(data[:length])
		if length, data, err = uvarint(data[length:]); err != nil {
			return err
		}
		k := 2 * (next[bucket] - first)
		rows[k], rows[k+1] = id, data[:length:length]
		next[bucket]++
		data = data[length:]
	}
	s.rows, s.loaded = rows, at
	return nil
}

func (s *spilled) before(b int) int { return int(s.starts[b]) }

func (s *spilled) close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	if s.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
