package arrivals

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/mapping/rowcache"
)

// rowOverhead is about how many bytes a row takes in Redis beside its key and value.
const rowOverhead = 150

// slicesPerTTL is into how many slices a TTL is divided. A row counts for that part of a TTL longer than it lives.
const slicesPerTTL = 24

// Keep writes rows of arrivals, each in place of the one that its id has. Rows for which there is no room are left out:
// from then on there is none until the first slice ends. Keep may be called again with the same rows, which then count
// twice. It returns [mapping.ErrVanished], and leaves no row behind, if the version is no longer in Redis.
func (a *Rows) Keep(ctx context.Context, arrived []growth.ArrivalRow) error {
	for len(arrived) > 0 {
		n, size := 0, 0
		for ; n < len(arrived) && n < idsPerPipeline && size < mapping.BytesPerPipeline; n++ {
			size += a.size(&arrived[n])
		}
		if err := a.keep(ctx, arrived[:n]); err != nil {
			return fmt.Errorf("writing rows of %d arrivals: %w", n, mapping.Permanent(err))
		}
		arrived = arrived[n:]
	}
	return nil
}

// size returns about how much memory of Redis a row takes.
func (a *Rows) size(row *growth.ArrivalRow) int {
	const expires = 6 // bytes
	return len(a.table.Rows) + len(row.ID) + expires + mapping.RowLength(row.Row) + rowOverhead
}

// keep writes the rows of one round trip, after one that finds out for how many there is room.
func (a *Rows) keep(ctx context.Context, rows []growth.ArrivalRow) error {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	n, now, err := a.admit(ctx, rows)
	if err != nil || n == 0 {
		return err
	}
	rows = rows[:n]
	expires := now + a.o.TTL.Milliseconds()
	keys := a.table.keysOf(idsOf(rows), n)
	pipe := a.client.Pipeline()
	set(ctx, pipe, keys, encode(rows, expires), a.o.TTL)
	var last standing
	if a.ordered {
		last = a.askStanding(ctx, pipe)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if !a.ordered {
		pipe := a.client.Pipeline()
		last = a.askStanding(ctx, pipe)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	forgotten, err := a.stands(last)
	if err != nil {
		return a.withdraw(ctx, keys, err)
	}
	a.written.Add(uint64(n))
	a.cacheAt(forgotten, func(yield func(rowcache.Row) bool) {
		for i := range rows {
			r := rowcache.Row{ID: rows[i].ID, Row: rows[i].Row, Stamp: expires}
			if mapping.Readable(r.Row, a.table.Synthetic) && !yield(r) {
				return
			}
		}
	})
	return nil
}

// withdraw removes rows again that were written to a version that is gone, as err says.
func (a *Rows) withdraw(ctx context.Context, keys []string, err error) error {
	if !errors.Is(err, mapping.ErrVanished) {
		return err
	}
	_, failed := unlink(ctx, a.client, keys)
	return errors.Join(err, failed)
}

// admission finds out for how many rows, in their order, there is room, and counts these.
//
//	KEYS  counts
//	ARGV  TTL in ms, a slice in ms, most rows, most bytes; of each row: its bytes
//	->    how many there is room for; rows and bytes that count then; Redis' time in ms
var admission = redis.NewScript(`
local function text(n) return string.format('%.0f', n) end
local time, counts = redis.call('TIME'), redis.call('HGETALL', KEYS[1])
local now, rows, bytes, last = time[1] * 1000 + math.floor(time[2] / 1000), 0, 0, 0
for i = 1, #counts, 2 do
  local slice, kind = string.match(counts[i], '^(%d+)(b?)$')
  local ends, n = tonumber(slice) or 0, tonumber(counts[i + 1]) or 0
  if ends <= now then
    redis.call('HDEL', KEYS[1], counts[i])
  elseif kind == 'b' then
    bytes, last = bytes + n, math.max(last, ends)
  else
    rows, last = rows + n, math.max(last, ends)
  end
end
local admitted, size = 0, 0
for i = 5, #ARGV do
  local more = size + tonumber(ARGV[i])
  if rows + admitted >= tonumber(ARGV[3]) or bytes + more > tonumber(ARGV[4]) then break end
  admitted, size = admitted + 1, more
end
if admitted > 0 then
  local slice = tonumber(ARGV[2])
  local ends = math.ceil((now + tonumber(ARGV[1])) / slice) * slice
  redis.call('HINCRBY', KEYS[1], text(ends), admitted)
  redis.call('HINCRBY', KEYS[1], text(ends) .. 'b', text(size))
  redis.call('PEXPIREAT', KEYS[1], text(math.max(last, ends)))
end
return {admitted, text(rows + admitted), text(bytes + size), text(now)}
`)

// admit returns for how many rows there is room, and Redis' time in ms. It counts these.
func (a *Rows) admit(ctx context.Context, rows []growth.ArrivalRow) (n int, now int64, err error) {
	most := a.o.MaxBytes
	if most == 0 {
		most = math.MaxInt64
	}
	sizes := make([]int, len(rows))
	ttl := a.o.TTL.Milliseconds()
	args := append(make([]any, 0, 4+len(rows)), ttl, ttl/slicesPerTTL, a.o.MaxRows, most)
	for i := range rows {
		sizes[i] = a.size(&rows[i])
		args = append(args, &sizes[i]) // a pointer, because a value in an interface is allocated
	}
	answer, err := admission.Run(ctx, a.client, []string{a.table.Counts}, args...).Int64Slice()
	if err != nil {
		return 0, 0, err
	}
	n = int(answer[0])
	a.rows.Store(answer[1])
	a.bytes.Store(answer[2])
	a.refused.Add(uint64(len(rows) - n))
	a.sayFull(n < len(rows))
	return n, answer[3], nil
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

// encode returns the stored form of rows.
func encode(rows []growth.ArrivalRow, expires int64) []string {
	ends, arena := make([]int, 0, len(rows)), make([]byte, 0, 32*len(rows))
	for i := range rows {
		arena = AppendRow(arena, expires, rows[i].Row)
		ends = append(ends, len(arena))
	}
	return mapping.CutText(arena, ends)
}

// set adds commands to a pipeline that write values which expire.
func set(ctx context.Context, pipe redis.Pipeliner, keys, values []string, ttl time.Duration) {
	ms := ttl.Milliseconds()
	args := make([]any, 0, 5*len(keys))
	for k := range keys {
		from := len(args)
		args = append(args, "set", &keys[k], &values[k], "px", &ms)
		_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, args[from:len(args):len(args)]...)) // it is queued
	}
}

func idsOf(rows []growth.ArrivalRow) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range rows {
			if !yield(rows[i].ID) {
				return
			}
		}
	}
}
