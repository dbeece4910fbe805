package arrivals

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// Table names the keys of the rows of arrivals of one version. All of them expire.
//
//	Rows+id  string  the row of the arrival with this id, [Options].TTL after it was written
//	Counts   hash    slice of time -> rows that expire in it; slice and "b" -> their bytes
//
// A slice is a part of a TTL and named by its end, in ms of Redis' clock. Rows count from when they are written until
// the end of the slice in which they expire, also if they are replaced or removed earlier. So no count has to be taken
// back, and the sum is never less than the number of rows that are there.
type Table struct {
	// Rows is the beginning of the keys of rows.
	Rows, Counts string
	// Synthetic is N', the number of columns of M.
	Synthetic int
	// Marker and MarkerID are the same as in the version's [mapping.Table]. The marker's field [ForgottenField] counts
	// ids that were forgotten.
	Marker, MarkerID string
}

// ForgottenField is the field of a version's marker that counts ids that were forgotten. If it rises, readers drop the
// rows in their memory.
const ForgottenField = "forgotten"

// Options say how rows of arrivals are stored.
type Options struct {
	// TTL is the time that a row is stored, at least a second.
	TTL time.Duration
	// MaxRows is the largest number of rows of arrivals of a version, as [Table].Counts has it; further ones are not
	// written. At least 1. MaxBytes is the most memory for them, where each row counts with the bytes of its key and its
	// value and some more; 0: no limit.
	MaxRows  int
	MaxBytes int64
	// CacheBytes is the approximate memory for rows of arrivals that were found, or written by this process; 0 caches
	// none.
	CacheBytes int64
	// Limit bounds the time of one round trip, its retries included; 0: no limit.
	Limit time.Duration
	// Log gets a line when rows begin to be left out because there are too many, and when that ends, and one for damaged
	// rows; nil: no log.
	Log *slog.Logger
}

// Rows reads and writes the rows that arrivals were given under one version. It is safe for concurrent use.
//
// Rows that were found, or written by this process, are kept in memory until they expire or an id is forgotten. Another
// consumer may meanwhile replace them. The absence of a row is not kept, because another consumer may have just
// written it.
type Rows struct {
	client  mapping.Client
	table   Table
	o       Options
	ordered bool            // one server: the commands of a pipeline run in their order
	cache   *rowcache.Cache // nil if nothing is kept; a row's stamp is when it expires, in ms of Redis' clock

	// fresh guards additions to cache: none may follow a Clear that was due before it ([Rows.cacheAt]).
	fresh     sync.RWMutex
	forgotten atomic.Int64 // count of forgotten ids up to which the cache was cleared
	ahead     atomic.Int64 // ms by which Redis' clock was ahead of this machine's at its last answer

	rows, bytes                      atomic.Int64 // in Redis, when last counted
	written, refused, found, damaged atomic.Uint64
	full                             atomic.Bool
	said                             atomic.Int64 // when damage was logged last, in Unix seconds
}

// New returns the rows of a table. The caller still owns client.
func New(client mapping.Client, table Table, o Options) *Rows {
	if o.MaxRows < 1 || o.MaxBytes < 0 || o.TTL < time.Second {
		panic(fmt.Sprintf("mapping: arrivals of at most %d rows and %d bytes for %s", o.MaxRows, o.MaxBytes, o.TTL))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Rows{client: client, table: table, o: o, ordered: mapping.OneServer(client)}
	if o.CacheBytes > 0 {
		a.cache = rowcache.New(o.CacheBytes, func(int64) attach.Row { return attach.Row{Known: true, Arrived: true} })
	}
	return a
}

// Stats holds counts since the version was loaded, except Rows and Bytes.
type Stats struct {
	// Rows and Bytes count the rows of arrivals that all consumers have written and that have not expired, as of the last
	// batch with new ones. Rows that were replaced or forgotten count until they would have expired.
	Rows, Bytes int64
	Written     uint64 // rows that this process wrote
	Refused     uint64 // rows that it did not write because of MaxRows or MaxBytes
	Found       uint64 // ids that were not in T and had a row
	Damaged     uint64 // stored rows that could not be decoded
	// Lost counts rows that the caller of [Rows.Keep] did without because Redis did not take them. Package serving counts
	// them.
	Lost uint64
}

// Stats returns the counts.
func (a *Rows) Stats() Stats {
	return Stats{Rows: a.rows.Load(), Bytes: a.bytes.Load(), Written: a.written.Load(), Refused: a.refused.Load(),
		Found: a.found.Load(), Damaged: a.damaged.Load()}
}

// damage counts a stored row that cannot be read, and logs one in ten seconds.
func (a *Rows) damage(id string, err error) {
	a.damaged.Add(1)
	const every = 10
	if now, last := time.Now().Unix(), a.said.Load(); now-last >= every && a.said.CompareAndSwap(last, now) {
		a.o.Log.Error("a stored row of an arrival is damaged: predictions that need it are marked as degraded",
			"id", id, "error", err)
	}
}

// AppendRow appends the stored form of an arrival's row: when it expires in ms of Redis' clock (uvarint), and the row
// as [mapping.AppendRow] encodes it.
func AppendRow(dst []byte, expires int64, row attach.Row) []byte {
	return mapping.AppendRow(binary.AppendUvarint(dst, uint64(expires)), row)
}

// DecodeRow decodes the stored form of an arrival's row ([AppendRow]).
func DecodeRow(data []byte, synthetic int) (row attach.Row, expires int64, err error) {
	at, rest, err := mapping.Uvarint(data)
	if err != nil {
		return row, 0, fmt.Errorf("time at which the row expires: %w", err)
	}
	if row, err = mapping.DecodeRow(rest, synthetic); err != nil {
		return attach.Row{}, 0, err
	}
	row.Arrived = true
	return row, int64(at), nil
}
