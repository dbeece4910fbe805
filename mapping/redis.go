package mapping

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
)

// ErrVanished means that the table of a lookup is no longer in Redis: its version was removed, or Redis lost it. Its
// rows cannot be read then; the ids are not "unknown".
var ErrVanished = errors.New("the version is no longer in Redis")

// ErrDamaged means that stored bytes are no encoding of a row.
var ErrDamaged = errors.New("damaged mapping row")

// Damaged is the error of bytes that are no row, or no other record of a version.
type Damaged struct{ Reason error }

func (d Damaged) Error() string { return d.Reason.Error() }

// Unwrap returns the fault of the bytes.
func (d Damaged) Unwrap() error { return d.Reason }

// Is says that it is an [ErrDamaged].
func (d Damaged) Is(e error) bool { return e == ErrDamaged }

// Table names the place of the rows of one version. Rows are in buckets, strings of some ten thousands of bytes, and
// these have pages of a few rows each. A reader knows the place of each page, so it reads a page and no more (see
// [Layout]).
type Table struct {
	// Keys is the beginning of a bucket's key; the bucket's number follows in decimal.
	Keys string
	Layout
	// Synthetic is N', the number of columns of M.
	Synthetic int
	// Marker is the key of a hash that exists as long as the table is complete, with MarkerID in its field
	// [MarkerField]. It is put there after the last row and removed before the first one.
	Marker, MarkerID string
}

// MarkerField is the field of a version's marker that holds MarkerID.
const MarkerField = "id"

// Key returns the key of a bucket.
func (t *Table) Key(bucket int) string { return t.Keys + strconv.Itoa(bucket) }

// Redis is a [Lookup] over the rows of one version. It is safe for concurrent use.
type Redis struct {
	client Client
	table  Table
	// ordered: commands of a pipeline run in their order. The nodes of a cluster run their parts side by side.
	ordered bool
	limit   time.Duration // of a round trip with its retries; 0: none
	tables  *pageTables
}

// NewRedis returns a lookup of the rows of a table. The caller still owns the client.
func NewRedis(client Client, table Table) *Redis {
	if err := table.Layout.Check(math.MaxInt32); err != nil {
		panic("mapping: " + err.Error())
	}
	return &Redis{client: client, table: table, ordered: OneServer(client), tables: newPageTables(&table)}
}

// Within returns the same lookup with a limit on the time of each round trip of [Redis.Rows], its retries included.
func (r *Redis) Within(limit time.Duration) *Redis {
	limited := *r
	limited.limit = limit
	return &limited
}

// Within bounds the time of a round trip; a limit of 0 is none.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
	}
	return ctx, func() {}
}

// Failed reports whether a pipeline failed; an answer that a key is missing is no failure.
func Failed(err error) bool { return err != nil && !errors.Is(err, redis.Nil) }

// Bounds of one round trip that reads pages or page tables, whichever is met first: of commands, and of bytes of the
// answer.
const (
	readsPerPipeline     = 4096
	readBytesPerPipeline = 4 << 20
)

// Rows implements [Lookup]: one round trip, with one GETRANGE a page, for each few thousand pages, and one before for
// the page tables of buckets that are read for the first time. It returns [ErrVanished] if the table is no longer the
// one for which the lookup was made; then no row may be used.
//
// If rows are damaged, or buckets are missing although the version is complete, the error says so ([ErrDamaged],
// [ErrVanished]), and all other rows are filled; a [Guard] goes on with the filled rows.
func (r *Redis) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	CheckLengths(ids, rows)
	clear(rows)
	c := &call{Redis: r, ids: ids, rows: rows}
	err := c.read(ctx, SortByPart(ids, r.table.page))
	if err != nil {
		err = Permanent(Misdirected(r.client, err))
	} else {
		err = c.missing.failure()
	}
	if err != nil {
		return fmt.Errorf("reading %d mapping rows: %w", len(ids), err)
	}
	return nil
}

// Count reads the page tables of all buckets, which the lookup keeps, and returns the number of rows of the complete
// buckets.
func (r *Redis) Count(ctx context.Context) (rows int, err error) {
	for lo, hi := 0, 0; lo < r.table.Buckets; lo = hi {
		hi = min(lo+r.tablesPerPipeline(), r.table.Buckets)
		pipe, buckets, sizes := r.client.Pipeline(), make([]int, hi-lo), make([]*redis.IntCmd, hi-lo)
		for k := range buckets {
			buckets[k] = lo + k
			sizes[k] = pipe.StrLen(ctx, r.table.Key(lo+k))
		}
		if err := r.readTables(ctx, pipe, buckets, func(int, error) {}); err != nil {
			return 0, fmt.Errorf("counting mapping rows, buckets %d to %d of %d: %w", lo, hi-1, r.table.Buckets, err)
		}
		for k, b := range buckets {
			if r.tables.read[b].Load() && int(sizes[k].Val()) == r.tables.size(b) {
				rows += int(r.tables.rows[b])
			}
		}
	}
	return rows, nil
}

// tablesPerPipeline is the number of page tables that are read in one round trip.
func (r *Redis) tablesPerPipeline() int {
	return max(1, min(KeysPerPipeline, readBytesPerPipeline/tableBytes(r.table.Pages)))
}

// readTables reads the page tables of buckets, behind the commands already in the pipeline, and keeps them. It keeps
// none of a missing bucket, and calls damaged with the number of a bucket whose table is damaged.
func (r *Redis) readTables(ctx context.Context, pipe redis.Pipeliner, buckets []int,
	damaged func(bucket int, reason error)) error {
	answers := make([]*redis.StringCmd, len(buckets))
	for k, b := range buckets {
		answers[k] = pipe.GetRange(ctx, r.table.Key(b), 0, int64(tableBytes(r.table.Pages)-1))
	}
	if _, err := pipe.Exec(ctx); Failed(err) {
		return err
	}
	for k, b := range buckets {
		text, err := answers[k].Bytes()
		switch {
		case err != nil:
			return err
		case len(text) == 0:
			continue
		}
		if err := r.tables.put(b, text); err != nil {
			damaged(b, fmt.Errorf("bucket %s: %w", r.table.Key(b), err))
		}
	}
	return nil
}

func (r *Redis) checkMarker(marker *redis.StringCmd) error {
	return checkMarker(marker, r.table.Marker, r.table.MarkerID)
}

// checkMarker compares the marker at a key with the id that is wanted.
func checkMarker(marker *redis.StringCmd, key, want string) error {
	id, err := marker.Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return CheckMarker(id, key, want)
}

// CheckMarker compares the id of the marker at a key, "" if there is none, with the id that is wanted.
func CheckMarker(id, key, want string) error {
	switch id {
	case "":
		return fmt.Errorf("%w: marker %s is missing", ErrVanished, key)
	case want:
		return nil
	default:
		return fmt.Errorf("%w: marker %s has id %q, want %q", ErrVanished, key, id, want)
	}
}
