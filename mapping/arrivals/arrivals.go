package arrivals

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// Table names the place of the rows of M that arrivals were given under one version, beside the
// version's [Table]. They are spread over buckets as T's rows are. Redis expires keys and not their fields, so
// each bucket is a new hash every TTL:
//
//	Keys                 hash    ttl_ms, buckets: the settings of the version's first consumer, which apply to all; seal
//	Keys:b:e             hash    bucket b of epoch e: id -> record, seal; expires when epoch e+1 ends
//	Keys:count:e         string  rows written in epoch e; expires with them
//	Keys:count:bytes:e   string  their bytes ([Options].MaxBytes); expires with them
//	Notes:place          hash    offset, or offset.edge -> note, seal (see [Rows.Note]); expires a week after the last
//	                             one was written
//
// Epoch e is Redis' time divided by the TTL, so a row lives for at least one TTL and at most two, and a reader asks for
// an id in two hashes. Without a TTL there is only epoch 0, which does not expire. Only Redis' clock counts, on a
// cluster the clock of the marker's node.
//
// Notes are of records in flight and outlive the version's rows: a version that was removed and is published
// again has the same content, and a record that it has predicted before is predicted again with its note.
type Table struct {
	// Keys is the beginning of all keys.
	Keys string
	// Synthetic is N', the number of columns of M.
	Synthetic int
	// Marker and MarkerID are the same as in the version's Table.
	Marker, MarkerID string
	// Notes is the beginning of the keys of notes. On a cluster they share a slot with Marker.
	Notes string
}

func (t *Table) bucket(bucket uint32, epoch int64) string {
	return string(t.appendBucket(make([]byte, 0, 128), bucket, epoch)) // on the stack where it is long enough
}

// bucketKeys returns the keys of the buckets of a sorted list under an epoch, each once.
func (t *Table) bucketKeys(order []mapping.Position, epoch int64) []string {
	return bucketKeys(order, len(t.Keys)+32, func(key []byte, bucket uint32) []byte {
		return t.appendBucket(key, bucket, epoch)
	})
}

func (t *Table) appendBucket(key []byte, bucket uint32, epoch int64) []byte {
	key = append(append(key, t.Keys...), ':')
	key = append(strconv.AppendUint(key, uint64(bucket), 10), ':')
	return strconv.AppendInt(key, epoch, 10)
}

func (t *Table) count(epoch int64) string {
	return t.Keys + ":count:" + strconv.FormatInt(epoch, 10)
}

func (t *Table) bytes(epoch int64) string {
	return t.Keys + ":count:bytes:" + strconv.FormatInt(epoch, 10)
}

// Options say how rows of arrivals are stored.
type Options struct {
	// TTL is the shortest time for which a row is stored; it is stored for at most twice as long. 0: as long as the
	// version.
	TTL time.Duration
	// MaxRows is the largest number of rows of arrivals of a version; further ones are not written. At least 1. MaxBytes
	// is the most memory for them, where each row counts with the bytes of its id and its record and 64 more; 0: no limit.
	// One server keeps to both; on a cluster, consumers that write at the same time may exceed them by one batch each.
	MaxRows  int
	MaxBytes int64
	// Replicas is how many replicas of Redis must have rows and notes before these count as written; 0: none. A
	// cluster cannot say.
	Replicas int
	// CacheBytes is the approximate memory for rows of arrivals that were found, or written by this process; 0 caches
	// none.
	CacheBytes int64
	// Limit bounds the time of one round trip, its retries included; 0: no limit.
	Limit time.Duration
	// Log gets a line when rows begin to be left out because there are too many, and when that ends, and one for each
	// damaged row or note; nil: no log.
	Log *slog.Logger
}

// Rows reads and writes the rows that arrivals were given under one version. An id's first row counts until it expires,
// unless another one replaces it ([growth.ArrivalRow].Replace). It is safe for concurrent use.
//
// Rows that were found, or written by this process, are kept in memory; the absence of a row is not, because another
// consumer may have just written it.
type Rows struct {
	client mapping.Client
	table  Table
	o      Options
	settings
	ordered bool            // see Redis
	cache   *rowcache.Cache // nil if nothing is kept

	// fresh guards additions to cache: none may follow a Clear that was due before it ([Rows.cacheAt]).
	fresh     sync.RWMutex
	forgotten atomic.Int64 // how often rows of the version were forgotten, as far as cache knows

	epoch                            atomic.Int64 // by Redis' time, when it last answered
	lonely                           atomic.Int64 // an epoch that is past and has no rows; noEpoch: none is known
	rows, bytes                      atomic.Int64 // in Redis, when last counted
	written, refused, found, damaged atomic.Uint64
	full                             atomic.Bool
	saidRow, saidNote                atomic.Int64 // when damage was logged last, in Unix seconds
}

