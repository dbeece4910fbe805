package arrivals

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// idsPerPipeline bounds the ids of arrivals of one round trip: some 200 KiB each way where ids are short.
const idsPerPipeline = 4096

// Rows implements [mapping.Lookup] for ids that are not in T: rows[i] is known if ids[i] belongs to an arrival with a
// row. A row that cannot be decoded is Unread. It returns [mapping.ErrVanished] if the version is gone.
//
// If ids were forgotten since the last call, it drops the rows in memory, as it does not know which ones, and asks
// Redis for all.
func (a *Rows) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	mapping.CheckLengths(ids, rows)
	for {
		clear(rows)
		forgotten := a.forgotten.Load()
		now, err := a.find(ctx, ids, rows, forgotten)
		if err != nil {
			return fmt.Errorf("reading rows of %d arrivals: %w", len(ids), mapping.Permanent(err))
		}
		if a.drop(now); now == forgotten {
			return nil
		}
	}
}

// find fills rows, with those in memory if no more ids were forgotten than the given number. It returns the number in
// Redis; if that is another one, the rows do not count.
func (a *Rows) find(ctx context.Context, ids []string, rows []attach.Row, forgotten int64) (int64, error) {
	absent := a.cache.Get(ids, rows, time.Now().UnixMilli()+a.ahead.Load()+1)
	found := len(ids) - len(absent)
	for first := true; first || len(absent) > 0; first = false {
		n, size := 0, 0
		for ; n < len(absent) && n < idsPerPipeline && size < mapping.BytesPerPipeline; n++ {
			size += len(a.table.Rows) + len(ids[absent[n]])
		}
		values, now, err := a.read(ctx, ids, absent[:n])
		if err != nil || now != forgotten {
			return now, err
		}
		found += a.settle(ids, rows, absent[:n], values, forgotten)
		absent = absent[n:]
	}
	a.found.Add(uint64(found))
	return forgotten, nil
}

// settle sets the rows at places of ids from stored values, "" for none, and caches them. It returns how many there
// are.
func (a *Rows) settle(ids []string, rows []attach.Row, places []int32, values []string, forgotten int64) int {
	found := make([]rowcache.Row, 0, len(places))
	for k, i := range places {
		if values[k] == "" {
			continue
		}
		row, expires, err := DecodeRow([]byte(values[k]), a.table.Synthetic)
		if err != nil {
			a.damage(ids[i], err)
			rows[i] = attach.Row{Unread: true}
			continue
		}
		rows[i] = row
		found = append(found, rowcache.Row{ID: ids[i], Row: row, Stamp: expires})
	}
	a.cacheAt(forgotten, slices.Values(found))
	return len(found)
}

// cacheAt caches rows that were in Redis when so many ids had been forgotten, unless more were since.
func (a *Rows) cacheAt(forgotten int64, rows iter.Seq[rowcache.Row]) {
	a.fresh.RLock()
	defer a.fresh.RUnlock()
	if a.forgotten.Load() == forgotten {
		a.cache.Set(rows)
	}
}

// drop drops all rows in memory if other ids were forgotten since they were read.
func (a *Rows) drop(forgotten int64) {
	if a.forgotten.Load() == forgotten {
		return
	}
	a.fresh.Lock()
	defer a.fresh.Unlock()
	a.forgotten.Store(forgotten)
	a.cache.Clear()
}

// read asks for the rows of the ids at these places, in one round trip, and for the marker last: rows that were read
// before it belong to the version, and were not forgotten earlier than its count says. values has "" for no row.
func (a *Rows) read(ctx context.Context, ids []string, places []int32) (values []string, forgotten int64, err error) {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	keys := a.table.keysOf(func(yield func(string) bool) {
		for _, i := range places {
			if !yield(ids[i]) {
				return
			}
		}
	}, len(places))
	pipe := a.client.Pipeline()
	answer := a.askRows(ctx, pipe, keys)
	var last standing
	if a.ordered {
		last = a.askStanding(ctx, pipe)
	}
	if pipe.Len() > 0 {
		if _, err := pipe.Exec(ctx); mapping.Failed(err) {
			return nil, 0, err
		}
	}
	if !a.ordered {
		pipe := a.client.Pipeline()
		last = a.askStanding(ctx, pipe)
		if _, err := pipe.Exec(ctx); mapping.Failed(err) {
			return nil, 0, err
		}
	}
	if forgotten, err = a.stands(last); err == nil {
		values, err = answer()
	}
	return values, forgotten, err
}

// keysOf returns the keys of the rows of n ids: parts of one text, because an allocation for each would cost more than
// the rest.
func (t *Table) keysOf(ids iter.Seq[string], n int) []string {
	text, ends := make([]byte, 0, n*(len(t.Rows)+16)), make([]int, 0, n)
	for id := range ids {
		text = append(append(text, t.Rows...), id...)
		ends = append(ends, len(text))
	}
	return mapping.CutText(text, ends)
}

// askRows adds commands to a pipeline that read keys: one MGET, or on a cluster a GET for each, as they are on many
// nodes. The function that it returns gives the values once the pipeline has run.
func (a *Rows) askRows(ctx context.Context, pipe redis.Pipeliner, keys []string) func() ([]string, error) {
	values := make([]string, len(keys))
	if len(keys) == 0 {
		return func() ([]string, error) { return values, nil }
	}
	if a.ordered {
		args := append(make([]any, 0, 1+len(keys)), "mget")
		for k := range keys {
			args = append(args, &keys[k]) // a pointer, because a string in an interface is allocated
		}
		all := redis.NewSliceCmd(ctx, args...)
		_ = pipe.Process(ctx, all) // it is queued
		return func() ([]string, error) {
			for k, value := range all.Val() {
				values[k], _ = value.(string)
			}
			return values, all.Err()
		}
	}
	gets := make([]*redis.StringCmd, len(keys))
	for k := range keys {
		gets[k] = pipe.Get(ctx, keys[k])
	}
	return func() (_ []string, err error) {
		for k, get := range gets {
			if values[k], err = get.Result(); mapping.Failed(err) {
				return nil, err
			}
		}
		return values, nil
	}
}

// standing are the answers about a version's marker and Redis' time.
type standing struct {
	marker *redis.SliceCmd
	time   *redis.TimeCmd
}

// askStanding adds commands to a pipeline that read the marker and Redis' time.
func (a *Rows) askStanding(ctx context.Context, pipe redis.Pipeliner) standing {
	return standing{pipe.HMGet(ctx, a.table.Marker, mapping.MarkerField, ForgottenField), pipe.Time(ctx)}
}

// stands returns how many ids were forgotten, and takes Redis' time over. It returns [mapping.ErrVanished] if the
// marker is missing or another one.
func (a *Rows) stands(s standing) (forgotten int64, err error) {
	fields, err := s.marker.Result()
	if err == nil {
		err = s.time.Err()
	}
	if err != nil {
		return 0, err
	}
	id, _ := fields[0].(string)
	if err := mapping.CheckMarker(id, a.table.Marker, a.table.MarkerID); err != nil {
		return 0, err
	}
	a.ahead.Store(s.time.Val().UnixMilli() - time.Now().UnixMilli())
	if count, some := fields[1].(string); some {
		if forgotten, err = strconv.ParseInt(count, 10, 64); err != nil {
			return 0, mapping.Damaged{Reason: fmt.Errorf("marker %s: field %s: %w", a.table.Marker, ForgottenField,
				errors.Unwrap(err))}
		}
	}
	return forgotten, nil
}
