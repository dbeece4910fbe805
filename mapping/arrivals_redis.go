package mapping

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer"
)

// Find fills rows[i] for each id ids[i], not in T, that belongs to an arrival with a row. own are the ids of the
// arrivals that are about to be predicted; seen[i] is the stored arrival with the id own[i], nil if there is none.
// len(rows) == len(ids), len(seen) == len(own). It returns [ErrVanished] as [Redis.Rows] does.
func (a *ArrivalRows) Find(ctx context.Context, ids []string, rows []infer.Row, own []string, seen []*infer.Arrived) error {
	checkLengths(ids, rows)
	if len(own) != len(seen) {
		panic(fmt.Sprintf("mapping: %d arrivals looked up into %d", len(own), len(seen)))
	}
	epochs := living(a.epoch(), a.ttl)
	absent := a.cached(ids, rows, epochs[0])
	if len(absent)+len(own) == 0 {
		return nil
	}
	all := make([]string, 0, len(absent)+len(own))
	for _, i := range absent {
		all = append(all, ids[i])
	}
	all = append(all, own...)
	for lo := 0; lo < len(all); lo += idsPerPipeline {
		hi := min(lo+idsPerPipeline, len(all))
		got, of, err := a.read(ctx, all[lo:hi], epochs)
		if err != nil {
			return fmt.Errorf("reading rows of %d arrivals: %w", len(all), final(err))
		}
		for k, arrived := range got {
			switch at := lo + k; {
			case arrived == nil:
			case at < len(absent):
				rows[absent[at]] = arrived.Row
				a.found.Add(1)
				a.keep(all[at], arrived.Row, of[k])
			default:
				arrived.ID = all[at]
				seen[at-len(absent)] = arrived
			}
		}
	}
	return nil
}

// keep puts a row into the cache, with a copy of its id.
func (a *ArrivalRows) keep(id string, row infer.Row, epoch int64) {
	if a.cache != nil {
		a.cache.Set(strings.Clone(id), cachedArrival{row, epoch})
	}
}

// read asks for ids in all living epochs, in one round trip, with the counts and, last, the marker. It returns the
// arrivals and the epoch of each.
func (a *ArrivalRows) read(ctx context.Context, ids []string, epochs []int64) (got []*infer.Arrived, of []int64, err error) {
	ctx, cancel := within(ctx, a.o.Limit)
	defer cancel()
	order := byBucket(ids, a.buckets)
	pipe := a.client.Pipeline()
	answers := make([][]*redis.SliceCmd, len(epochs)) // by epoch and bucket
	counts := make([]*redis.StringCmd, len(epochs))
	for e, epoch := range epochs {
		for rest := order; len(rest) > 0; {
			fields := sameBucket(ids, rest)
			answers[e] = append(answers[e], pipe.HMGet(ctx, a.table.bucket(rest[0].bucket, epoch), fields...))
			rest = rest[len(fields):]
		}
		counts[e] = pipe.Get(ctx, a.table.count(epoch))
	}
	var marker *redis.StringCmd
	if a.ordered {
		marker = pipe.HGet(ctx, a.table.Marker, MarkerField)
	}
	if _, err := pipe.Exec(ctx); failed(err) {
		return nil, nil, err
	}
	if !a.ordered {
		marker = a.client.HGet(ctx, a.table.Marker, MarkerField)
	}
	if err := checkMarker(marker, a.table.Marker, a.table.MarkerID); err != nil {
		return nil, nil, err
	}
	if err := a.take(counts); err != nil {
		return nil, nil, err
	}
	got, of = make([]*infer.Arrived, len(ids)), make([]int64, len(ids))
	for e := range epochs {
		rest := order
		for _, answer := range answers[e] {
			values, err := answer.Result()
			if err != nil {
				return nil, nil, err
			}
			for _, value := range values {
				i := rest[0].at
				rest = rest[1:]
				text, there := value.(string)
				if !there || got[i] != nil { // the older row is the one to use
					continue
				}
				if got[i], err = DecodeArrived([]byte(text), a.table.Synthetic); err != nil {
					return nil, nil, damaged{fmt.Errorf("id %q: %w", ids[i], err)}
				}
				of[i] = epochs[e]
			}
		}
	}
	return got, of, nil
}

// sameBucket returns the ids at the beginning of a sorted list that share a bucket.
func sameBucket(ids []string, order []placed) []string {
	n := 1
	for n < len(order) && order[n].bucket == order[0].bucket {
		n++
	}
	fields := make([]string, n)
	for k, p := range order[:n] {
		fields[k] = ids[p.at]
	}
	return fields
}

// take stores the number of rows.
func (a *ArrivalRows) take(counts []*redis.StringCmd) error {
	rows := int64(0)
	for _, count := range counts {
		n, err := count.Int64()
		switch {
		case errors.Is(err, redis.Nil):
		case errors.Is(err, strconv.ErrSyntax):
			return damaged{fmt.Errorf("counting rows of arrivals: %w", err)}
		case err != nil:
			return err
		}
		rows += n
	}
	a.rows.Store(rows)
	return nil
}

