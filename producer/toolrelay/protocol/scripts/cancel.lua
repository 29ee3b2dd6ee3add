-- CANCEL: ends a call that waits; asks the worker of one that runs.
-- ARGV: prefix, meta prefix, result ttl, queue, id
-- Returns {'cancelled'|'requested'|'finished'|'unknown'}.
local record = read(ARGV[5])
if not record then return 'unknown' end
if TERMINAL[record.status] then return 'finished' end
if record.status == 'pending' then
  give_up(record, 'cancelled', 'cancelled', 'cancelled before it was started')
  return 'cancelled'
end
redis.call('HDEL', record.key, 'cancel')
redis.call('HSET', record.key, 'cancel', 1)
redis.call('PUBLISH', prefix .. 'control:' .. record.owner, record.id)
return 'requested'
