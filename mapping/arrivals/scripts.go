package arrivals

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/growth"
	"rivulet/mapping"
)

// standing returns the marker's id, how often rows of the version were forgotten, and Redis' time.
//
//	KEYS  marker, keys of notes of places
//	ARGV  generation, 1 if that is confirmed; none without places
//	->    id, "" if there is none; seconds; microseconds; count; 1 if a later generation has written to one of the places
var standing = redis.NewScript(`
local time = redis.call('TIME')
` + overtaken + `
return {redis.call('HGET', KEYS[1], 'id') or '', time[1], time[2], redis.call('HGET', KEYS[1], 'forgotten') or '0',
  overtaken(2, #KEYS, ARGV[1], ARGV[2]) and '1' or '0'}
`)

// overtaken is a function of scripts: it returns whether a generation later than the given one has written to a place.
// Places are the keys from first to last. A generation that the coordinator has confirmed is the last one.
const overtaken = `
local function overtaken(first, last, generation, confirmed)
  for i = first, last do
    local other = redis.call('HGET', KEYS[i], 'generation')
    if other and (tonumber(other) or 0) > tonumber(generation) and confirmed ~= '1' then return true end
  end
  return false
end`

// keepRows writes rows of arrivals, on one server. An id that has a row keeps it, unless the new one replaces it: then
// the generation is kept, too, and readers drop the rows in their memory as if some had been forgotten. Nothing is
// written if the marker is another one, if a later generation has written to one of the places, or if the epoch is not
// the one of Redis' time, which is then the answer.
//
//	KEYS  marker; counts of rows and of bytes of the epoch before, and of this one; keys of notes of places; buckets
//	ARGV  marker's id, TTL in ms, epoch, ms at which its keys expire, most rows, most bytes, bytes that a row takes
//	      besides its content, number of places, generation, 1 if that is confirmed, ms until the keys of notes expire;
//	      of each row: its bucket's place in KEYS, id, record, and if it replaces another one the place in KEYS of the
//	      id's bucket in the epoch before, else 0
//	->    outcome: gone, overtaken, epoch or kept; the epoch; how many were written, how many refused; rows and bytes
//	      that are there; how often rows were forgotten; if kept, of each row: 1 if it was written, else 0, in one string
var keepRows = redis.NewScript(`
local function text(n) return string.format('%.0f', n) end
` + overtaken + `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'gone', '0', '0', '0', '0', '0', '0'} end
if overtaken(6, 5 + tonumber(ARGV[8]), ARGV[9], ARGV[10]) then return {'overtaken', '0', '0', '0', '0', '0', '0'} end
local time, ttl, epoch = redis.call('TIME'), tonumber(ARGV[2]), '0'
if ttl > 0 then epoch = text(math.floor((time[1] * 1000 + math.floor(time[2] / 1000)) / ttl)) end
if epoch ~= ARGV[3] then return {'epoch', epoch, '0', '0', '0', '0', '0'} end
local function sum(a, b) return (redis.call('GET', a) or 0) + (redis.call('GET', b) or 0) end
local rows, bytes = sum(KEYS[2], KEYS[4]), sum(KEYS[3], KEYS[5])
local rowsBefore, bytesBefore, refused, touched = rows, bytes, 0, {}
local mostRows, mostBytes, written, replaced = tonumber(ARGV[5]), tonumber(ARGV[6]), {}, false
local function drop(key, id, count)
  local was = redis.call('HGET', key, id)
  if not was then return end
  local size = #id + #was + ARGV[7]
  redis.call('HDEL', key, id)
  redis.call('INCRBY', KEYS[count], -1)
  redis.call('INCRBY', KEYS[count + 1], -size)
  rows, bytes, rowsBefore, bytesBefore = rows - 1, bytes - size, rowsBefore - 1, bytesBefore - size
end
for i = 12, #ARGV, 4 do
  local key, id, record, older = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  local size, new = #id + #record + ARGV[7], '0'
  if older > 0 then
    drop(key, id, 4)
    drop(KEYS[older], id, 2)
    replaced = true
  end
  if rows >= mostRows or bytes + size > mostBytes then
    refused = refused + 1 - redis.call('HEXISTS', key, id)
  elseif redis.call('HSETNX', key, id, record) == 1 then
    rows, bytes, touched[key], new = rows + 1, bytes + size, true, '1'
  end
  written[#written + 1] = new
end
if rows > rowsBefore then
  redis.call('INCRBY', KEYS[4], text(rows - rowsBefore))
  redis.call('INCRBY', KEYS[5], text(bytes - bytesBefore))
  touched[KEYS[4]], touched[KEYS[5]] = true, true
  if ttl > 0 then
    for key in pairs(touched) do redis.call('PEXPIREAT', key, ARGV[4]) end
  end
end
if replaced then
  redis.call('HSET', KEYS[1], 'forgotten', (tonumber(redis.call('HGET', KEYS[1], 'forgotten')) or 0) + 1)
  for i = 6, 5 + tonumber(ARGV[8]) do
    redis.call('HSET', KEYS[i], 'generation', ARGV[9])
    redis.call('PEXPIRE', KEYS[i], ARGV[11])
  end
end
return {'kept', epoch, text(rows - rowsBefore), text(refused), text(rows), text(bytes),
  redis.call('HGET', KEYS[1], 'forgotten') or '0', table.concat(written)}
`)

