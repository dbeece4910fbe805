// Package rows reads the rows of arrivals that Redis has while faults happen.
package rows

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping/arrivals"
	"rivulet/test/chaos/oracle"
	"rivulet/test/harness"
)

// Rows are the rows of arrivals that Redis had in a run, of each version and id in the order in which they were
// there. The oracle needs those that transactions wrote which were aborted: no visible prediction gives them.
type Rows struct {
	mu  sync.Mutex
	all map[rowKey][]oracle.Stored
}

type rowKey struct{ version, id string }

// Follow reads all rows that have a prefix, again and again, until ctx ends. Between two times it waits for less than
// the shortest life of a row, so that most are read. While Redis is away it reads none.
func (r *Rows) Follow(ctx context.Context, client redis.UniversalClient, prefix string, wait time.Duration) {
	for harness.Sleep(ctx, wait) == nil {
		_ = r.read(ctx, client, prefix)
	}
}

// read reads the rows of all versions: fields of the hashes PREFIX:VERSION:SERIAL:arrivals:BUCKET:EPOCH.
func (r *Rows) read(ctx context.Context, client redis.UniversalClient, prefix string) error {
	const batch = 1000
	var keys []string
	for found := client.ScanType(ctx, 0, prefix+":*:arrivals:*", batch, "hash").Iterator(); found.Next(ctx); {
		keys = append(keys, found.Val())
	}
	for some := range slices.Chunk(keys, batch) {
		pipe := client.Pipeline()
		for _, key := range some {
			pipe.HGetAll(ctx, key)
		}
		answers, err := pipe.Exec(ctx)
		if err != nil {
			return err
		}
		for i, answer := range answers {
			parts := strings.Split(some[i], ":")
			version := strings.Join(parts[1:len(parts)-4], ":")
			for id, record := range answer.(*redis.MapStringStringCmd).Val() {
				r.add(rowKey{version, id}, record, time.Now())
			}
		}
	}
	return nil
}

// add keeps a row that was read. The bytes of its seal, which the consumers check, are its last four.
func (r *Rows) add(key rowKey, record string, at time.Time) {
	const seal = 4
	arrived, err := arrivals.DecodeArrived([]byte(record[:max(0, len(record)-seal)]), math.MaxInt32)
	if err != nil {
		return // consumers mark predictions that need it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[rowKey][]oracle.Stored{}
	}
	rows := r.all[key]
	if n := len(rows); n > 0 && slices.Equal(rows[n-1].Row.Cols, arrived.Row.Cols) &&
		slices.Equal(rows[n-1].Row.Vals, arrived.Row.Vals) {
		rows[n-1].To = at
		return
	}
	r.all[key] = append(rows, oracle.Stored{Row: arrived.Row, From: at, To: at})
}

// IDs returns the ids that had a row in Redis.
func (r *Rows) IDs() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string]bool{}
	for key := range r.all {
		ids[key.id] = true
	}
	return ids
}

// Of returns the rows of an id under a version.
func (r *Rows) Of(version, id string) []oracle.Stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[rowKey{version, id}]
}
