package mapping

import (
	"context"
	"fmt"

	"rivulet/artifact"
)

// MendRows is [Grouped.Mend] of an M in memory.
func MendRows(ctx context.Context, client Client, table Table, m *artifact.Mapping,
	done func(rows int) error) (mended int, err error) {
	return group(m, table.Layout).Mend(ctx, client, table, done)
}

// Mend compares the rows in Redis with those that are grouped, which were written there before, and writes buckets
// again that differ: because they were evicted or damaged, or the server lost them. It returns how many those were.
// done is called after each round trip with the number of rows that are right by then; its error ends the comparison.
func (g *Grouped) Mend(ctx context.Context, client Client, table Table,
	done func(rows int) error) (mended int, err error) {
	var arena []byte
	for lo, n := 0, 1; lo < table.Buckets; {
		hi := min(lo+n, table.Buckets)
		answers, err := readBuckets(ctx, client, table, lo, hi)
		if err != nil {
			return mended, fmt.Errorf("reading mapping rows, buckets %d to %d of %d: %w", lo, hi-1, table.Buckets, err)
		}
		arena = arena[:0]
		bytes := 0
		for k, answer := range answers {
			var text []byte
			if arena, text, err = g.bucket(arena, lo+k); err != nil {
				return mended, err
			}
			bytes += len(text)
			if answer.Val() == string(text) {
				continue
			}
			mended++
			if err := client.Set(ctx, table.key(lo+k), text, 0).Err(); err != nil {
				return mended, fmt.Errorf("writing mapping rows, bucket %d of %d: %w", lo+k, table.Buckets, err)
			}
		}
		n, lo = scan(hi-lo, bytes), hi
		if err := done(g.rows.before(hi)); err != nil {
			return mended, err
		}
	}
	return mended, nil
}
