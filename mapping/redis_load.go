package mapping

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
)

// bucketsPerScan bounds the size of one round trip that reads whole buckets. It is fewer if these would be more than
// BytesPerPipeline.
const bucketsPerScan = 64

// scan is how many buckets the next round trip reads, after one of n buckets with some bytes.
func scan(n, bytes int) int { return max(1, min(bucketsPerScan, n*BytesPerPipeline/max(1, bytes))) }

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

// Sample reads some rows, at most about most of them: ids are spread over buckets by their hashes, so those of the
// first ones are a random sample.
func (r *Redis) Sample(ctx context.Context, most int) (*artifact.Mapping, error) {
	m := &artifact.Mapping{Rows: &graph.CSR{Cols: r.table.Synthetic, RowPtr: []int{0}, Val: []float32{}}}
	for b := 0; b < r.table.Buckets && len(m.IDs) < most; b++ {
		if _, err := r.loadBuckets(ctx, m, b, b+1); err != nil {
			return nil, fmt.Errorf("reading some mapping rows: %w", err)
		}
	}
	m.Rows.Rows = len(m.IDs)
	return m, nil
}

// loadBuckets appends the ids and entries of some buckets, and returns their size in Redis.
func (r *Redis) loadBuckets(ctx context.Context, m *artifact.Mapping, lo, hi int) (bytes int, err error) {
	answers, err := readBuckets(ctx, r.client, r.table, lo, hi)
	if err != nil {
		return 0, err
	}
	for k, answer := range answers {
		text := []byte(answer.Val())
		if len(text) == 0 {
			continue // lost: the rows are fewer than they should be
		}
		bytes += len(text)
		if err := r.loadRows(m, text); err != nil {
			return 0, Damaged{fmt.Errorf("bucket %s: %w", r.table.key(lo+k), err)}
		}
	}
	return bytes, nil
}

// loadRows appends the ids and entries of a bucket.
func (r *Redis) loadRows(m *artifact.Mapping, bucket []byte) error {
	ends := make([]uint32, r.table.Pages)
	if _, err := parsePageTable(ends, bucket); err != nil {
		return err
	}
	if want := int(ends[len(ends)-1]); want != len(bucket) {
		return fmt.Errorf("it has %d bytes, its page table says %d", len(bucket), want)
	}
	for rest := bucket[tableBytes(r.table.Pages):]; len(rest) > 0; {
		id, encoded, after, err := nextRow(rest)
		if err != nil {
			return err
		}
		rest = after
		row, err := DecodeRow(encoded, r.table.Synthetic)
		if err != nil {
			return fmt.Errorf("id %q: %w", shown(string(id)), err)
		}
		m.IDs = append(m.IDs, string(id))
		m.Rows.ColIdx = append(m.Rows.ColIdx, row.Cols...)
		m.Rows.Val = append(m.Rows.Val, row.Vals...)
		m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
	}
	return nil
}

// readBuckets reads some buckets in one round trip. One that is not there has no bytes.
func readBuckets(ctx context.Context, client Client, table Table, lo, hi int) ([]*redis.StringCmd, error) {
	pipe := client.Pipeline()
	answers := make([]*redis.StringCmd, 0, hi-lo)
	for b := lo; b < hi; b++ {
		answers = append(answers, pipe.Get(ctx, table.key(b)))
	}
	if _, err := pipe.Exec(ctx); Failed(err) {
		return nil, err
	}
	return answers, nil
}
