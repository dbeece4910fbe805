package main

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

// storedRows are the rows of arrivals that Redis had in a run, of each version and id in the order in which they were
// there. The oracle needs those that transactions wrote which were aborted: no visible prediction gives them.
type storedRows struct {
	mu  sync.Mutex
	all map[rowKey][]oracle.Stored
}

type rowKey struct{ version, id string }

// readEvery is less than the shortest life of a row, so that most rows are read. Those that are lost before are few.
const readEvery = rowsLive / 4

// follow reads all rows again and again until ctx ends. While Redis is away it reads none.
func (r *storedRows) follow(ctx context.Context, client redis.UniversalClient) {
	r.all = map[rowKey][]oracle.Stored{}
	for harness.Sleep(ctx, readEvery) == nil {
		_ = r.read(ctx, client)
	}
}

// read reads the rows of all versions: fields of the hashes PREFIX:VERSION:SERIAL:arrivals:BUCKET:EPOCH.
func (r *storedRows) read(ctx context.Context, client redis.UniversalClient) error {
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
func (r *storedRows) add(key rowKey, record string, at time.Time) {
	const seal = 4
	arrived, err := arrivals.DecodeArrived([]byte(record[:max(0, len(record)-seal)]), math.MaxInt32)
	if err != nil {
		return // consumers mark predictions that need it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := r.all[key]
	if n := len(rows); n > 0 && slices.Equal(rows[n-1].Row.Cols, arrived.Row.Cols) &&
		slices.Equal(rows[n-1].Row.Vals, arrived.Row.Vals) {
		rows[n-1].To = at
		return
	}
	r.all[key] = append(rows, oracle.Stored{Row: arrived.Row, From: at, To: at})
}

// of returns the rows of an id under a version.
func (r *storedRows) of(version, id string) []oracle.Stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[rowKey{version, id}]
}
