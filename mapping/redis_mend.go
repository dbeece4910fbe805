package mapping

import (
	"context"
	"fmt"
)

// Mend compares the rows in Redis with the grouped rows, which were written there before, and writes again the buckets
// that differ: they were evicted or damaged, or the server lost them. It returns their number. done is called after
// each round trip with the number of rows that are right by then; its error ends the comparison.
func (g *GroupedRows) Mend(ctx context.Context, client Client, table Table,
	done func(rows int) error) (mended int, err error) {
	err = g.Compare(ctx, client, table, func(bucket int, _ string, want []byte) error {
		mended++
		if err := client.Set(ctx, table.Key(bucket), want, 0).Err(); err != nil {
			return fmt.Errorf("writing mapping rows, bucket %d of %d: %w", bucket, table.Buckets, err)
		}
		return nil
	}, done)
	return mended, err
}

// Compare reads the buckets in Redis and calls differs with each one that differs from the grouped rows: its number,
// the bytes found ("" if it is missing) and the bytes wanted. done is called after each round trip with the number of
// rows that were compared. An error of either ends the comparison.
func (g *GroupedRows) Compare(ctx context.Context, client Client, table Table,
	differs func(bucket int, found string, want []byte) error, done func(rows int) error) error {
	var arena []byte
	for lo, n := 0, 1; lo < table.Buckets; {
		hi := min(lo+n, table.Buckets)
		answers, err := readBuckets(ctx, client, table, lo, hi)
		if err != nil {
			return fmt.Errorf("reading mapping rows, buckets %d to %d of %d: %w", lo, hi-1, table.Buckets, err)
		}
		arena = arena[:0]
		bytes := 0
		for k, answer := range answers {
			var text []byte
			if arena, text, err = g.bucket(arena, &table, lo+k); err != nil {
				return err
			}
			bytes += len(text)
			if answer.Val() == string(text) {
				continue
			}
			if err := differs(lo+k, answer.Val(), text); err != nil {
				return err
			}
		}
		n, lo = scan(hi-lo, bytes), hi
		if err := done(g.rows.before(hi)); err != nil {
			return err
		}
	}
	return nil
}
