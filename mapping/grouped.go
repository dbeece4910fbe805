package mapping

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"rivulet/artifact"
)

// GroupedRows holds the rows of an M bucket by bucket, as they are written to Redis: in memory, or in files if M is too
// large for memory. It is used by one goroutine.
type GroupedRows struct {
	layout Layout
	rows   rowsByBucket
	sum    bucketSum // over the requested buckets
}

// rowsByBucket gives the rows of buckets. Buckets are asked for in ascending order, each once.
type rowsByBucket interface {
	// bucket returns id, row, id, row, … of a bucket: strings and []byte. It appends encoded rows to arena, which it
	// returns; rows that were given before stay where they are if the arena moves.
	bucket(arena []byte, b int) (grown []byte, values []any, err error)
	// before returns the number of rows of the buckets below b.
	before(b int) int
	close() error
}

// Group returns the rows of an M in memory, in the layout of [LayoutOf].
func Group(m *artifact.Mapping) *GroupedRows { return group(m, LayoutOf(m)) }

func group(m *artifact.Mapping, layout Layout) *GroupedRows {
	w := &rowWriter{layout: layout, m: m}
	w.group()
	return &GroupedRows{layout: layout, rows: w}
}

// GroupOf returns the rows of a bundle by bucket: if M is in parts, they go through temporary files, of about the size
// of M's rows in Redis, in a new directory below dir ("" is the system's for such files); some 40 MB of them are in
// memory at a time. It refuses an id that is there twice. [GroupedRows.Close] removes the files.
func GroupOf(ctx context.Context, b *artifact.Bundle, dir string) (*GroupedRows, error) {
	if b.Mapping != nil {
		return Group(b.Mapping), nil
	}
	parts := func(yield func(*artifact.Mapping, error) bool) {
		for p, err := range b.Pieces() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
	s, err := newBucketFiles(parts, b.Manifest.Mapping.Rows, dir)
	if err != nil {
		return nil, fmt.Errorf("grouping rows of M by bucket: %w", err)
	}
	return &GroupedRows{layout: s.layout, rows: s}, nil
}

// Layout returns the layout of the rows.
func (g *GroupedRows) Layout() Layout { return g.layout }

// Seal returns a checksum of all buckets, after they have been written. It stands in the marker.
func (g *GroupedRows) Seal() string { return g.sum.String() }

// bucket returns a bucket of a table as it is written to Redis, and the arena, which may have grown by it.
func (g *GroupedRows) bucket(arena []byte, table *Table, b int) (grown, bucket []byte, err error) {
	arena, values, err := g.rows.bucket(arena, b)
	if err != nil {
		return arena, nil, err
	}
	begin := len(arena)
	arena = table.appendBucket(arena, b, values)
	bucket = arena[begin:len(arena):len(arena)]
	g.sum.add(bucket)
	return arena, bucket, nil
}

// Close removes the rows' files.
func (g *GroupedRows) Close() error { return g.rows.close() }

// Write writes the rows into the table, bucket by bucket, beginning with bucket from. After each round trip done gets
// the numbers of buckets, from 0 on, and of rows that have been written; its error ends the writing. The caller sets
// the marker.
//
// Writing a bucket again is harmless, so a caller that was interrupted continues at the number of buckets of the last
// call of done. Buckets below from are in [GroupedRows.Seal], too.
func (g *GroupedRows) Write(ctx context.Context, client Client, table Table, from int,
	done func(buckets, rows int) error) error {
	var arena []byte
	for bucket := 0; bucket < table.Buckets; {
		pipe := client.Pipeline()
		first, bytes := bucket, 0
		arena = arena[:0]
		for bucket < table.Buckets && bucket-first < bucketsPerPipeline && bytes < BytesPerPipeline {
			var text []byte
			var err error
			if arena, text, err = g.bucket(arena, &table, bucket); err != nil {
				return err
			}
			bucket++
			if bucket <= from {
				first, arena = bucket, arena[:0]
				continue
			}
			pipe.Set(ctx, table.Key(bucket-1), text, 0)
			bytes += len(text)
		}
		if pipe.Len() == 0 {
			continue
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

// errTwice is part of the error about an id that is in two parts of M.
var errTwice = errors.New("is the id of two rows of M")

// countRows returns the layout of the rows of the parts of an M, how many rows each bucket has, and about how many
// bytes all rows take in files. rows is their number.
func countRows(parts iter.Seq2[*artifact.Mapping, error], rows int) (l Layout, counts []uint32, bytes int64,
	err error) {
	ranges := Layout{Buckets: min(mostBuckets, maxPages(rows)), Pages: 1} // each is a part of one bucket
	inRange := make([]uint32, ranges.Buckets)
	idBytes, entries := int64(0), 0
	for p, err := range parts {
		if err != nil {
			return l, nil, 0, err
		}
		for _, id := range p.IDs {
			inRange[ranges.page(id)]++
			idBytes += int64(len(id))
		}
		entries += p.Rows.NNZ()
	}
	l = layoutOf(rows, idBytes, entries)
	counts = make([]uint32, l.Buckets)
	for k, n := range inRange {
		counts[k/(ranges.Buckets/l.Buckets)] += n
	}
	return l, counts, idBytes + int64(rows*spilledHead+entries*(minEntryBytes+1)), nil
}
