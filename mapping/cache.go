package mapping

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"rivulet/infer"
)

// rowCache keeps rows by their ids. It is an interface because the cache is generic: each package to which the type is
// visible compiles it again, two to three CPU seconds.
type rowCache interface {
	GetIfPresent(id string) (infer.Row, bool)
	Set(id string, row infer.Row) (before infer.Row, replaced bool)
	EstimatedSize() int
	WeightedSize() uint64
}

// newRowCache returns a cache of about maxBytes, by an estimate of the memory of an entry.
func newRowCache(maxBytes int64) rowCache {
	return otter.Must(&otter.Options[string, infer.Row]{
		MaximumWeight: uint64(maxBytes),
		Weigher:       rowBytes,
		// Upkeep of the cache runs in the calls that cause it, so that no goroutine outlives them. That is safe
		// because no other callback is set.
		Executor: func(upkeep func()) { upkeep() },
	})
}

// Cached is a [Lookup] that keeps rows of another one in memory, least useful rows out first. It belongs to one
// version of M: a new version gets a new one. It is safe for concurrent use and has no goroutine of its own.
//
// It remembers rows, and also that an id is not in T: neither changes while the version lives, and most neighbours
// outside T come again in a stream. Countless such ids cannot push out the rows in use, because the cache admits ids
// that are asked for often (W-TinyLFU).
type Cached struct {
	inner Lookup
	rows  rowCache // nil if nothing is kept

	hits, misses, unknown, unread atomic.Uint64
}

// NewCached caches inner's rows in about maxBytes, by an estimate of the memory of a row and its id. If maxBytes is
// 0 or less it caches nothing and only looks up repeated ids of one call once.
func NewCached(inner Lookup, maxBytes int64) *Cached {
	c := &Cached{inner: inner}
	if maxBytes > 0 {
		c.rows = newRowCache(maxBytes)
	}
	return c
}

// entryOverhead is the memory of one entry beyond its id, columns and values: the cache's node with the row's
// headers, its place in the hash table, and the rounding up of three small allocations (BenchmarkCachedMemory).
const entryOverhead = 144

// rowBytes estimates the memory of an entry in bytes.
func rowBytes(id string, row infer.Row) uint32 {
	return uint32(min(entryOverhead+len(id)+4*len(row.Cols)+4*len(row.Vals), math.MaxUint32))
}

// Rows implements [Lookup]. Ids that are not in memory are looked up in one call of the inner lookup, each once. Its
// error is returned unchanged; then nothing of that call is cached and the content of rows is undefined.
func (c *Cached) Rows(ctx context.Context, ids []string, rows []infer.Row) error {
	checkLengths(ids, rows)
	absent := c.fill(ids, rows)
	if len(absent) == 0 {
		c.hits.Add(uint64(len(ids)))
		return nil
	}
	missing, place := distinct(ids, absent)
	c.misses.Add(uint64(len(missing)))
	c.hits.Add(uint64(len(ids) - len(missing)))

	got := make([]infer.Row, len(missing))
	if err := c.inner.Rows(ctx, missing, got); err != nil {
		return err
	}
	c.keep(missing, got)
	for k, i := range absent {
		rows[i] = got[place[k]]
	}
	return nil
}

// fill sets the rows that are in memory and returns the positions of the others.
func (c *Cached) fill(ids []string, rows []infer.Row) (absent []int) {
	for i, id := range ids {
		if c.rows != nil {
			if kept, ok := c.rows.GetIfPresent(id); ok {
				rows[i] = kept
				continue
			}
		}
		absent = append(absent, i)
	}
	return absent
}

// distinct returns the distinct ids at the given positions, in order of first appearance, and for each position the
// index of its id among them.
func distinct(ids []string, at []int) (once []string, place []int) {
	seen := make(map[string]int, len(at))
	place = make([]int, len(at))
	for k, i := range at {
		p, ok := seen[ids[i]]
		if !ok {
			p = len(once)
			seen[ids[i]] = p
			once = append(once, ids[i])
		}
		place[k] = p
	}
	return once, place
}

// keep puts copies of rows into memory, because an id may be a part of a whole record and a row a part of a
// whole answer.
func (c *Cached) keep(ids []string, rows []infer.Row) {
	unknown, unread := uint64(0), uint64(0)
	for i, row := range rows {
		if row.Unread {
			unread++
			continue
		}
		if !row.Known {
			unknown++
		}
		if c.rows != nil {
			c.rows.Set(strings.Clone(ids[i]), infer.Row{Known: row.Known, Cols: slices.Clone(row.Cols),
				Vals: slices.Clone(row.Vals)})
		}
	}
	c.unknown.Add(unknown)
	c.unread.Add(unread)
}

// CacheStats holds counts since the start, except Entries and Bytes, which are current.
type CacheStats struct {
	Hits    uint64 // ids that the inner lookup was spared: in memory, or repeated within a call
	Misses  uint64 // ids that the inner lookup was asked for
	Unknown uint64 // ids that were found not to be in T
	Unread  uint64 // ids that the inner lookup could not read; they are not cached
	Entries int    // ids in memory
	Bytes   int64  // their estimated size
}

// Stats returns the counts.
func (c *Cached) Stats() CacheStats {
	s := CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Unknown: c.unknown.Load(),
		Unread: c.unread.Load()}
	if c.rows != nil {
		s.Entries = c.rows.EstimatedSize()
		s.Bytes = int64(c.rows.WeightedSize())
	}
	return s
}
