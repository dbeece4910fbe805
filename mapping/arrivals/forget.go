package arrivals

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
)

// forgetRows removes rows of arrivals, on one server, and counts that it did: readers then drop the rows in their
// memory. Nothing is removed if the marker is another one, if a later generation has written to one of the places, or
// if the epoch is not the one of Redis' time, which is then the answer.
//
//	KEYS  marker; counts of rows and of bytes of the epoch before, and of this one; keys of notes of places; buckets
//	ARGV  marker's id, TTL in ms, epoch, bytes that a row takes besides its content, ms until the keys of notes expire,
//	      number of places, generation, 1 if that is confirmed; of each id and epoch: the places in KEYS of its bucket
//	      and of its count of rows, the id, the fingerprint of the record whose row stays, "" for none
//	->    outcome: gone, overtaken, epoch or forgotten; the epoch; if forgotten, for each id and epoch 1 if there was a
//	      row, else 0, in one string
var forgetRows = redis.NewScript(overtaken + `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'gone', '0', ''} end
local places = 5 + tonumber(ARGV[6])
if overtaken(6, places, ARGV[7], ARGV[8]) then return {'overtaken', '0', ''} end
local time, ttl, epoch = redis.call('TIME'), tonumber(ARGV[2]), '0'
if ttl > 0 then epoch = string.format('%.0f', math.floor((time[1] * 1000 + math.floor(time[2] / 1000)) / ttl)) end
if epoch ~= ARGV[3] then return {'epoch', epoch, ''} end
local found, removed = {}, false
for i = 9, #ARGV, 4 do
  local key, count, id = KEYS[tonumber(ARGV[i])], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local record, was = redis.call('HGET', key, id), '0'
  if record and string.sub(record, 1, 8) ~= ARGV[i + 3] then
    redis.call('HDEL', key, id)
    redis.call('INCRBY', KEYS[count], -1)
    redis.call('INCRBY', KEYS[count + 1], -(#id + #record + ARGV[4]))
    was, removed = '1', true
  end
  found[#found + 1] = was
end
for i = 6, places do
  redis.call('HSET', KEYS[i], 'generation', ARGV[7])
  redis.call('PEXPIRE', KEYS[i], ARGV[5])
end
if removed then
  redis.call('HSET', KEYS[1], 'forgotten', (tonumber(redis.call('HGET', KEYS[1], 'forgotten')) or 0) + 1)
end
return {'forgotten', epoch, table.concat(found)}
`)

// forgetBucket removes rows from one bucket, on a cluster.
//
//	KEYS  bucket
//	ARGV  of each row: id, the fingerprint of the record whose row stays, "" for none
//	->    of each row: its bytes, 0 if there was none
var forgetBucket = redis.NewScript(`
local sizes = {}
for i = 1, #ARGV, 2 do
  local record, size = redis.call('HGET', KEYS[1], ARGV[i]), 0
  if record and string.sub(record, 1, 8) ~= ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    size = #ARGV[i] + #record
  end
  sizes[#sizes + 1] = size
end
return sizes
`)