// Keep writes rows of arrivals. An id that has a row keeps it. again are ids whose rows Find returned: only their
// expiry is set again, because their writer may have been killed before it did so. Rows beyond MaxRows are left out.
// Keep may be called again with the same rows, with the same result.
func (a *ArrivalRows) Keep(ctx context.Context, arrived []infer.Arrived, again []string) error {
	room := max(0, int64(a.o.MaxRows)-a.rows.Load())
	if left := int64(len(arrived)) - room; left > 0 {
		arrived = arrived[:room]
		a.refused.Add(uint64(left))
	}
	a.sayFull(room == 0 && a.rows.Load() > 0)
	for len(arrived)+len(again) > 0 {
		n, m := min(len(arrived), idsPerPipeline), min(len(again), idsPerPipeline)
		if err := a.write(ctx, arrived[:n], again[:m]); err != nil {
			return fmt.Errorf("writing rows of %d arrivals: %w", n, final(err))
		}
		arrived, again = arrived[n:], again[m:]
	}
	return nil
}

// sayFull logs once that there is no room for more rows, and once that there is room again.
func (a *ArrivalRows) sayFull(full bool) {
	if a.full.Swap(full) == full {
		return
	}
	if full {
		a.o.Log.Warn("the number of rows of arrivals has reached its limit: further arrivals get none until some expire", "rows", a.rows.Load(), "max_rows", a.o.MaxRows)
	} else {
		a.o.Log.Info("arrivals get rows again", "rows", a.rows.Load(), "max_rows", a.o.MaxRows)
	}
}

func (a *ArrivalRows) write(ctx context.Context, arrived []infer.Arrived, again []string) error {
	ctx, cancel := within(ctx, a.o.Limit)
	defer cancel()
	epoch := a.epoch()
	pipe := a.client.Pipeline()
	touched := map[uint32]bool{}
	added := make([]*redis.BoolCmd, len(arrived))
	for i := range arrived {
		bucket := a.bucketOf(arrived[i].ID)
		added[i] = pipe.HSetNX(ctx, a.table.bucket(bucket, epoch), arrived[i].ID, AppendArrived(nil, &arrived[i]))
		touched[bucket] = true
	}
	for _, id := range again {
		touched[a.bucketOf(id)] = true
	}
	if a.ttl > 0 {
		for bucket := range touched {
			pipe.PExpireAt(ctx, a.table.bucket(bucket, epoch), a.end(epoch))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	n := int64(0)
	for _, of := range added {
		if of.Val() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	a.written.Add(uint64(n))
	a.rows.Add(n)
	return a.counted(ctx, epoch, n)
}

// counted adds to the count of an epoch. Rows that a killed process did not count stay uncounted until the epoch ends.
func (a *ArrivalRows) counted(ctx context.Context, epoch, n int64) error {
	pipe := a.client.Pipeline()
	pipe.IncrBy(ctx, a.table.count(epoch), n)
	if a.ttl > 0 {
		pipe.PExpireAt(ctx, a.table.count(epoch), a.end(epoch))
	}
	_, err := pipe.Exec(ctx)
	return err
}

// end returns the time at which rows of an epoch expire.
func (a *ArrivalRows) end(epoch int64) time.Time {
	return time.UnixMilli((epoch + 2) * a.ttl.Milliseconds())
}

// DeleteArrivalRows removes the rows of arrivals of a version whose marker is gone. It may be interrupted and called
// again.
func DeleteArrivalRows(ctx context.Context, client redis.UniversalClient, table ArrivalTable) error {
	agreed, err := client.HMGet(ctx, table.Keys, fieldTTL, fieldBuckets).Result()
	if err != nil {
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	if agreed[0] == nil && agreed[1] == nil {
		return nil // no consumer has opened the rows
	}
	ttl, buckets, err := parseAgreed(agreed)
	if err != nil {
		return damaged{fmt.Errorf("removing rows of arrivals: %s: %w", table.Keys, err)}
	}
	now, err := client.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	for _, epoch := range living(epochAt(now, ttl), ttl) {
		for first := 0; first < buckets; first += keysPerPipeline {
			pipe := client.Pipeline()
			last := min(first+keysPerPipeline, buckets)
			for b := first; b < last; b++ {
				pipe.Unlink(ctx, table.bucket(uint32(b), epoch))
			}
			pipe.Unlink(ctx, table.count(epoch))
			if _, err := pipe.Exec(ctx); err != nil {
				return fmt.Errorf("removing rows of arrivals, buckets %d to %d of %d: %w", first, last-1, buckets, err)
			}
		}
	}
	if err := client.Unlink(ctx, table.Keys).Err(); err != nil { // last, because it holds the number of buckets to remove
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	return nil
}