// keepBucket writes rows of arrivals into one bucket, on a cluster. An id that has a row keeps it, unless the new one
// replaces it.
//
//	KEYS  bucket
//	ARGV  ms at which it expires, 0 for never; of each row: id, record, 1 if it replaces another one
//	->    of each row: 1 if the id had none
var keepBucket = redis.NewScript(`
local written = {}
for i = 2, #ARGV, 3 do
  local command = ARGV[i + 2] == '1' and 'HSET' or 'HSETNX'
  written[#written + 1] = redis.call(command, KEYS[1], ARGV[i], ARGV[i + 1])
end
if ARGV[1] ~= '0' then redis.call('PEXPIREAT', KEYS[1], ARGV[1]) end
return written
`)

// noteAll stores notes. A note that is there already stays, and is returned. With replace, a note of another record at
// the same offset is overwritten: its topic was deleted and created again. Notes begin with the
// record's fingerprint, in 8 bytes.
//
// A member that was stopped while another one took its partition over may write no note any more, as the other one has
// removed the notes of the records that it committed. So the last generation that wrote notes is kept beside them.
//
//	KEYS  marker, keys of notes
//	ARGV  marker's id, ms until the keys of notes expire, generation, 1 if that is confirmed, 1 to replace; of each note:
//	      its key's place in KEYS, offset, note
//	->    gone; overtaken; or noted, and if notes were there, of each note the one that was, "" if none was
var noteAll = redis.NewScript(`
` + overtaken + `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'gone'} end
if overtaken(2, #KEYS, ARGV[3], ARGV[4]) then return {'overtaken'} end
local answer, earlier = {'noted'}, false
for i = 6, #ARGV, 3 do
  local key, offset, note = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]
  local there = redis.call('HGET', key, offset)
  if there and (ARGV[5] ~= '1' or string.sub(there, 1, 8) == string.sub(note, 1, 8)) then
    answer[#answer + 1], earlier = there, true
  else
    redis.call('HSET', key, offset, note)
    answer[#answer + 1] = ''
  end
end
for i = 2, #KEYS do
  redis.call('HSET', KEYS[i], 'generation', ARGV[3])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
if not earlier then return {'noted'} end
return answer
`)

