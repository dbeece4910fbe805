package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/infer"
)

// HashName is the function from an id to its bucket: XXH64 with seed 0 of the id's bytes, modulo the number of
// buckets. A reader must refuse a table that was written with another function.
const HashName = "xxh64"

// ErrVanished means that the table of a lookup is no longer in Redis: its version was removed, or Redis lost it. Its
// rows cannot be read then; the ids are not "unknown".
var ErrVanished = errors.New("the version is no longer in Redis")

// ErrDamaged means that stored bytes are no encoding of a row.
var ErrDamaged = errors.New("damaged mapping row")

// damaged wraps the error of decoding a row.
type damaged struct{ error }

func (d damaged) Unwrap() error   { return d.error }
func (d damaged) Is(e error) bool { return e == ErrDamaged }

// Table names the place of the rows of one version. Rows are spread over hashes, the buckets, of about
// [RowsPerBucket] fields each: field = id, value = [AppendRow]. Redis stores so few fields as one packed list, which
// takes 5 to 15 bytes beside an id and its row; a key for each row takes about 75.
type Table struct {
	// Keys is the beginning of a bucket's key; the bucket's number follows in decimal.
	Keys string
	// Buckets is the number of hashes, ≥ 1.
	Buckets int
	// Synthetic is N', the number of columns of M.
	Synthetic int
	// Marker is the key of a hash that exists as long as the table is complete, with MarkerID in its field
	// [MarkerField]. It is put there after the last row and removed before the first one.
	Marker, MarkerID string
}

// MarkerField is the field of a version's marker that holds MarkerID.
const MarkerField = "id"

func (t *Table) bucket(id string) uint32 { return bucketOf(id, t.Buckets) }

// bucketOf returns the bucket of an id.
func bucketOf(id string, buckets int) uint32 { return uint32(xxhash.Sum64String(id) % uint64(buckets)) }

func (t *Table) key(bucket uint32) string {
	return t.Keys + strconv.FormatUint(uint64(bucket), 10)
}

// bucketKeys returns the keys of the buckets of a sorted list, each once.
func (t *Table) bucketKeys(order []placed) []string {
	return bucketKeys(order, len(t.Keys)+10, func(key []byte, bucket uint32) []byte {
		return strconv.AppendUint(append(key, t.Keys...), uint64(bucket), 10)
	})
}

// Bounds of one round trip, whichever is met first: of ids, with some 100 KiB there and 200 KiB back where ids are
// short, and of the bytes of ids, so that long ones cannot use up the time limit of a round trip.
const (
	idsPerPipeline     = 4096
	idBytesPerPipeline = 1 << 20
)

// Redis is a [Lookup] over the rows of one version. It is safe for concurrent use.
type Redis struct {
	client Client
	table  Table
	// ordered: commands of a pipeline run in their order. The nodes of a cluster run their parts side by side.
	ordered bool
	limit   time.Duration // of the time of a round trip with its retries; 0: none
}

// NewRedis returns a lookup of the rows of a table. The caller still owns the client.
func NewRedis(client Client, table Table) *Redis {
	if table.Buckets < 1 || table.Buckets > 1<<31 {
		panic(fmt.Sprintf("mapping: table of %d buckets", table.Buckets))
	}
	_, oneServer := client.(*redis.Client)
	return &Redis{client: client, table: table, ordered: oneServer}
}

// Within returns the same lookup with a limit on the time of each round trip of [Redis.Rows], its retries included.
func (r *Redis) Within(limit time.Duration) *Redis {
	limited := *r
	limited.limit = limit
	return &limited
}

// placed is the position of an id in a call, and its bucket.
type placed struct {
	bucket uint32
	at     int32
}

// byBucket returns the positions of ids, sorted by their buckets.
func byBucket(ids []string, buckets int) []placed {
	sorted := make([]uint64, len(ids)) // bucket, position: numbers are sorted much faster than structs are
	for i, id := range ids {
		sorted[i] = uint64(bucketOf(id, buckets))<<32 | uint64(i)
	}
	slices.Sort(sorted)
	order := make([]placed, len(ids))
	for i, s := range sorted {
		order[i] = placed{uint32(s >> 32), int32(s)}
	}
	return order
}

// within bounds the time of a round trip; a limit of 0 is none.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
	}
	return ctx, func() {}
}

// portion returns how many of the first ids of a list go into one round trip, at least one.
func portion(ids []string, order []placed) int {
	size := 0
	for n, p := range order {
		if size += len(ids[p.at]); n > 0 && (n == idsPerPipeline || size > idBytesPerPipeline) {
			return n
		}
	}
	return len(order)
}

