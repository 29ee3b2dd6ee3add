-- REAP: finds what nobody works on any more. Any number of workers may run it; each finds what the others left.
-- ARGV: prefix, meta prefix, result ttl, queue, most calls a pass, ring grace ms, dead ttl
-- Returns {id, 'rerun'|'given_up'|'due'|'rung', …}.
local most, grace, keep = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local reply = {}
local function did(id, what)
  table.insert(reply, id)
  table.insert(reply, what)
end
local function due(set, limit)
  return redis.call('ZRANGEBYSCORE', set, '-inf', limit, 'LIMIT', 0, most)
end

for _, id in ipairs(due(running, now)) do
  local record = read(id)
  if not record or record.status ~= 'running' then
    redis.call('ZREM', running, id)
  elseif lose(record, keep) then
    ring(id, record.key)
    did(id, 'rerun')
  else
    did(id, 'given_up')
  end
end

for _, id in ipairs(due(delayed, now)) do
  redis.call('ZREM', delayed, id)
  if redis.call('HGET', call_key(id), 'status') == 'pending' and ring(id, call_key(id)) then did(id, 'due') end
end

-- A message is lost when its call still waits although the queue's oldest message was rung later: the queue is first
-- in, first out. So a backlog hides no lost message, and is never scanned.
local horizon = now - grace
local oldest = redis.call('LINDEX', queue, -1)
if oldest then
  local rung = tonumber(string.match(oldest, RUNG))
  horizon = math.min(horizon, (rung or 0) - 1)
end
for _, id in ipairs(due(waiting, horizon)) do
  redis.call('ZREM', waiting, id)
  if redis.call('HGET', call_key(id), 'status') == 'pending' and ring(id, call_key(id)) then did(id, 'rung') end
end
return reply
