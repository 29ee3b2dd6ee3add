-- ENQUEUE: the same id is the same call.
-- ARGV: prefix, meta prefix, result ttl, queue, id, client or '', digest, head, rest, message, validation 0|1,
--       refusal's status or '', its category, its outcome
-- Returns {'new'}, {'conflict', status}, or {'duplicate', snapshot…}.
local id, client, digest = ARGV[5], ARGV[6], ARGV[7]
local key = call_key(id)
local known = redis.call('HMGET', key, 'digest', 'status')
if known[1] then
  if known[1] ~= digest then return {'conflict', known[2]} end
  local reply = snapshot(id, 0, client)
  table.insert(reply, 1, 'duplicate')
  return reply
end
-- Fences begin at the time, so that no worker holds one of an earlier record of this id, which has expired.
redis.call('HSET', key, 'status', 'pending', 'seq', 0, 'fence', whole(now), 'attempt', 0, 'digest', digest, 'queued', whole(now),
  'validation', ARGV[11], 'watchers', client, 'head', ARGV[8], 'rest', ARGV[9], 'message', ARGV[10])
redis.call('DEL', log_key(id), meta_prefix .. id)  -- an earlier record's, if they outlived it by a moment
update(id, key, 'pending', '')
if ARGV[12] ~= '' then
  finish(read(id), ARGV[12], ARGV[13], ARGV[14])
  -- REPLAY can start what was kept: a refusal that may be out of date tomorrow comes with its message.
  if ARGV[10] ~= '' then redis.call('HSET', key, 'rest', ARGV[9], 'message', ARGV[10]) end
  local reply = snapshot(id, 0, '')
  table.insert(reply, 1, 'new')
  return reply
end
ring(id, key)
return {'new', 'pending', 1, ''}