// Rows implements [Lookup]: one round trip for each 4096 ids or MiB of ids, with one HMGET, or HGET, a bucket, and a second
// one where all ids of a bucket are without a row. It returns [ErrVanished] if the table is no longer the one for
// which the lookup was made; then no row may be used.
//
// If rows are damaged, or buckets are missing although the version is complete, the error says so ([ErrDamaged],
// [ErrVanished]), and all other rows are filled; a [Guard] goes on with these.
func (r *Redis) Rows(ctx context.Context, ids []string, rows []infer.Row) error {
	checkLengths(ids, rows)
	var missing incomplete
	for order := byBucket(ids, r.table.Buckets); len(order) > 0; {
		n := portion(ids, order)
		some, err := r.read(ctx, order[:n], ids, rows)
		if err != nil {
			return fmt.Errorf("reading %d mapping rows: %w", len(ids), final(Misdirected(r.client, err)))
		}
		missing.add(some)
		order = order[n:]
	}
	if err := missing.failure(); err != nil {
		return fmt.Errorf("reading %d mapping rows: %w", len(ids), err)
	}
	return nil
}

// read fills the rows of one chunk. The marker is asked for after the rows: if it still stands, none of them had
// been removed when it was read.
func (r *Redis) read(ctx context.Context, chunk []placed, ids []string, rows []infer.Row) (missing incomplete,
	err error) {
	ctx, cancel := within(ctx, r.limit)
	defer cancel()
	pipe := r.client.Pipeline()
	keys := r.table.bucketKeys(chunk)
	answers := askBuckets(ctx, pipe, keys, ids, chunk)
	var marker *redis.StringCmd
	if r.ordered {
		marker = pipe.HGet(ctx, r.table.Marker, MarkerField)
	}
	if _, err := pipe.Exec(ctx); failed(err) {
		return missing, err
	}
	if marker != nil {
		if err := r.checkMarker(marker); err != nil {
			return missing, err
		}
	}
	unknown, empty := false, []evictedBucket(nil)
	for i := range answers {
		of := chunk[:inBucket(chunk)]
		for _, p := range of {
			rows[p.at] = infer.Row{}
		}
		found := 0
		err := answers[i].each(func(k int, value string) {
			found++
			at := of[k].at
			var err error
			if rows[at], err = DecodeRow([]byte(value), r.table.Synthetic); err != nil {
				missing.damaged = append(missing.damaged, damagedRow{at, ids[at], err})
			}
		})
		if err != nil {
			return missing, err
		}
		unknown = unknown || found < len(of)
		if found == 0 {
			empty = append(empty, evictedBucket{key: keys[i], marker: r.table.Marker, at: positions(of)})
		}
		chunk = chunk[len(of):]
	}
	if len(empty) == 0 && (marker != nil || !unknown) {
		return missing, nil // a row that was found belongs to the version: two tables never share a key
	}
	missing.evicted, err = r.confirm(ctx, empty)
	return missing, err
}

func positions(order []placed) []int32 {
	at := make([]int32, len(order))
	for k, p := range order {
		at[k] = p.at
	}
	return at
}

// confirm returns those of the buckets that are missing. A bucket in which no id was found may have been lost while
// the marker was not: by eviction, or with a node of a cluster. Its ids must not be taken for ids that are not in T.
func (r *Redis) confirm(ctx context.Context, empty []evictedBucket) (missing []evictedBucket, err error) {
	pipe := r.client.Pipeline()
	there := make([]*redis.IntCmd, len(empty))
	for i := range empty {
		there[i] = pipe.Exists(ctx, empty[i].key)
	}
	marker := pipe.HGet(ctx, r.table.Marker, MarkerField)
	if _, err := pipe.Exec(ctx); failed(err) {
		return nil, err
	}
	if err := r.checkMarker(marker); err != nil {
		return nil, err
	}
	for i, found := range there {
		switch n, err := found.Result(); {
		case err != nil:
			return nil, err
		case n == 0:
			missing = append(missing, empty[i])
		}
	}
	return missing, nil
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
	return checkID(id, key, want)
}

// checkID compares the id of the marker at a key, "" if there is none, with the id that is wanted.
func checkID(id, key, want string) error {
	switch id {
	case "":
		return fmt.Errorf("%w: marker %s is missing", ErrVanished, key)
	case want:
		return nil
	default:
		return fmt.Errorf("%w: marker %s has id %q, want %q", ErrVanished, key, id, want)
	}
}
