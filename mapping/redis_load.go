package mapping

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
)

// bucketsPerScan bounds the size of one round trip that reads whole buckets: about 3000 rows. It is fewer where ids
// are so long that these would be more than bytesPerPipeline.
const bucketsPerScan = 64

// scan is how many buckets the next round trip reads, after one of n buckets with some bytes.
func scan(n, bytes int) int { return max(1, min(bucketsPerScan, n*bytesPerPipeline/max(1, bytes))) }

// Load reads the whole table into memory if it takes no more than about maxBytes, and returns nil if it takes
// more. A table in memory knows without asking which ids are not in T; a stream has many of them. alive is called
// between round trips; its error ends the reading. Load returns [ErrVanished] if the table is no longer the one
// for which the lookup was made.
func (r *Redis) Load(ctx context.Context, maxBytes int64, alive func() error) (*Memory, error) {
	m := &artifact.Mapping{Rows: &graph.CSR{Cols: r.table.Synthetic, RowPtr: []int{0}, Val: []float32{}}}
	size := int64(0)
	for lo, n := 0, 1; lo < r.table.Buckets; {
		hi := min(lo+n, r.table.Buckets)
		bytes, err := r.loadBuckets(ctx, m, lo, hi)
		if err != nil {
			return nil, fmt.Errorf("reading all mapping rows: %w", err)
		}
		n, lo = scan(hi-lo, bytes), hi
		for ; m.Rows.Rows < len(m.IDs); m.Rows.Rows++ {
			size += memoryBytes(m.IDs[m.Rows.Rows], m.Rows.RowLen(m.Rows.Rows))
		}
		if size > maxBytes {
			return nil, nil
		}
		if err := alive(); err != nil {
			return nil, err
		}
	}
	if err := r.checkMarker(r.client.HGet(ctx, r.table.Marker, MarkerField)); err != nil {
		return nil, fmt.Errorf("reading all mapping rows: %w", err)
	}
	return FromArtifact(m), nil
}

// loadBuckets appends the ids and entries of some buckets, and returns their size in Redis.
func (r *Redis) loadBuckets(ctx context.Context, m *artifact.Mapping, lo, hi int) (bytes int, err error) {
	answers, err := readBuckets(ctx, r.client, r.table, lo, hi)
	if err != nil {
		return 0, err
	}
	for _, answer := range answers {
		for id, encoded := range answer.Val() {
			row, err := DecodeRow([]byte(encoded), r.table.Synthetic)
			if err != nil {
				return 0, damaged{fmt.Errorf("id %q: %w", id, err)}
			}
			bytes += len(id) + len(encoded)
			m.IDs = append(m.IDs, id)
			m.Rows.ColIdx = append(m.Rows.ColIdx, row.Cols...)
			m.Rows.Val = append(m.Rows.Val, row.Vals...)
			m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
		}
	}
	return bytes, nil
}

// readBuckets reads some buckets in one round trip.
func readBuckets(ctx context.Context, client Client, table Table, lo,
	hi int) ([]*redis.MapStringStringCmd, error) {
	pipe := client.Pipeline()
	answers := make([]*redis.MapStringStringCmd, 0, hi-lo)
	for b := lo; b < hi; b++ {
		answers = append(answers, pipe.HGetAll(ctx, table.key(uint32(b))))
	}
	_, err := pipe.Exec(ctx)
	return answers, err
}
