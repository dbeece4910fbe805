package arrivals

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// rowOverhead is a row's memory beside its content: its share of a bucket and of the bucket's key. Rows of ids of up to
// 50 bytes take less.
const rowOverhead = 64

// Keep writes rows of arrivals. An id that has a row keeps it, unless the new one is to replace it. Rows beyond MaxRows
// or MaxBytes are left out. Keep may be called again with the same rows, with the same result. It returns
// [mapping.ErrVanished], and leaves no row behind, if the version is no longer in Redis; likewise
// [growth.ErrOvertaken].
//
// Find finds a row in memory afterwards, if Redis says that this call wrote it, and if it was looked up
// ([growth.ArrivalRow].AsOf) in the epoch in which it was written.
func (a *Rows) Keep(ctx context.Context, arrived []growth.ArrivalRow, by growth.Fence) error {
	for len(arrived) > 0 {
		chunk := a.encode(arrived)
		if err := a.write(ctx, chunk, by); err != nil {
			return fmt.Errorf("writing rows of %d arrivals: %w", len(chunk), mapping.Permanent(err))
		}
		arrived = arrived[len(chunk):]
	}
	return nil
}

// rowWrite is one arrival's row, as it goes to Redis.
type rowWrite struct {
	*growth.ArrivalRow
	record  string
	written bool // this process has written it, in the last attempt
}

func (k *rowWrite) size() int64 { return int64(len(k.ID)+len(k.record)) + rowOverhead }

// encode returns the rows of one round trip, from the first one on, with records.
func (a *Rows) encode(arrived []growth.ArrivalRow) []rowWrite {
	n := min(len(arrived), idsPerPipeline)
	ends, arena := make([]int, 0, n), make([]byte, 0, roomFor(arrived[:n]))
	seed := a.table.rowSeed()
	for i, ids := 0, 0; i < n && ids+len(arena) < mapping.BytesPerPipeline; i++ {
		ids += len(arrived[i].ID)
		begin := len(arena)
		arena = appendSeal(AppendArrived(arena, &arrived[i]), begin, seed, arrived[i].ID)
		ends = append(ends, len(arena))
	}
	chunk := make([]rowWrite, len(ends))
	for i, record := range mapping.CutText(arena, ends) {
		chunk[i] = rowWrite{ArrivalRow: &arrived[i], record: record}
	}
	return chunk
}

// roomFor returns about how many bytes the records of arrivals take, in one round trip.
func roomFor(arrived []growth.ArrivalRow) int {
	const head, place, entry = 10 + sealBytes, 1, 6 // bytes; large numbers take a few more
	room := 0
	for i := range arrived {
		room += head + place*len(arrived[i].Attached) + entry*len(arrived[i].Row.Cols)
	}
	return min(room, mapping.BytesPerPipeline)
}

// write writes rows under the epoch of Redis' time. If the answer names another epoch, it writes them again.
func (a *Rows) write(ctx context.Context, rows []rowWrite, by growth.Fence) error {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	for {
		was := moment{a.epoch.Load(), a.forgotten.Load()}
		var now moment
		var err error
		if a.ordered {
			now, err = a.writeServer(ctx, rows, was.epoch, by)
		} else {
			now, err = a.writeCluster(ctx, rows, was.epoch, by)
		}
		a.epoch.Store(now.epoch)
		if err != nil {
			return err
		}
		if now.epoch == was.epoch {
			if now == was {
				a.remember(rows, was)
			}
			return nil
		}
	}
}

// remember puts rows into the cache that were written under an epoch, as if they had been read. It takes only rows that
// every reader finds in Redis: Redis says that this process wrote them, their ids had no row in the epoch before, and
// their bytes are readable. If an id was looked up before the epoch began, an older row of it may be there.
func (a *Rows) remember(rows []rowWrite, at moment) {
	a.cacheAt(at.forgotten, func(yield func(rowcache.Row) bool) {
		for i := range rows {
			r := &rows[i]
			if r.written && r.AsOf == at.epoch && mapping.Readable(r.Row, a.table.Synthetic) &&
				!yield(rowcache.Row{ID: r.ID, Row: r.Row, Stamp: at.epoch}) {
				return
			}
		}
	})
}

