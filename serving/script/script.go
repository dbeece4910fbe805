// Package script has the scripts that change a version's state in Redis.
//
// Every change is one of these scripts, so that no two of them can interleave. All keys of a script are control keys,
// which share a slot. Each script may run twice with the same arguments, because a client that lost the answer asks
// again: the second run finds that the work is done and says so.
package script

import "github.com/redis/go-redis/v9"

// nowMS sets now to Redis' own time, by which heartbeats lapse, so that consumers' clocks need not agree.
const nowMS = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function ms(t) return string.format('%.0f', t) end
`

// Begin registers a publication, or finds an interrupted or complete one. Its serial number is the time in
// microseconds, or one more than the last: even a Redis that lost the last one never draws it again.
//
//	KEYS  writing, complete, generation, holders, versions
//	ARGV  version, content, meta, holder, ms until its heartbeat lapses
//	->    state: new, resume, complete, or other (another content has the name); serial; meta; progress
var Begin = redis.NewScript(nowMS + `
local function found(key, state)
  local f = redis.call('HMGET', key, 'generation', 'content', 'meta', 'progress')
  if f[2] ~= ARGV[2] then return {'other', f[1] or '', f[2] or '', ''} end
  redis.call('ZADD', KEYS[4], ms(now + ARGV[5]), ARGV[4])
  return {state, f[1], f[3], f[4] or '0'}
end
if redis.call('EXISTS', KEYS[2]) == 1 then return found(KEYS[2], 'complete') end
if redis.call('EXISTS', KEYS[1]) == 1 then return found(KEYS[1], 'resume') end
local last = tonumber(redis.call('GET', KEYS[3]) or '0')
local generation = ms(math.max(last + 1, time[1] * 1000000 + time[2]))
redis.call('SET', KEYS[3], generation)
redis.call('HSET', KEYS[1], 'id', generation .. ':' .. ARGV[2], 'generation', generation, 'content', ARGV[2],
  'meta', ARGV[3], 'progress', '0', 'begun_ms', ms(now))
redis.call('SADD', KEYS[5], ARGV[1])
redis.call('ZADD', KEYS[4], ms(now + ARGV[5]), ARGV[4])
return {'new', generation, ARGV[3], '0'}
`)

// Advance renews the publisher's heartbeat, and stores the number of buckets that were written, unless the version is
// complete already and is written again.
//
//	KEYS  writing, complete, holders
//	ARGV  id, progress, holder, ms until its heartbeat lapses
//	->    1, or 0 if the publication was removed
var Advance = redis.NewScript(nowMS + `
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'progress', ARGV[2])
elseif redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then
  return 0
end
redis.call('ZADD', KEYS[3], ms(now + ARGV[4]), ARGV[3])
return 1
`)

// Finish makes the marker of a publication that was written. If it has one, because it was written again, the time of
// publication in it tells consumers that refused the version to look again.
//
//	KEYS  writing, complete
//	ARGV  id, seal of the rows
//	->    1, or 0 if the publication was removed
var Finish = redis.NewScript(nowMS + `
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'progress')
  redis.call('RENAME', KEYS[1], KEYS[2])
elseif redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[2], 'published_ms', ms(now), 'seal', ARGV[2])
return 1
`)

// AllowOther notes in a marker that the version may follow one of other data.
//
//	KEYS  complete
//	->    1, or 0 if the version is not there
var AllowOther = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'other_data', 'yes')
return 1
`)

// FieldSignature is the field of a marker with the signature of the manifest.
const FieldSignature = "signature"

// Sign notes the signature of a version's manifest in its marker.
//
//	KEYS  complete
//	ARGV  signature
//	->    1, or 0 if the version is not there
var Sign = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], '` + FieldSignature + `', ARGV[1])
return 1
`)

// MoveCurrent is the compare-and-set of CURRENT.
//
//	KEYS  current, complete (of the new version), complete (of the expected one)
//	ARGV  version, expected ("" for none)
//	->    outcome: moved, conflict or incomplete; CURRENT as it was found
var MoveCurrent = redis.NewScript(nowMS + `
local found = redis.call('GET', KEYS[1]) or ''
if redis.call('EXISTS', KEYS[2]) == 0 then return {'incomplete', found} end
if found == ARGV[1] then return {'moved', found} end
if found ~= ARGV[2] then return {'conflict', found} end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'current_ms', ms(now))
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('HSET', KEYS[3], 'current_ms', ms(now)) end
return {'moved', found}
`)

// Hold renews a consumer's heartbeat on versions that have their marker, and removes lapsed heartbeats.
//
//	KEYS  holders, complete of each version
//	ARGV  ms until the heartbeat lapses, holder of each version
//	->    for each version the id of its marker, "" if it has none and was not held
var Hold = redis.NewScript(nowMS + `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms(now))
local ids = {}
for i = 2, #KEYS do
  local id = redis.call('HGET', KEYS[i], 'id') or ''
  if id ~= '' then redis.call('ZADD', KEYS[1], ms(now + ARGV[1]), ARGV[i]) end
  ids[i - 1] = id
end
return ids
`)

// Living returns the holders whose heartbeat has not lapsed, by the clock of the node that stores the heartbeats:
// other nodes of a cluster may have other clocks.
//
//	KEYS  holders
//	->    their members
var Living = redis.NewScript(nowMS + `
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ms(now), '+inf')
`)

// Retire takes a version out of use if nobody uses it: its data become pending for removal.
//
//	KEYS  the version's writing or complete key, current, holders, deleting, versions
//	ARGV  version, id, field of deleting
//	->    outcome: retired, current, held or changed; its holders
var Retire = redis.NewScript(nowMS + `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[2] then return {'changed', ''} end
if redis.call('GET', KEYS[2]) == ARGV[1] then return {'current', ''} end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ms(now))
local prefix = ARGV[1] .. '/'
for _, member in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  if string.sub(member, 1, #prefix) == prefix then return {'held', member} end
end
redis.call('HSET', KEYS[4], ARGV[3], redis.call('HGET', KEYS[1], 'meta'))
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[5], ARGV[1])
return {'retired', ''}
`)
