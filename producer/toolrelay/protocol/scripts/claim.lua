-- CLAIM: who runs the call, decided here and nowhere else.
-- ARGV: prefix, meta prefix, result ttl, queue, id, owner, lease ms, max attempts, on_lost, validation 0|1, dead ttl,
--       and where this worker does not have the tool: the names under which another may offer it, …
-- Returns {'run', fence, attempt, head, rest}, or the reason not to:
-- {'held'|'finished'|'early'|'unknown'|'given_up'|'elsewhere'}.
local ELSEWHERE = 300 -- ms
local id, lease_ms = ARGV[5], tonumber(ARGV[7])
local record = read(id)
if not record then return {'unknown'} end
if TERMINAL[record.status] then return {'finished'} end
if record.due and tonumber(record.due) > now then return {'early'} end
if record.status == 'pending' then
  for i = 12, #ARGV do
    if redis.call('HEXISTS', prefix .. 'catalogue', ARGV[i]) == 1 then
      -- An older or newer worker of a rolling deployment: the call waits a moment for one that has the tool.
      local due = now + ELSEWHERE
      redis.call('HSET', record.key, 'due', whole(due))
      redis.call('ZREM', waiting, id)
      redis.call('ZADD', delayed, due, id)
      return {'elsewhere'}
    end
  end
end
-- The policy of a call that runs already is that of the worker that started it.
if record.status == 'pending' then
  redis.call('HSET', record.key, 'max_attempts', ARGV[8], 'on_lost', ARGV[9], 'validation', ARGV[10])
  record.max_attempts, record.on_lost, record.validation = ARGV[8], ARGV[9], ARGV[10]
else
  if tonumber(record.lease) > now then return {'held'} end
  if not lose(record, tonumber(ARGV[11])) then return {'given_up'} end
end
if tonumber(record.attempt) >= tonumber(record.max_attempts) then
  give_up(record, 'error', 'worker_lost', 'given up after ' .. record.attempt .. ' attempts', tonumber(ARGV[11]))
  return {'given_up'}
end
local fence = redis.call('HINCRBY', record.key, 'fence', 1)
local attempt = redis.call('HINCRBY', record.key, 'attempt', 1)
redis.call('HSET', record.key, 'status', 'running', 'owner', ARGV[6], 'lease', whole(now + lease_ms), 'started', whole(now))
redis.call('HDEL', record.key, 'due')
redis.call('ZREM', waiting, id)
redis.call('ZREM', delayed, id)
redis.call('ZADD', running, now + lease_ms, id)
update(id, record.key, 'running', '')
return {'run', fence, attempt, record.head, redis.call('HGET', record.key, 'rest')}
