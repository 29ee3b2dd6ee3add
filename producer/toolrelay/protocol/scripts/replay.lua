-- REPLAY: an operator starts a dead letter anew. The id stays; attempts count from 1 again.
-- ARGV: prefix, meta prefix, result ttl, queue, id
-- Returns 'ok', 'not_dead' or 'unknown'.
local record = read(ARGV[5])
if not record then return 'unknown' end
if not TERMINAL[record.status] or not redis.call('ZSCORE', dead, record.id) then return 'not_dead' end
redis.call('ZREM', dead, record.id)
redis.call('DEL', meta_prefix .. record.id)
redis.call('HSET', record.key, 'status', 'pending', 'attempt', 0)
redis.call('HDEL', record.key, 'owner', 'started', 'finished', 'accepted')
redis.call('HINCRBY', record.key, 'fence', 1)
redis.call('PERSIST', record.key)
redis.call('PERSIST', log_key(record.id))
update(record.id, record.key, 'pending', reason('replay'))
ring(record.id, record.key)
return 'ok'