// countForgotten counts that rows were removed, on a cluster.
//
//	KEYS  marker
//	ARGV  marker's id
var countForgotten = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'forgotten', (tonumber(redis.call('HGET', KEYS[1], 'forgotten')) or 0) + 1)
end
return 0
`)

// ForgetRows removes the rows of ids from the table of a version, and sets known[i] if ids[i] had one. Consumers that
// have the rows in memory drop them at their next lookup. A version that is gone has no rows. It may be called again.
// Of o, Replicas and Limit count. It returns [growth.ErrOvertaken], and has removed nothing, if a later generation of
// the group has written to one of the places of by; on a cluster a consumer that is stopped between this question and
// the removal may remove a later row.
func ForgetRows(ctx context.Context, client mapping.Client, table Table, o Options, ids []growth.Forget,
	by growth.Fence, known []bool) error {
	fields, err := storedSettings(ctx, client, &table)
	if err != nil || fields == [3]string{} { // no consumer has opened the rows
		return err
	}
	a := &Rows{client: client, table: table, o: o, ordered: mapping.OneServer(client)}
	if a.settings, err = parseSettings(fields, &table); err != nil {
		return err
	}
	forget := a.forgetServer
	if !a.ordered {
		forget = a.forgetCluster
	}
	for lo := 0; lo < len(ids); {
		hi, size := lo, 0
		for ; hi < len(ids) && hi-lo < idsPerPipeline/8 && size < mapping.BytesPerPipeline; hi++ {
			size += 2 * len(ids[hi].ID)
		}
		if err := forget(ctx, ids[lo:hi], by, known[lo:hi]); err != nil && !errors.Is(err, mapping.ErrVanished) {
			return fmt.Errorf("removing the rows of %d arrivals: %w", hi-lo, mapping.Permanent(err))
		}
		lo = hi
	}
	return nil
}

// kept returns the fingerprint of the record whose row stays, as the row begins with it.
func kept(f *growth.Forget) string {
	if !f.Later {
		return ""
	}
	return string(binary.LittleEndian.AppendUint64(nil, f.Except))
}

// forgetServer removes rows from one server.
func (a *Rows) forgetServer(ctx context.Context, ids []growth.Forget, by growth.Fence, known []bool) error {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	at, err := a.standing(ctx, growth.Fence{})
	for epoch := epochAt(at.now, a.ttl); err == nil; {
		epochs := living(epoch, a.ttl)
		keys := []string{a.table.Marker, a.table.count(epoch - 1), a.table.bytes(epoch - 1), a.table.count(epoch),
			a.table.bytes(epoch)}
		keys = append(keys, a.table.fenced(by)[1:]...)
		args := []any{a.table.MarkerID, a.ttl.Milliseconds(), epoch, rowOverhead, noteTTL.Milliseconds(), len(by.Places),
			by.Generation, by.Confirmed}
		for i := range ids {
			for _, e := range epochs {
				keys = append(keys, a.table.bucket(bucketOf(ids[i].ID, a.buckets), e))
				args = append(args, len(keys), 4-2*int(epoch-e), ids[i].ID, kept(&ids[i]))
			}
		}
		var answer []string
		if answer, err = a.run(ctx, forgetRows, keys, args); err != nil {
			return err
		}
		switch answer[0] {
		case "gone":
			return nil
		case "overtaken":
			return growth.ErrOvertaken
		case "epoch":
			epoch, err = strconv.ParseInt(answer[1], 10, 64)
			continue
		}
		for i := range ids {
			for e := range epochs {
				known[i] = known[i] || answer[2][i*len(epochs)+e] == '1'
			}
		}
		return nil
	}
	return err
}

// forgetCluster removes rows from the nodes of a cluster.
func (a *Rows) forgetCluster(ctx context.Context, ids []growth.Forget, by growth.Fence, known []bool) error {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	if err := a.fence(ctx, by); err != nil {
		return err
	}
	at, err := a.standing(ctx, growth.Fence{})
	if err != nil {
		return err
	}
	for _, epoch := range living(epochAt(at.now, a.ttl), a.ttl) {
		if err := a.removeCluster(ctx, ids, epoch, known); err != nil {
			return err
		}
	}
	if !slices.Contains(known, true) {
		return nil
	}
	return countForgotten.Run(ctx, a.client, []string{a.table.Marker}, a.table.MarkerID).Err()
}

// fence writes the generation to its places, for which a note of nothing suffices. It returns [growth.ErrOvertaken] if
// a later one has written there, and [mapping.ErrVanished] if the version is gone.
func (a *Rows) fence(ctx context.Context, by growth.Fence) error {
	answer, err := a.run(ctx, noteAll, a.table.fenced(by), []any{a.table.MarkerID, noteTTL.Milliseconds(), by.Generation,
		by.Confirmed, false})
	switch {
	case err != nil:
		return err
	case answer[0] == "gone":
		return mapping.ErrVanished
	case answer[0] == "overtaken":
		return growth.ErrOvertaken
	}
	return nil
}

// removeCluster removes the rows of ids under one epoch, and sets known[i] if ids[i] had one.
func (a *Rows) removeCluster(ctx context.Context, ids []growth.Forget, epoch int64, known []bool) error {
	pipe := a.client.Pipeline()
	answers := make([]*redis.Cmd, len(ids))
	for i := range ids {
		answers[i] = forgetBucket.Eval(ctx, pipe, []string{a.table.bucket(bucketOf(ids[i].ID, a.buckets), epoch)},
			ids[i].ID, kept(&ids[i]))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	rows, bytes := int64(0), int64(0)
	for i := range ids {
		sizes, err := answers[i].Int64Slice()
		if err != nil {
			return err
		}
		if sizes[0] > 0 {
			known[i], rows, bytes = true, rows-1, bytes-sizes[0]-rowOverhead
		}
	}
	if rows == 0 {
		return nil
	}
	return a.counted(ctx, epoch, rows, bytes)
}