// writeServer writes rows to one server and returns the moment. If its epoch is another one, it has written nothing.
func (a *Rows) writeServer(ctx context.Context, rows []rowWrite, epoch int64, by growth.Fence) (now moment,
	err error) {
	now = moment{epoch: epoch}
	keys, args := a.keepArguments(rows, epoch, by)
	answer, err := a.run(ctx, keepRows, keys, args)
	if err != nil {
		return now, err
	}
	var numbers [6]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(answer[i+1], 10, 64); err != nil {
			return now, fmt.Errorf("writing rows of arrivals: Redis answered %q: %w", answer, err)
		}
	}
	switch answer[0] {
	case "gone":
		return now, fmt.Errorf("%w: marker %s is missing or another one", mapping.ErrVanished, a.table.Marker)
	case "overtaken":
		return now, growth.ErrOvertaken
	case "epoch":
		return moment{epoch: numbers[0]}, nil
	}
	for i := range rows {
		rows[i].written = answer[7][i] == '1'
	}
	a.account(numbers[1], numbers[2])
	a.rows.Store(numbers[3])
	a.bytes.Store(numbers[4])
	now.forgotten = numbers[5]
	return now, nil
}

// keepArguments returns the keys and arguments of keepRows.
func (a *Rows) keepArguments(rows []rowWrite, epoch int64, by growth.Fence) (keys []string, args []any) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	order := byBucket(ids, a.buckets)
	keys = []string{a.table.Marker, a.table.count(epoch - 1), a.table.bytes(epoch - 1), a.table.count(epoch),
		a.table.bytes(epoch)}
	keys = append(keys, a.table.fenced(by)[1:]...)
	places, at := make([]int, len(rows)), len(keys) // Lua counts from 1
	for k, p := range order {
		if k == 0 || p.Part != order[k-1].Part {
			at++
		}
		places[p.At] = at
	}
	keys = append(keys, a.table.bucketKeys(order, epoch)...)
	args = append(make([]any, 0, 11+4*len(rows)), a.table.MarkerID, a.ttl.Milliseconds(), epoch, a.end(epoch),
		a.o.MaxRows, a.mostBytes(), rowOverhead, len(by.Places), by.Generation, by.Confirmed, noteTTL.Milliseconds())
	none := 0
	for i := range rows {
		// pointers, because a value in an interface is allocated
		if args = append(args, &places[i], &ids[i], &rows[i].record, &none); rows[i].Replace {
			keys = append(keys, a.table.bucket(bucketOf(ids[i], a.buckets), epoch-1))
			args[len(args)-1] = len(keys)
		}
	}
	return keys, args
}

func (a *Rows) mostBytes() int64 {
	if a.o.MaxBytes == 0 {
		return math.MaxInt64
	}
	return a.o.MaxBytes
}

// account counts rows that were written and rows that were refused.
func (a *Rows) account(written, refused int64) {
	a.written.Add(uint64(written))
	a.refused.Add(uint64(refused))
	a.sayFull(refused > 0)
}

// sayFull logs once that there is no room for more rows, and once that there is room again.
func (a *Rows) sayFull(full bool) {
	if a.full.Swap(full) == full {
		return
	}
	if full {
		a.o.Log.Warn("the rows of arrivals have reached their limit: further arrivals get none until some expire",
			"rows", a.rows.Load(), "max_rows", a.o.MaxRows, "bytes", a.bytes.Load(), "max_bytes", a.o.MaxBytes)
	} else {
		a.o.Log.Info("arrivals get rows again", "rows", a.rows.Load(), "bytes", a.bytes.Load())
	}
}

