-- BEAT: one heartbeat for all calls of a worker process, and for the process itself.
-- ARGV: prefix, meta prefix, result ttl, queue, worker, worker's state as JSON, its ttl ms, lease ms, {id, fence}…
-- Returns {length of the queue, id, 'lost'|'cancel', …}.
local lease = now + tonumber(ARGV[8])
redis.call('ZREMRANGEBYSCORE', prefix .. 'workers', '-inf', now - tonumber(ARGV[7]))
redis.call('SET', prefix .. 'worker:' .. ARGV[5], ARGV[6], 'PX', ARGV[7])
redis.call('ZADD', prefix .. 'workers', now, ARGV[5])
redis.call('PEXPIRE', prefix .. 'workers', ARGV[7])
local reply = {redis.call('LLEN', queue)}
for i = 9, #ARGV, 2 do
  local id, fence = ARGV[i], ARGV[i + 1]
  local values = redis.call('HMGET', call_key(id), 'status', 'fence', 'cancel')
  if values[1] ~= 'running' or values[2] ~= fence then
    table.insert(reply, id)
    table.insert(reply, 'lost')
  else
    redis.call('HSET', call_key(id), 'lease', whole(lease))
    redis.call('ZADD', running, lease, id)
    if values[3] then
      table.insert(reply, id)
      table.insert(reply, 'cancel')
    end
  end
end
return reply
