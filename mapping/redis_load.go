package mapping

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
)

// bucketsPerScan bounds the size of one round trip that reads whole buckets. It is fewer if these would be more than
// BytesPerPipeline.
const bucketsPerScan = 64

// scan is the number of buckets that the next round trip reads, after one of n buckets with some bytes.
func scan(n, bytes int) int { return max(1, min(bucketsPerScan, n*BytesPerPipeline/max(1, bytes))) }

// Load reads the whole table into memory if it takes no more than about maxBytes, and returns nil if it takes more. A
// table in memory knows without asking Redis which ids are not in T; a stream has many such ids. alive is called
// between round trips; its error ends the reading. Load returns [ErrVanished] if the table is no longer the one for
// which the lookup was made, and [ErrDamaged] if its bytes are not the ones that were published.
func (r *Redis) Load(ctx context.Context, maxBytes int64, alive func() error) (*Memory, error) {
	m := &artifact.Mapping{Rows: &graph.CSR{Cols: r.table.Synthetic, RowPtr: []int{0}, Val: []float32{}}}
	size, sum := int64(0), bucketSum{}
	for lo, n := 0, 1; lo < r.table.Buckets; {
		hi := min(lo+n, r.table.Buckets)
		bytes, err := r.loadBuckets(ctx, m, &sum, lo, hi)
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
	if err := r.checkSum(ctx, &sum); err != nil {
		return nil, fmt.Errorf("reading all mapping rows: %w", err)
	}
	return FromArtifact(m), nil
}

// checkSum compares the marker with the table's, and its seal with the sum of all buckets if none is missing.
func (r *Redis) checkSum(ctx context.Context, sum *bucketSum) error {
	fields, err := r.client.HMGet(ctx, r.table.Marker, MarkerField, MarkerSeal).Result()
	if err != nil {
		return err
	}
	id, _ := fields[0].(string)
	if err := CheckMarker(id, r.table.Marker, r.table.MarkerID); err != nil {
		return err
	}
	if seal, _ := fields[1].(string); !sum.missing && seal != sum.String() {
		return Damaged{fmt.Errorf("the checksum of all buckets is %s, the marker %s says %q", sum, r.table.Marker, seal)}
	}
	return nil
}

// Sample reads some rows, roughly most of them at the most: ids are spread over buckets by their hashes, so the rows of
// the first buckets are a random sample. Damaged buckets are left out.
func (r *Redis) Sample(ctx context.Context, most int) (*artifact.Mapping, error) {
	m := &artifact.Mapping{Rows: &graph.CSR{Cols: r.table.Synthetic, RowPtr: []int{0}, Val: []float32{}}}
	for b := 0; b < r.table.Buckets && len(m.IDs) < most; b++ {
		n, entries := len(m.IDs), len(m.Rows.ColIdx)
		_, err := r.loadBuckets(ctx, m, new(bucketSum), b, b+1)
		if errors.Is(err, ErrDamaged) {
			m.IDs, m.Rows.RowPtr = m.IDs[:n], m.Rows.RowPtr[:n+1]
			m.Rows.ColIdx, m.Rows.Val = m.Rows.ColIdx[:entries], m.Rows.Val[:entries]
		} else if err != nil {
			return nil, fmt.Errorf("reading some mapping rows: %w", err)
		}
	}
	m.Rows.Rows = len(m.IDs)
	return m, nil
}

// loadBuckets appends the ids and entries of some buckets, adds them to a sum, and returns their size in Redis. If one
// is missing the caller finds fewer rows than there should be.
func (r *Redis) loadBuckets(ctx context.Context, m *artifact.Mapping, sum *bucketSum, lo, hi int) (bytes int,
	err error) {
	answers, err := readBuckets(ctx, r.client, r.table, lo, hi)
	if err != nil {
		return 0, err
	}
	for k, answer := range answers {
		text := []byte(answer.Val())
		if len(text) == 0 {
			sum.missing = true
			continue
		}
		bytes += len(text)
		sum.add(text)
		if err := r.loadRows(m, lo+k, text); err != nil {
			return 0, Damaged{fmt.Errorf("bucket %s: %w", r.table.Key(lo+k), err)}
		}
	}
	return bytes, nil
}

// loadRows appends the ids and entries of a bucket, whose bytes are given.
func (r *Redis) loadRows(m *artifact.Mapping, bucket int, data []byte) error {
	ends, seals := make([]uint32, r.table.Pages), r.tables.seals
	if _, err := seals.parsePageTable(bucket, ends, data); err != nil {
		return err
	}
	if want := int(ends[len(ends)-1]); want != len(data) {
		return fmt.Errorf("it has %d bytes, its page table says %d", len(data), want)
	}
	begin := uint32(tableBytes(r.table.Pages))
	for p, end := range ends {
		page := data[begin:end]
		if begin = end; len(page) == 0 {
			continue
		}
		rows, err := seals.open(uint32(bucket*r.table.Pages+p), page)
		if err == nil {
			err = r.loadPage(m, rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadPage appends the ids and entries of a page.
func (r *Redis) loadPage(m *artifact.Mapping, rest []byte) error {
	for len(rest) > 0 {
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

// readBuckets reads some buckets in one round trip. A missing bucket has no bytes.
func readBuckets(ctx context.Context, client Client, table Table, lo, hi int) ([]*redis.StringCmd, error) {
	pipe := client.Pipeline()
	answers := make([]*redis.StringCmd, 0, hi-lo)
	for b := lo; b < hi; b++ {
		answers = append(answers, pipe.Get(ctx, table.Key(b)))
	}
	if _, err := pipe.Exec(ctx); Failed(err) {
		return nil, err
	}
	return answers, nil
}
