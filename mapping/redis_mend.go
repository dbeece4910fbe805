package mapping

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"rivulet/artifact"
)

// MendRows is [Grouped.Mend] of an M in memory.
func MendRows(ctx context.Context, client Client, table Table, m *artifact.Mapping,
	done func(rows int) error) (mended int, err error) {
	return group(m, table.Buckets).Mend(ctx, client, table, done)
}

// Mend compares the rows in Redis with those that are grouped, which were written there before, and writes buckets again
// that differ: because they were evicted or damaged, or the server lost them. It returns how many those were. done
// is called after each round trip with the number of rows that are right by then; its error ends the comparison.
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
			var values []any
			if arena, values, err = g.rows.bucket(arena, lo+k); err != nil {
				return mended, err
			}
			bytes += bytesOf(values)
			if sameRows(answer.Val(), values) {
				continue
			}
			mended++
			if err := replaceBucket(ctx, client, table.key(uint32(lo+k)), answer.Val(), values); err != nil {
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

// sameRows reports whether a bucket has these rows and no others: id, row, id, row, …
func sameRows(found map[string]string, values []any) bool {
	if len(found) != len(values)/2 {
		return false
	}
	for k := 0; k < len(values); k += 2 {
		if text, there := found[values[k].(string)]; !there || text != string(values[k+1].([]byte)) {
			return false
		}
	}
	return true
}

// replaceBucket writes all rows of a bucket, and removes what else was found there. Writing is one step, so readers
// never see a part of a bucket.
func replaceBucket(ctx context.Context, client Client, key string, found map[string]string,
	values []any) error {
	for k := 0; k < len(values); k += 2 {
		delete(found, values[k].(string))
	}
	pipe := client.Pipeline()
	pipe.HSet(ctx, key, values...)
	if len(found) > 0 {
		pipe.HDel(ctx, key, slices.Collect(maps.Keys(found))...)
	}
	_, err := pipe.Exec(ctx)
	return err
}