// Open agrees with the version's other consumers on TTL and buckets: the first consumer's settings apply
// until the version is removed, and a warning is logged if o differs from them. If Redis takes no writes, the settings
// are read if an earlier consumer has written them, and else it returns an error ([mapping.TakesNoWrites]). It returns
// [mapping.ErrDamaged] for settings that differ from their seal. The caller still owns client.
func Open(ctx context.Context, client mapping.Client, table Table, o Options) (*Rows, error) {
	if o.MaxRows < 1 || o.MaxBytes < 0 || o.TTL < 0 || o.Replicas < 0 {
		panic(fmt.Sprintf("mapping: arrivals of at most %d rows and %d bytes for %s, on %d replicas",
			o.MaxRows, o.MaxBytes, o.TTL, o.Replicas))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	oneServer := mapping.OneServer(client)
	if o.Replicas > 0 && !oneServer {
		return nil, mapping.Refusal{Reason: errors.New("opening the rows of arrivals: a cluster cannot wait for replicas")}
	}
	a := &Rows{client: client, table: table, o: o, ordered: oneServer}
	a.lonely.Store(noEpoch)
	if o.CacheBytes > 0 {
		a.cache = rowcache.New(o.CacheBytes, rowOfArrival)
	}
	if err := a.agree(ctx); err != nil {
		return nil, fmt.Errorf("opening the rows of arrivals: %w", err)
	}
	return a, nil
}

func epochAt(now time.Time, ttl time.Duration) int64 {
	if ttl == 0 {
		return 0
	}
	return now.UnixMilli() / ttl.Milliseconds()
}

// living returns the epochs whose rows have not expired, the older first.
func living(epoch int64, ttl time.Duration) []int64 {
	if ttl == 0 {
		return []int64{0}
	}
	return []int64{epoch - 1, epoch}
}

// Stats holds counts since the version was loaded, except Rows and Bytes.
type Stats struct {
	// Rows and Bytes count the rows of arrivals that all consumers have written and that have not expired, as of the last
	// batch.
	Rows, Bytes int64
	Written     uint64 // rows that this process wrote
	Refused     uint64 // rows that it did not write because of MaxRows or MaxBytes
	Found       uint64 // ids that were not in T and had a row
	Damaged     uint64 // stored rows and notes that could not be decoded
	// Lost and Unnoted count rows and notes that the caller of [Rows.Keep] and [Rows.Note] did without because Redis did
	// not take them. Package serving counts them.
	Lost, Unnoted uint64
}

// Stats returns the counts.
func (a *Rows) Stats() Stats {
	return Stats{Rows: a.rows.Load(), Bytes: a.bytes.Load(), Written: a.written.Load(), Refused: a.refused.Load(),
		Found: a.found.Load(), Damaged: a.damaged.Load()}
}

// damage counts a stored row or note that cannot be read, and logs one in ten seconds.
func (a *Rows) damage(said *atomic.Int64, what string, args ...any) {
	a.damaged.Add(1)
	const every = 10
	if now, last := time.Now().Unix(), said.Load(); now-last >= every && said.CompareAndSwap(last, now) {
		a.o.Log.Error(what, args...)
	}
}

// AppendArrived appends the encoding of an arrival without its id: the record's fingerprint in 8 bytes,
// little-endian, the number of places at which it was attached and the gaps between them (uvarints), and the row as
// [mapping.AppendRow] encodes it. Places must ascend.
func AppendArrived(dst []byte, a *growth.ArrivalRow) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, a.Record)
	dst = binary.AppendUvarint(dst, uint64(len(a.Attached)))
	last := int32(-1)
	for _, p := range a.Attached {
		if p <= last {
			panic(fmt.Sprintf("mapping: place %d after place %d", p, last))
		}
		dst = binary.AppendUvarint(dst, uint64(p-last-1))
		last = p
	}
	return mapping.AppendRow(dst, a.Row)
}

// DecodeArrived decodes the encoding of [AppendArrived]; the caller sets the id. Allocations are
// bounded by len(data).
func DecodeArrived(data []byte, synthetic int) (*growth.ArrivalRow, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("arrival of %d bytes, want at least 8", len(data))
	}
	a := &growth.ArrivalRow{Record: binary.LittleEndian.Uint64(data)}
	count, rest, err := mapping.Uvarint(data[8:])
	if err != nil {
		return nil, fmt.Errorf("arrival: number of places: %w", err)
	}
	if count > uint64(len(rest)) {
		return nil, fmt.Errorf("arrival: %d places in %d bytes", count, len(rest))
	}
	last := int32(-1)
	for p := range count {
		if last, rest, err = placeAfter(last, rest); err != nil {
			return nil, fmt.Errorf("arrival: place %d: %w", p, err)
		}
		a.Attached = append(a.Attached, last)
	}
	if a.Row, err = mapping.DecodeRow(rest, synthetic); err != nil {
		return nil, err
	}
	a.Row.Arrived = true
	return a, nil
}

// placeAfter reads the gap to the place after last, −1 for the first one, and returns that place.
func placeAfter(last int32, data []byte) (place int32, rest []byte, err error) {
	gap, rest, err := mapping.Uvarint(data)
	if err != nil {
		return 0, nil, err
	}
	next := uint64(last + 1)
	if last == math.MaxInt32 || gap > math.MaxInt32-next {
		return 0, nil, fmt.Errorf("it is %d past %d", gap, last)
	}
	return int32(next + gap), rest, nil
}

// cached sets the rows that are in memory and returns the positions of the others.
func (a *Rows) cached(ids []string, rows []attach.Row, oldest int64) (absent []int32) {
	absent = a.cache.Get(ids, rows, oldest)
	a.found.Add(uint64(len(ids) - len(absent)))
	return absent
}

// rowOfArrival begins the row of an arrival, whichever its epoch is.
func rowOfArrival(int64) attach.Row { return attach.Row{Known: true, Arrived: true} }
