package arrivals

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// Find fills rows[i] for each id ids[i], not in T, that belongs to an arrival with a row. own are the ids of the
// arrivals that are about to be predicted; seen[i] is the stored arrival with the id own[i], nil if there is none.
// len(rows) == len(ids), len(seen) == len(own). A row that cannot be decoded is Unread. It returns
// [mapping.ErrVanished] as [mapping.Redis.Rows] does.
//
// Find returns rows of the epochs that live by Redis' time at the moment of the answer: if an epoch has begun since the
// answer before, it asks again. So it does if rows were forgotten since then, and drops the rows in memory. It returns
// the later living epoch, for [Rows.Keep].
func (a *Rows) Find(ctx context.Context, ids []string, rows []attach.Row, own []string,
	seen []*growth.ArrivalRow) (asOf int64, err error) {
	mapping.CheckLengths(ids, rows)
	if len(own) != len(seen) {
		panic(fmt.Sprintf("mapping: %d arrivals looked up into %d", len(own), len(seen)))
	}
	for {
		clear(rows)
		clear(seen)
		was := moment{a.epoch.Load(), a.forgotten.Load()}
		now, err := a.find(ctx, was, ids, rows, own, seen)
		if err != nil {
			return 0, fmt.Errorf("reading rows of %d arrivals: %w", len(ids)+len(own), mapping.Permanent(err))
		}
		a.epoch.Store(now.epoch)
		if a.drop(now.forgotten); now == was {
			return now.epoch, nil
		}
	}
}

// moment is a state of a version's rows in Redis: rows of an epoch, less those that were forgotten.
type moment struct{ epoch, forgotten int64 }

// find is Find at one moment. It returns the moment of the answer; if that is another one, the results do not count.
func (a *Rows) find(ctx context.Context, was moment, ids []string, rows []attach.Row, own []string,
	seen []*growth.ArrivalRow) (now moment, err error) {
	epochs := living(was.epoch, a.ttl)
	absent := a.cached(ids, rows, epochs[0])
	all := make([]string, 0, len(absent)+len(own))
	for _, i := range absent {
		all = append(all, ids[i])
	}
	all = append(all, own...)
	if now = was; len(all) == 0 {
		at, err := a.standing(ctx, growth.Fence{})
		return moment{epochAt(at.now, a.ttl), at.forgotten}, err
	}
	for lo, hi := 0, 0; lo < len(all) && now == was; lo = hi {
		for size := 0; hi < len(all) && hi-lo < idsPerPipeline && size < mapping.BytesPerPipeline; hi++ {
			size += len(all[hi]) * len(epochs)
		}
		var got []*growth.ArrivalRow
		var of []int64
		if got, of, now, err = a.read(ctx, all[lo:hi], epochs); err != nil {
			return now, err
		}
		if now == was {
			a.settle(all[lo:hi], got, of, lo, absent, rows, seen, now.forgotten)
		}
	}
	return now, nil
}

// settle sets rows and seen from one round trip, and caches rows with their epochs. got[k] and of[k] are the arrival
// and the epoch found for ids[lo+k]. ids are the ids of all round trips: first the ids of the absent rows, then those
// for seen.
func (a *Rows) settle(ids []string, got []*growth.ArrivalRow, of []int64, lo int, absent []int32, rows []attach.Row,
	seen []*growth.ArrivalRow, forgotten int64) {
	var found []rowcache.Row
	for k, arrived := range got {
		switch at := lo + k; {
		case arrived == nil:
		case at >= len(absent):
			arrived.ID = ids[k]
			seen[at-len(absent)] = arrived
		default:
			rows[absent[at]] = arrived.Row
			if arrived.Row.Known {
				found = append(found, rowcache.Row{ID: ids[k], Row: arrived.Row, Stamp: of[k]})
			}
		}
	}
	a.found.Add(uint64(len(found)))
	a.cacheAt(forgotten, slices.Values(found))
}

// cacheAt caches rows that were in Redis when rows of the version had been forgotten so often, unless more were since.
func (a *Rows) cacheAt(forgotten int64, rows iter.Seq[rowcache.Row]) {
	a.fresh.RLock()
	defer a.fresh.RUnlock()
	if a.forgotten.Load() == forgotten {
		a.cache.Set(rows)
	}
}

// drop drops all rows in memory if some of the version were forgotten since they were read: which ones is not known
// here.
func (a *Rows) drop(forgotten int64) {
	if a.forgotten.Load() == forgotten {
		return
	}
	a.fresh.Lock()
	defer a.fresh.Unlock()
	a.forgotten.Store(forgotten)
	a.cache.Clear()
}

