-- CLAIM: who runs the call, decided here and nowhere else.
-- ARGV: prefix, meta prefix, result ttl, queue, id, owner, lease ms, max attempts, on_lost, validation 0|1, dead ttl,
--       token, and where this worker does not have the tool: the names under which another may offer it, …
-- Returns {'run', fence, attempt, head, rest}, or the reason not to:
-- {'held'|'finished'|'early'|'unknown'|'given_up'|'elsewhere'}.
local ELSEWHERE, ELSEWHERE_AT_MOST = 300, 10000 -- ms
local id, lease_ms = ARGV[5], tonumber(ARGV[7])
local record = read(id)
if not record then return {'unknown'} end
if TERMINAL[record.status] then return {'finished'} end
if record.due and tonumber(record.due) > now then return {'early'} end
if record.status == 'running' then
  -- The same CLAIM again, because its reply was lost: without the token the call would wait for its own lease to end,
  -- and a call that must not run twice would be given up without having run at all.
  if redis.call('HGET', record.key, 'token') == ARGV[12] then
    return {'run', record.fence, record.attempt, record.head, redis.call('HGET', record.key, 'rest')}
  end
  if tonumber(record.lease) > now then return {'held'} end
  -- What becomes of a lost attempt is for the policy of the worker that started it.
  if not lose(record, tonumber(ARGV[11])) then return {'given_up'} end
end
redis.call('ZREM', waiting, id)
for i = 13, #ARGV do
  if redis.call('HEXISTS', prefix .. 'catalogue', ARGV[i]) == 1 then
    -- An older or newer worker of a rolling deployment: the call waits for one that has the tool, ever longer, since
    -- the catalogue remembers tools whose workers are gone.
    local waits = redis.call('HINCRBY', record.key, 'elsewhere', 1)
    local due = now + math.min(ELSEWHERE * 2 ^ math.min(waits - 1, 10), ELSEWHERE_AT_MOST)
    redis.call('HSET', record.key, 'due', whole(due))
    redis.call('ZADD', delayed, due, id)
    return {'elsewhere'}
  end
end
redis.call('HSET', record.key, 'max_attempts', ARGV[8], 'on_lost', ARGV[9], 'validation', ARGV[10])
record.max_attempts, record.on_lost, record.validation = ARGV[8], ARGV[9], ARGV[10]
if tonumber(record.attempt) >= tonumber(record.max_attempts) then
  give_up(record, 'error', 'worker_lost', 'given up after ' .. record.attempt .. ' attempts', tonumber(ARGV[11]))
  return {'given_up'}
end
local fence = redis.call('HINCRBY', record.key, 'fence', 1)
local attempt = redis.call('HINCRBY', record.key, 'attempt', 1)
redis.call('HSET', record.key, 'status', 'running', 'owner', ARGV[6], 'token', ARGV[12],
  'lease', whole(now + lease_ms), 'started', whole(now))
redis.call('HDEL', record.key, 'due', 'said', 'elsewhere')
redis.call('ZREM', delayed, id)
redis.call('ZADD', running, now + lease_ms, id)
update(id, record.key, 'running', '')
return {'run', fence, attempt, record.head, redis.call('HGET', record.key, 'rest')}
