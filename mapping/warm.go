package mapping

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"rivulet/infer"
)

// bucketsPerScan bounds what one round trip of [Redis.Each] brings: about 3000 rows.
const bucketsPerScan = 64

// Each gives every row of the table to keep, in no order. alive is called between round trips; its error ends it. It
// returns [ErrVanished] where the table is not, or no longer, the one that the lookup was made for.
func (r *Redis) Each(ctx context.Context, keep func(id string, row infer.Row), alive func() error) error {
	for lo := 0; lo < r.table.Buckets; lo += bucketsPerScan {
		pipe := r.client.Pipeline()
		var answers []*redis.MapStringStringCmd
		for b := lo; b < min(lo+bucketsPerScan, r.table.Buckets); b++ {
			answers = append(answers, pipe.HGetAll(ctx, r.table.key(uint32(b))))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("reading all mapping rows: %w", err)
		}
		for _, answer := range answers {
			for id, encoded := range answer.Val() {
				row, err := DecodeRow([]byte(encoded), r.table.Synthetic)
				if err != nil {
					return fmt.Errorf("reading all mapping rows: id %q: %w", id, err)
				}
				keep(id, row)
			}
		}
		if err := alive(); err != nil {
			return err
		}
	}
	return r.checkMarker(r.client.HGet(ctx, r.table.Marker, MarkerField))
}

// Fits tells whether a whole M of that many rows and entries would stay in memory.
func (c *Cached) Fits(rows, entries int) bool {
	const id = 40 // bytes, longer than a UUID
	return c.rows != nil && int64(rows)*(entryOverhead+id)+8*int64(entries) <= int64(c.rows.GetMaximum())
}

// Keep puts the row of a known id into memory, as an answer of the inner lookup would be put.
func (c *Cached) Keep(id string, row infer.Row) { c.keep([]string{id}, []infer.Row{row}) }
