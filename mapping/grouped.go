package mapping

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"rivulet/artifact"
)

// Grouped holds the rows of an M bucket by bucket, as they are written to Redis: in memory, or in files where M
// is not to be in memory as a whole. It is used by one goroutine.
type Grouped struct {
	buckets int
	rows    rowsByBucket
}

// rowsByBucket gives the rows of buckets. Buckets are asked for in ascending order, each once.
type rowsByBucket interface {
	// bucket returns id, row, id, row, … of a bucket: strings and []byte. What it encodes it appends to arena,
	// which it returns; rows that were given before stay where they are if the arena moves.
	bucket(arena []byte, b int) (grown []byte, values []any, err error)
	// before returns the number of rows of the buckets below b.
	before(b int) int
	close() error
}

// Group returns the rows of an M in memory by as many buckets as [Buckets] says.
func Group(m *artifact.Mapping) *Grouped { return group(m, Buckets(m.IDs)) }

func group(m *artifact.Mapping, buckets int) *Grouped {
	w := &rowWriter{table: Table{Buckets: buckets}, m: m}
	w.group()
	return &Grouped{buckets, w}
}

// GroupOf returns the rows of a bundle by bucket: of an M in parts by way of temporary files, of about the size
// of its rows in Redis, in a new directory below dir ("" is the system's for such files); some 40 MB of them are
// in memory at a time. It refuses an id that is there twice. [Grouped.Close] removes the files.
func GroupOf(ctx context.Context, b *artifact.Bundle, dir string) (*Grouped, error) {
	if b.Mapping != nil {
		return Group(b.Mapping), nil
	}
	pieces := func(yield func(*artifact.Mapping, error) bool) {
		for p, err := range b.Pieces() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
	s, err := spill(pieces, b.Manifest.Mapping.Rows, dir)
	if err != nil {
		return nil, fmt.Errorf("grouping rows of M by bucket: %w", err)
	}
	return &Grouped{s.buckets, s}, nil
}

// Buckets returns the number of buckets, none of which is empty unless M is.
func (g *Grouped) Buckets() int { return g.buckets }

// Close removes what the rows took on disk.
func (g *Grouped) Close() error { return g.rows.close() }

// Write writes the rows into the table, as [WriteRows] does.
func (g *Grouped) Write(ctx context.Context, client Client, table Table, from int,
	done func(buckets, rows int) error) error {
	var arena []byte
	for bucket := from; bucket < table.Buckets; {
		pipe := client.Pipeline()
		first, bytes := bucket, 0
		arena = arena[:0]
		for bucket < table.Buckets && bucket-first < bucketsPerPipeline && bytes < bytesPerPipeline {
			var values []any
			var err error
			if arena, values, err = g.rows.bucket(arena, bucket); err != nil {
				return err
			}
			if len(values) > 0 {
				pipe.HSet(ctx, table.key(uint32(bucket)), values...)
			}
			bytes += bytesOf(values)
			bucket++
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("writing mapping rows, buckets %d to %d of %d: %w", first, bucket-1, table.Buckets, err)
		}
		if err := done(bucket, g.rows.before(bucket)); err != nil {
			return err
		}
	}
	return nil
}

// bytesOf returns the size of ids and rows.
func bytesOf(values []any) int {
	bytes := 0
	for k := 0; k < len(values); k += 2 {
		bytes += len(values[k].(string)) + len(values[k+1].([]byte))
	}
	return bytes
}

// errTwice is part of the error about an id that is in two parts of M.
var errTwice = errors.New("is the id of two rows of M")

// countBuckets returns how many rows each of n buckets has, and about how many bytes all rows take in a file.
func countBuckets(pieces iter.Seq2[*artifact.Mapping, error], n int) (counts []uint32, bytes int64, err error) {
	counts = make([]uint32, n)
	for p, err := range pieces {
		if err != nil {
			return nil, 0, err
		}
		for _, id := range p.IDs {
			counts[bucketOf(id, n)]++
			bytes += int64(len(id) + spilledHead)
		}
		bytes += int64(p.Rows.NNZ() * (minEntryBytes + 1))
	}
	return counts, bytes, nil
}
