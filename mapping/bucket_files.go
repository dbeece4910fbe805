package mapping

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"rivulet/artifact"
)

// spillBytes is about the size of one of the files in which the rows of a large M are sorted by bucket. All rows of a
// file are in memory while its buckets are written.
const spillBytes = 16 << 20

// spilledHead is roughly a row's size in a file beside its id and entries.
const spilledHead = 8

// bucketFiles keeps the rows of M in temporary files. A file has the rows of some neighbouring buckets, in the order of
// M: for each row its bucket (counted from the file's first), the id, and the encoding.
type bucketFiles struct {
	layout Layout
	files  *rowFiles
	each   int      // buckets of a file
	starts []uint32 // rows of the buckets below b; one more than buckets

	loaded int   // file whose rows are in memory, -1: none
	rows   []any // id, row, id, row, … by bucket
	seen   map[string]struct{}
}

// newBucketFiles reads the parts of an M of so many rows twice: to count, and to write.
func newBucketFiles(parts iter.Seq2[*artifact.Mapping, error], rows int, dir string) (*bucketFiles, error) {
	layout, counts, bytes, err := countRows(parts, rows)
	if err != nil {
		return nil, err
	}
	s := &bucketFiles{layout: layout, loaded: -1, seen: map[string]struct{}{}, starts: make([]uint32, layout.Buckets+1)}
	for b, n := range counts {
		s.starts[b+1] = s.starts[b] + n
	}
	files := min(mostFiles, layout.Buckets, int(1+bytes/spillBytes))
	s.each = (layout.Buckets + files - 1) / files
	if dir, err = os.MkdirTemp(dir, "rivulet-rows-*"); err != nil {
		return nil, err
	}
	s.files = newRowFiles(dir, (layout.Buckets+s.each-1)/s.each)
	if err := s.fill(parts, filepath.Dir(dir)); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

// fill writes the files, which are in a new directory below dir.
func (s *bucketFiles) fill(parts iter.Seq2[*artifact.Mapping, error], dir string) error {
	failed := func(err error) error {
		return fmt.Errorf("writing rows to temporary files in %s (the variable TMPDIR names another place): %w", dir, err)
	}
	var row []byte
	for p, err := range parts {
		if err != nil {
			return err
		}
		for i, id := range p.IDs {
			b := s.layout.bucket(id)
			row = AppendRow(row[:0], RowOf(p, i))
			if err := s.files.put(b/s.each, b%s.each, id, row); err != nil {
				return failed(err)
			}
		}
	}
	if err := s.files.flush(); err != nil {
		return failed(err)
	}
	return nil
}

func (s *bucketFiles) bucket(arena []byte, b int) ([]byte, []any, error) {
	if at := b / s.each; at != s.loaded {
		if err := s.load(at); err != nil {
			return arena, nil, fmt.Errorf("reading rows of M again: %w", err)
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
func (s *bucketFiles) load(at int) error {
	s.rows, s.loaded = nil, -1
	size, err := s.files.size(at)
	if err != nil {
		return err
	}
	arena := make([]byte, 0, size) // new memory, as rows given before are parts of the old
	lo := at * s.each
	first := s.starts[lo]
	next := slices.Clone(s.starts[lo : min(lo+s.each, s.layout.Buckets)+1])
	rows := make([]any, 2*(next[len(next)-1]-first))
	err = s.files.each(at, func(bucket int, id string, row []byte) {
		begin := len(arena)
		arena = append(arena, row...)
		k := 2 * (next[bucket] - first)
		rows[k], rows[k+1] = id, arena[begin:len(arena):len(arena)]
		next[bucket]++
	})
	if err != nil {
		return err
	}
	s.rows, s.loaded = rows, at
	return nil
}

func (s *bucketFiles) before(b int) int { return int(s.starts[b]) }

func (s *bucketFiles) close() error { return s.files.close() }