// read asks for ids in the epochs given, in one round trip, with the counts and, last, the marker and the time. It
// returns the arrivals, the epoch of each, and the moment of the answer.
func (a *Rows) read(ctx context.Context, ids []string, epochs []int64) (got []*growth.ArrivalRow, of []int64,
	now moment, err error) {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	order := byBucket(ids, a.buckets)
	pipe := a.client.Pipeline()
	answers := make([][]bucketRead, len(epochs))
	var rows, bytes []*redis.StringCmd
	without := a.lonely.Load()
	for e, epoch := range epochs {
		if e > 0 || epoch != without {
			answers[e] = askBuckets(ctx, pipe, a.table.bucketKeys(order, epoch), ids, order)
		}
		rows, bytes = append(rows, pipe.Get(ctx, a.table.count(epoch))), append(bytes, pipe.Get(ctx, a.table.bytes(epoch)))
	}
	var last *redis.Cmd
	if a.ordered {
		last = askStanding(ctx, pipe, a.table.Marker)
	}
	if _, err := pipe.Exec(ctx); mapping.Failed(err) {
		return nil, nil, now, err
	}
	if !a.ordered {
		last = standing.Run(ctx, a.client, []string{a.table.Marker})
	}
	at, err := parseStanding(last)
	if err == nil {
		err = mapping.CheckMarker(at.id, a.table.Marker, a.table.MarkerID)
	}
	if err == nil {
		err = errors.Join(take(&a.rows, rows), take(&a.bytes, bytes))
	}
	if err != nil {
		return nil, nil, now, err
	}
	now = moment{epochAt(at.now, a.ttl), at.forgotten}
	if lone := a.lone(epochs, rows[0], now.epoch); !lone && epochs[0] == without {
		return a.read(ctx, ids, epochs)
	}
	got, of = make([]*growth.ArrivalRow, len(ids)), make([]int64, len(ids))
	for e := range epochs {
		if err := a.decode(ids, order, answers[e], epochs[e], got, of); err != nil {
			return nil, nil, now, err
		}
	}
	return got, of, now, nil
}

// noEpoch stands for no epoch.
const noEpoch = -1

// lone reports whether the older of two epochs has no rows, as in the first epoch of a version, and remembers it:
// reading them would be half of the work. A server writes no row without a count, which expires with it, and none at
// all under an epoch that is past by its own time. The count is read with each answer: where a clock went back, and
// rows came, the epoch is read again.
func (a *Rows) lone(epochs []int64, older *redis.StringCmd, now int64) bool {
	if a.ordered && len(epochs) == 2 && now == epochs[1] && errors.Is(older.Err(), redis.Nil) {
		a.lonely.Store(epochs[0])
		return true
	}
	a.lonely.Store(noEpoch)
	return false
}

// decode adds the arrivals of one epoch's answers to the arrivals found in earlier epochs: the older row is the one to
// use.
func (a *Rows) decode(ids []string, order []mapping.Position, answers []bucketRead, epoch int64,
	got []*growth.ArrivalRow, of []int64) error {
	for k := range answers {
		err := answers[k].each(func(k int, value string) {
			if i := order[k].At; got[i] == nil {
				got[i], of[i] = a.decodeOne(ids[i], value), epoch
			}
		})
		if err != nil {
			return err
		}
		order = order[mapping.SamePart(order):]
	}
	return nil
}

// decodeOne decodes a stored arrival. The row of a damaged one is Unread.
func (a *Rows) decodeOne(id, value string) *growth.ArrivalRow {
	var arrived *growth.ArrivalRow
	data, err := unseal([]byte(value), a.table.rowSeed(), id)
	if err == nil {
		arrived, err = DecodeArrived(data, a.table.Synthetic)
	}
	if err != nil {
		a.damage(&a.saidRow, "a stored row of an arrival is damaged: predictions that need it are marked as degraded",
			"id", id, "error", err)
		return &growth.ArrivalRow{Row: attach.Row{Unread: true}}
	}
	return arrived
}

// take stores the sum of counts.
func take(sum *atomic.Int64, counts []*redis.StringCmd) error {
	total := int64(0)
	for _, count := range counts {
		n, err := count.Int64()
		switch {
		case errors.Is(err, redis.Nil):
		case errors.Is(err, strconv.ErrSyntax):
			return mapping.Damaged{Reason: fmt.Errorf("counting rows of arrivals: %w", err)}
		case err != nil:
			return err
		}
		total += n
	}
	sum.Store(total)
	return nil
}

// Delete removes the rows of arrivals of a version whose marker is gone. Notes stay, see [Table].
// It may be interrupted and called again.
func Delete(ctx context.Context, client mapping.Client, table Table) error {
	fields, err := storedSettings(ctx, client, &table)
	if err == nil && fields == [3]string{} {
		return nil // no consumer has opened the rows
	}
	var agreed settings
	if err == nil {
		agreed, err = parseSettings(fields, &table)
	}
	var at stand
	if err == nil {
		at, err = parseStanding(standing.Run(ctx, client, []string{table.Marker}))
	}
	if err != nil {
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	for _, epoch := range living(epochAt(at.now, agreed.ttl), agreed.ttl) {
		for first := 0; first < agreed.buckets; first += mapping.KeysPerPipeline {
			pipe := client.Pipeline()
			last := min(first+mapping.KeysPerPipeline, agreed.buckets)
			for b := first; b < last; b++ {
				pipe.Unlink(ctx, table.bucket(uint32(b), epoch))
			}
			pipe.Unlink(ctx, table.count(epoch))
			pipe.Unlink(ctx, table.bytes(epoch))
			if _, err := pipe.Exec(ctx); err != nil {
				return fmt.Errorf("removing rows of arrivals, buckets %d to %d of %d: %w", first, last-1, agreed.buckets, err)
			}
		}
	}
	if err := client.Unlink(ctx, table.Keys).Err(); err != nil { // last, because it holds the number of buckets to remove
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	return nil
}
