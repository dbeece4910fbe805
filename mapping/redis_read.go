package mapping

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
)

// call is one call of [Redis.Rows].
type call struct {
	*Redis
	ids     []string
	rows    []attach.Row
	missing incomplete
	damaged map[int]error // the reasons why page tables of buckets cannot be read
	unknown bool          // an id has no row
	checked bool          // the marker stood after the last row had been read
}

// read fills the rows of ids in the order of their pages. The marker is asked for after the rows: if it still stands,
// none of them had been removed when it was read. A row that was found belongs to the version in any case, because
// two tables never share a key.
func (c *call) read(ctx context.Context, order []Position) error {
	if err := c.openTables(ctx, order); err != nil {
		return err
	}
	for reads := c.plan(order); len(reads) > 0; {
		n, bytes := 0, 0
		for n < len(reads) && n < readsPerPipeline && bytes < readBytesPerPipeline {
			bytes += reads[n].size()
			n++
		}
		if err := c.readPages(ctx, reads[:n], n == len(reads)); err != nil {
			return err
		}
		reads = reads[n:]
	}
	if c.checked || !c.unknown && len(c.missing.evicted) == 0 {
		return nil
	}
	ctx, cancel := Within(ctx, c.limit)
	defer cancel()
	return c.checkMarker(c.client.HGet(ctx, c.table.Marker, MarkerField))
}

// openTables reads the page tables of the buckets of ids that have not been read yet.
func (c *call) openTables(ctx context.Context, order []Position) error {
	var unread []int
	for _, p := range order {
		b := c.table.bucketOf(p.Part)
		if !c.tables.read[b].Load() && (len(unread) == 0 || unread[len(unread)-1] != b) {
			unread = append(unread, b)
		}
	}
	for buckets := range slices.Chunk(unread, c.tablesPerPipeline()) {
		if err := c.openSome(ctx, buckets); err != nil {
			return err
		}
	}
	return nil
}

// openSome reads page tables in one round trip.
func (c *call) openSome(ctx context.Context, buckets []int) error {
	ctx, cancel := Within(ctx, c.limit)
	defer cancel()
	return c.readTables(ctx, c.client.Pipeline(), buckets, func(bucket int, reason error) {
		if c.damaged == nil {
			c.damaged = map[int]error{}
		}
		c.damaged[bucket] = reason
	})
}

// pageRead is a page to be read, and the ids that are in it if they are in T.
type pageRead struct {
	bucket      int
	first, last int // bytes of the page in the bucket, as GETRANGE takes them
	ids         []Position
}

// size returns the page's size in bytes.
func (p *pageRead) size() int { return p.last + 1 - p.first }

// plan returns the pages to read. Ids in pages without rows are not in T.
func (c *call) plan(order []Position) []pageRead {
	reads := make([]pageRead, 0, len(order))
	for len(order) > 0 {
		ids, b := order[:SamePart(order)], c.table.bucketOf(order[0].Part)
		order = order[len(ids):]
		if c.tables.read[b].Load() {
			if begin, end := c.tables.page(ids[0].Part); begin < end {
				reads = append(reads, pageRead{b, begin, end - 1, ids})
			} else {
				c.unknown = true
			}
		} else if reason := c.damaged[b]; reason != nil {
			c.damage(ids, reason)
		} else {
			c.lose(b, ids)
		}
	}
	return reads
}

// damage notes that the rows of ids cannot be read.
func (c *call) damage(ids []Position, reason error) {
	for _, p := range ids {
		c.missing.damaged = append(c.missing.damaged, damagedRow{p.At, c.ids[p.At], reason})
	}
}

// lose notes that the bucket of ids is not there. Buckets are read in ascending order.
func (c *call) lose(bucket int, ids []Position) {
	key, lost := c.table.Key(bucket), &c.missing.evicted
	if n := len(*lost); n == 0 || (*lost)[n-1].key != key {
		*lost = append(*lost, evictedBucket{key: key, marker: c.table.Marker})
	}
	last := &(*lost)[len(*lost)-1]
	for _, p := range ids {
		last.at = append(last.at, p.At)
	}
}

// readPages reads pages in one round trip. If they are the last ones and commands run in their order, it asks for the
// marker, too.
func (c *call) readPages(ctx context.Context, reads []pageRead, last bool) error {
	ctx, cancel := Within(ctx, c.limit)
	defer cancel()
	pipe := c.client.Pipeline()
	keys, args := c.keys(reads), make([]any, 0, 4*len(reads))
	answers := make([]*redis.StringCmd, len(reads))
	// pointers, because a number or a string in an interface is an allocation
	for k := range reads {
		args = append(args, "getrange", &keys[k], &reads[k].first, &reads[k].last)
		answers[k] = redis.NewStringCmd(ctx, args[4*k:4*k+4:4*k+4]...)
		_ = pipe.Process(ctx, answers[k]) // it is queued
	}
	var marker *redis.StringCmd
	if last && c.ordered {
		marker = pipe.HGet(ctx, c.table.Marker, MarkerField)
	}
	if _, err := pipe.Exec(ctx); Failed(err) {
		return err
	}
	if marker != nil {
		if err := c.checkMarker(marker); err != nil {
			return err
		}
		c.checked = true
	}
	for k := range reads {
		page, err := answers[k].Result()
		if err != nil {
			return err
		}
		c.find(&reads[k], page)
	}
	return nil
}

// keys returns the keys of the buckets of pages. Their text is one allocation.
func (c *call) keys(reads []pageRead) []string {
	text, ends := make([]byte, 0, len(reads)*(len(c.table.Keys)+8)), make([]int, len(reads))
	for k := range reads {
		text = strconv.AppendInt(append(text, c.table.Keys...), int64(reads[k].bucket), 10)
		ends[k] = len(text)
	}
	return CutText(text, ends)
}

// find fills the rows of the ids of a page.
func (c *call) find(read *pageRead, page string) {
	switch {
	case page == "":
		c.lose(read.bucket, read.ids)
		return
	case len(page) != read.size():
		c.damage(read.ids, fmt.Errorf("bucket %s: a page of %d bytes, want %d", c.table.Key(read.bucket), len(page),
			read.size()))
		return
	}
	ids := read.ids
	rest, err := c.tables.seals.open(ids[0].Part, unsafe.Slice(unsafe.StringData(page), len(page)))
	if err != nil {
		c.damage(ids, fmt.Errorf("bucket %s: %w", c.table.Key(read.bucket), err))
		return
	}
	for len(rest) > 0 && len(ids) > 0 {
		id, row, after, err := nextRow(rest)
		if err != nil {
			c.damage(ids, fmt.Errorf("bucket %s: %w", c.table.Key(read.bucket), err))
			return
		}
		rest = after
		for k := 0; k < len(ids); k++ {
			p := ids[k]
			if c.ids[p.At] != string(id) {
				continue
			}
			if c.rows[p.At], err = DecodeRow(row, c.table.Synthetic); err != nil {
				c.damage(ids[k:k+1], err)
			}
			ids[k] = ids[0] // the others are still looked for
			ids = ids[1:]
			k--
		}
	}
	c.unknown = c.unknown || len(ids) > 0
}