// forgetNotes removes notes below an offset.
//
//	KEYS  keys of notes
//	ARGV  the offset of each
var forgetNotes = redis.NewScript(`
for i, key in ipairs(KEYS) do
  local below, old = tonumber(ARGV[i]), {}
  for _, offset in ipairs(redis.call('HKEYS', key)) do
    if offset ~= 'generation' and tonumber(offset) < below then old[#old + 1] = offset end
  end
  for first = 1, #old, 1000 do
    redis.call('HDEL', key, unpack(old, first, math.min(first + 999, #old)))
  end
end
return 0
`)

// stand is the state of a version on the node of Redis that has its marker.
type stand struct {
	id        string
	now       time.Time
	forgotten int64 // how often rows of the version were forgotten
	overtaken bool
}

// standing returns Redis' time and more if the version's marker stands, and else [mapping.ErrVanished].
func (a *Rows) standing(ctx context.Context, by growth.Fence) (stand, error) {
	at, err := parseStanding(standing.Run(ctx, a.client, a.table.fenced(by), by.Generation, by.Confirmed))
	if err != nil {
		return stand{}, err
	}
	if at.overtaken {
		return stand{}, growth.ErrOvertaken
	}
	return at, mapping.CheckMarker(at.id, a.table.Marker, a.table.MarkerID)
}

// fenced returns the keys of the marker and of the notes of places.
func (t *Table) fenced(by growth.Fence) []string {
	keys := []string{t.Marker}
	for _, place := range by.Places {
		keys = append(keys, t.notes(place))
	}
	return keys
}

// askStanding is standing within a pipeline, where a script is sent whole.
func askStanding(ctx context.Context, pipe redis.Pipeliner, marker string) *redis.Cmd {
	return standing.Eval(ctx, pipe, []string{marker})
}

func parseStanding(cmd *redis.Cmd) (stand, error) {
	answer, err := cmd.StringSlice()
	if err != nil {
		return stand{}, err
	}
	if len(answer) != 5 {
		return stand{}, fmt.Errorf("what stands of a version has %d parts, want 5", len(answer))
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(answer[1+i], 10, 64); err != nil {
			return stand{}, err
		}
	}
	return stand{answer[0], time.Unix(numbers[0], numbers[1]*1000), numbers[2], answer[4] == "1"}, nil
}

// run runs a script that writes, and waits for replicas where that was asked for.
func (a *Rows) run(ctx context.Context, script *redis.Script, keys []string, args []any) ([]string, error) {
	if a.o.Replicas == 0 {
		return runScript(ctx, a.client, script, keys, args).StringSlice()
	}
	// WAIT counts the writes of its own connection, so it goes down the same pipeline, and the script is sent whole.
	pipe := a.client.Pipeline()
	answer, acknowledged := script.Eval(ctx, pipe, keys, args...), a.awaitReplicas(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each command has its own error
	values, err := answer.StringSlice()
	if err != nil {
		return nil, err
	}
	n, err := acknowledged.Int()
	if err == nil && n < a.o.Replicas {
		err = fmt.Errorf("%w: %d of %d", mapping.ErrFewReplicas, n, a.o.Replicas)
	}
	return values, err
}

// runScript is script.Run, with less garbage where keys are many.
func runScript(ctx context.Context, client mapping.Client, script *redis.Script, keys []string, args []any) *redis.Cmd {
	all := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", script.Hash(), len(keys))
	for k := range keys {
		all = append(all, &keys[k])
	}
	answer := client.Do(ctx, append(all, args...)...)
	if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
		return script.Eval(ctx, client, keys, args...)
	}
	return answer
}

// awaitReplicas asks how many replicas have the writes before it, and gives them half of the time that the answer may
// take.
func (a *Rows) awaitReplicas(ctx context.Context, pipe redis.Pipeliner) *redis.Cmd {
	limit := time.Second
	for _, bound := range []time.Duration{a.o.Limit, mapping.ReadTimeout(a.client)} {
		if bound > 0 {
			limit = min(limit, bound/2)
		}
	}
	return pipe.Do(ctx, "WAIT", a.o.Replicas, limit.Milliseconds())
}
