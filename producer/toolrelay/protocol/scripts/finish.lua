-- FINISH: the end of an attempt, accepted once and only from the worker that the fence names.
-- ARGV: prefix, meta prefix, result ttl, queue, id, fence, status, category, outcome, dead ttl or '', delay ms
-- Status 'pending' gives the call back: with reason 'retry' (outcome '') it waits `delay` ms for its next attempt;
-- with reason 'worker_lost' (category) the call is treated as a lost one.
-- Returns 'ok', 'already', 'fenced' or 'unknown'. A repeated FINISH of the same fence is 'ok': its first reply was lost.
local record = read(ARGV[5])
if not record then return 'unknown' end
if record.fence ~= ARGV[6] then return TERMINAL[record.status] and 'already' or 'fenced' end
if TERMINAL[record.status] then return redis.call('HGET', record.key, 'accepted') == ARGV[6] and 'ok' or 'already' end
local status, keep = ARGV[7], tonumber(ARGV[10])
if status ~= 'pending' then
  finish(record, status, ARGV[8], ARGV[9], keep)
  redis.call('HSET', record.key, 'accepted', ARGV[6])
  return 'ok'
end
if record.status ~= 'running' then return 'ok' end
if ARGV[8] == 'worker_lost' then
  if lose(record, keep) then ring(record.id, record.key) end
  return 'ok'
end
if record.cancel then
  give_up(record, 'cancelled', 'cancelled', 'cancelled')
  return 'ok'
end
local due = now + tonumber(ARGV[11])
redis.call('ZREM', running, record.id)
redis.call('HDEL', record.key, 'lease')
redis.call('HSET', record.key, 'status', 'pending', 'due', whole(due))
redis.call('ZADD', delayed, due, record.id)
update(record.id, record.key, 'pending', reason('retry'))
return 'ok'
