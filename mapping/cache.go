package mapping

import (
	"context"
	"sync/atomic"

	"rivulet/infer/attach"
	"rivulet/mapping/rowcache"
)

// Cached is a [Lookup] that keeps rows of another one in memory, and drops rows that were not asked for lately. It
// belongs to one version of M: a new version gets a new one. It is safe for concurrent use and has no goroutine of its
// own.
//
// It remembers rows, and also that an id is not in T: neither changes while the version lives, and most neighbours
// outside T come again in a stream. Countless ids that come once cannot push out the rows in use, because a full cache
// admits an id when it is asked for a second time.
type Cached struct {
	inner Lookup
	rows  *rowcache.Cache // nil if nothing is kept

	hits, misses, unknown, unread atomic.Uint64
}

// NewCached caches inner's rows in about maxBytes. If maxBytes is 0 or less it caches nothing and only looks up
// repeated ids of one call once.
func NewCached(inner Lookup, maxBytes int64) *Cached {
	c := &Cached{inner: inner}
	if maxBytes > 0 {
		c.rows = rowcache.NewSelective(maxBytes, rowInT)
	}
	return c
}

// Stamps of rows in the cache.
const (
	notInT = iota
	inT
)

// rowInT begins a row from its stamp.
func rowInT(stamp int64) attach.Row { return attach.Row{Known: stamp == inT} }

// Rows implements [Lookup]. Ids that are not in memory are looked up in one call of the inner lookup, each once. Its
// error is returned unchanged; then the call caches nothing and the content of rows is undefined.
func (c *Cached) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	CheckLengths(ids, rows)
	absent := c.rows.Get(ids, rows, notInT)
	if len(absent) == 0 {
		c.hits.Add(uint64(len(ids)))
		return nil
	}
	missing, place := distinct(ids, absent)
	c.misses.Add(uint64(len(missing)))
	c.hits.Add(uint64(len(ids) - len(missing)))

	got := make([]attach.Row, len(missing))
	if err := c.inner.Rows(ctx, missing, got); err != nil {
		return err
	}
	c.keep(missing, got)
	for k, i := range absent {
		rows[i] = got[place[k]]
	}
	return nil
}

// distinct returns the distinct ids at the given positions, in order of first appearance, and for each position the
// index of its id among them.
func distinct(ids []string, at []int32) (once []string, place []int) {
	seen := make(map[string]int, len(at))
	once, place = make([]string, 0, len(at)), make([]int, len(at))
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

// keep counts the rows of an answer and puts them into the memory.
func (c *Cached) keep(ids []string, rows []attach.Row) {
	unknown, unread := uint64(0), uint64(0)
	for _, row := range rows {
		switch {
		case row.Unread:
			unread++
		case !row.Known:
			unknown++
		}
	}
	c.unknown.Add(unknown)
	c.unread.Add(unread)
	c.rows.Set(func(yield func(rowcache.Row) bool) {
		for i, row := range rows {
			stamp := int64(notInT)
			if row.Known {
				stamp = inT
			}
			if !row.Unread && !yield(rowcache.Row{ID: ids[i], Row: row, Stamp: stamp}) {
				return
			}
		}
	})
}

// CacheStats holds counts since the start, except Entries and Bytes, which are current.
type CacheStats struct {
	Hits    uint64 // ids that the inner lookup was spared: in memory, or repeated within a call
	Misses  uint64 // ids that the inner lookup was asked for
	Unknown uint64 // ids that were found not to be in T
	Unread  uint64 // ids that the inner lookup could not read; they are not cached
	Entries int    // ids in memory
	Bytes   int64  // memory, about
}

// Stats returns the counts.
func (c *Cached) Stats() CacheStats {
	s := CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Unknown: c.unknown.Load(), Unread: c.unread.Load()}
	if c.rows != nil {
		s.Entries, s.Bytes = c.rows.Size()
	}
	return s
}
