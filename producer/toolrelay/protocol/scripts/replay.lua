-- REPLAY: an operator starts an ended call anew whose message was kept: a dead letter, or a call that was refused because
-- nobody knew its tool. The id stays; attempts count from 1 again.
-- ARGV: prefix, meta prefix, result ttl, queue, id
-- Returns 'ok', 'not_dead' or 'unknown'.
local record = read(ARGV[5])
if not record then return 'unknown' end
if not TERMINAL[record.status] or not redis.call('HGET', record.key, 'message') then return 'not_dead' end
redis.call('ZREM', dead, record.id)
-- The old log goes: a reader who comes now must not take its end for the end. `seq` goes on, so that nobody sees a
-- number twice; who comes now is told how many updates are gone.
redis.call('DEL', meta_prefix .. record.id, log_key(record.id))
redis.call('HSET', record.key, 'status', 'pending', 'attempt', 0)
redis.call('HDEL', record.key, 'owner', 'started', 'finished', 'accepted')
redis.call('HINCRBY', record.key, 'fence', 1)
redis.call('PERSIST', record.key)
update(record.id, record.key, 'pending', reason('replay'))
ring(record.id, record.key)
return 'ok'