// writeCluster writes rows to the nodes of a cluster and returns the moment of the marker's node after that. If its
// epoch is another one, the rows were written under a past epoch, where they do no harm.
//
// The marker is on another node than most rows, so it is read after they were written: rows of a version that
// is gone, or of a consumer that was overtaken, are removed again.
func (a *Rows) writeCluster(ctx context.Context, rows []rowWrite, epoch int64, by growth.Fence) (now moment,
	err error) {
	now = moment{epoch: epoch}
	rows = a.room(rows)
	replaced, err := a.replaced(ctx, rows, by)
	if err != nil {
		return now, err
	}
	answers, err := a.sendBuckets(ctx, rows, epoch)
	if err == nil && len(replaced) > 0 { // readers would find the older row
		err = errors.Join(a.removeCluster(ctx, replaced, epoch-1, make([]bool, len(replaced))),
			countForgotten.Run(ctx, a.client, []string{a.table.Marker}, a.table.MarkerID).Err())
	}
	if err != nil {
		return now, err
	}
	at, err := a.standing(ctx, by)
	if errors.Is(err, mapping.ErrVanished) || errors.Is(err, growth.ErrOvertaken) {
		return now, errors.Join(err, a.withdraw(ctx, rows, epoch))
	}
	if err != nil {
		return now, err
	}
	n, size := int64(0), int64(0)
	for _, answer := range answers {
		written, err := answer.Int64Slice()
		if err != nil {
			return now, err
		}
		for i := range written {
			if written[i] == 1 {
				n, size = n+1, size+answer.rows[i].size()
			}
			answer.rows[i].written = written[i] == 1
		}
	}
	a.written.Add(uint64(n))
	a.rows.Add(n)
	a.bytes.Add(size)
	if n > 0 {
		err = a.counted(ctx, epoch, n, size)
	}
	return moment{epochAt(at.now, a.ttl), at.forgotten}, err
}

// replaced returns the ids whose rows are replaced, and takes care that no earlier generation replaces them again.
func (a *Rows) replaced(ctx context.Context, rows []rowWrite, by growth.Fence) (ids []growth.Forget, err error) {
	for i := range rows {
		if rows[i].Replace {
			ids = append(ids, growth.Forget{ID: rows[i].ID})
		}
	}
	if len(ids) > 0 {
		err = a.fence(ctx, by)
	}
	return ids, err
}

// bucketAnswer is the answer to the rows that were sent to one bucket.
type bucketAnswer struct {
	*redis.Cmd
	rows []*rowWrite
}

// sendBuckets writes rows, a command for all rows of a bucket.
func (a *Rows) sendBuckets(ctx context.Context, rows []rowWrite, epoch int64) (answers []bucketAnswer, err error) {
	pipe := a.client.Pipeline()
	for bucket, rows := range a.inBuckets(rows) {
		args := []any{a.end(epoch)}
		for _, row := range rows {
			args = append(args, row.ID, row.record, row.Replace)
		}
		answers = append(answers, bucketAnswer{keepBucket.Eval(ctx, pipe, []string{a.table.bucket(bucket, epoch)},
			args...), rows})
	}
	_, err = pipe.Exec(ctx)
	return answers, err
}

// room returns the rows for which there is room, by the counts of the last answer.
func (a *Rows) room(rows []rowWrite) []rowWrite {
	there, bytes, n := a.rows.Load(), a.bytes.Load(), 0
	for n < len(rows) && there < int64(a.o.MaxRows) && bytes+rows[n].size() <= a.mostBytes() {
		there, bytes, n = there+1, bytes+rows[n].size(), n+1
	}
	a.account(0, int64(len(rows)-n))
	return rows[:n]
}

func (a *Rows) inBuckets(rows []rowWrite) map[uint32][]*rowWrite {
	of := map[uint32][]*rowWrite{}
	for i := range rows {
		bucket := bucketOf(rows[i].ID, a.buckets)
		of[bucket] = append(of[bucket], &rows[i])
	}
	return of
}

// withdraw removes rows that were written too late.
func (a *Rows) withdraw(ctx context.Context, rows []rowWrite, epoch int64) error {
	pipe := a.client.Pipeline()
	for i := range rows {
		pipe.HDel(ctx, a.table.bucket(bucketOf(rows[i].ID, a.buckets), epoch), rows[i].ID)
	}
	if _, err := pipe.Exec(ctx); err != nil && len(rows) > 0 {
		return fmt.Errorf("removing them again: %w", err)
	}
	return nil
}

// counted adds to the counts of an epoch, on a cluster. Rows that a killed process did not count stay
// uncounted until the epoch ends.
func (a *Rows) counted(ctx context.Context, epoch, rows, bytes int64) error {
	pipe := a.client.Pipeline()
	for key, n := range map[string]int64{a.table.count(epoch): rows, a.table.bytes(epoch): bytes} {
		pipe.IncrBy(ctx, key, n)
		if a.ttl > 0 {
			pipe.Do(ctx, "PEXPIREAT", key, a.end(epoch))
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// end returns when rows of an epoch expire, in ms of Redis' time; 0: never.
func (a *Rows) end(epoch int64) int64 {
	return (epoch + 2) * a.ttl.Milliseconds()
}
