-- What all scripts share: names of keys, the update log, and the one way in which a call ends.
--
-- ARGV[1] is the namespace's prefix ("toolrelay:"), ARGV[2] the prefix of Celery's result keys ("celery-task-meta-"),
-- ARGV[3] how long a finished call is kept, in ms. Every key is described in docs/protocol.md.
--
-- When its memory is full, Redis refuses a script whose first write may take memory, and no other. So only ENQUEUE and
-- PROGRESS begin with such a write: what was accepted goes on to its end. The order of writes elsewhere is no accident.
local prefix, meta_prefix, result_ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local LOG_LENGTH = 256       -- updates kept a call; older ones are dropped, and readers are told how many
local DEAD_LENGTH = 10000    -- dead letters kept
local now = clock()
local running, waiting, delayed = prefix .. 'running', prefix .. 'waiting', prefix .. 'delayed'
local dead, queue = prefix .. 'dead', prefix .. ARGV[4]

local TERMINAL = {complete = true, error = true, cancelled = true}

local function call_key(id) return prefix .. 'call:' .. id end
local function log_key(id) return prefix .. 'log:' .. id end

local function whole(number) return string.format('%.0f', number) end

-- ISO 8601 of a time in ms. Redis's Lua has no os.date; the calendar is Howard Hinnant's days-to-civil computation.
local function iso(ms)
  local days, rest = math.floor(ms / 86400000), ms % 86400000
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ"', year, month, doy - math.floor((153 * mp + 2) / 5) + 1,
    math.floor(rest / 3600000), math.floor(rest / 60000) % 60, math.floor(rest / 1000) % 60, rest % 1000)
end

-- Tells everyone who watches the call. A client that no longer listens is forgotten; it asks again when it is back.
local function publish(id, key, message)
  redis.call('PUBLISH', prefix .. 'updates:' .. id, message)
  local watchers = redis.call('HGET', key, 'watchers')
  if not watchers or watchers == '' then return end
  local left = {}
  for client in string.gmatch(watchers, '%S+') do
    if redis.call('PUBLISH', prefix .. 'reply:' .. client, message) > 0 then left[#left + 1] = client end
  end
  local kept = table.concat(left, ' ')
  if kept ~= watchers then redis.call('HSET', key, 'watchers', kept) end
end

-- Appends one update: seq is given in the same script that stores and publishes it, so no subscriber can see a gap
-- that it is not able to notice. `extra` is a JSON fragment that begins with a comma, or ''. A result is published
-- but not logged: it stands in Celery's result key.
local function update(id, key, status, extra, result)
  local seq = redis.call('HINCRBY', key, 'seq', 1)
  local head = '{"tool_call_id":"' .. id .. '","seq":' .. seq .. ',"status":"' .. status .. '","at":' .. iso(now) .. extra
  redis.call('RPUSH', log_key(id), head .. '}')
  if seq > LOG_LENGTH then redis.call('LTRIM', log_key(id), -LOG_LENGTH, -1) end
  if result then
    publish(id, key, head .. ',"result":' .. result .. '}')
  else
    publish(id, key, head .. '}')
  end
  return seq
end

local function reason(word) return ',"reason":"' .. word .. '"' end

-- The state Celery's own AsyncResult shows. A tool's failure is a value, so SUCCESS; FAILURE is the infrastructure's.
local function celery_meta(id, status, category, result)
  local done = ',"traceback":null,"children":[],"date_done":' .. iso(now) .. ',"task_id":"' .. id .. '"'
  if status == 'cancelled' then
    return '{"status":"REVOKED","result":{"exc_type":"TaskRevokedError","exc_message":["cancelled"],' ..
      '"exc_module":"celery.exceptions"}' .. done .. ',"toolrelay_result":' .. result .. '}'
  elseif category == 'worker_lost' then
    return '{"status":"FAILURE","result":{"exc_type":"WorkerLostError","exc_message":["the worker was lost"],' ..
      '"exc_module":"billiard.exceptions"}' .. done .. ',"toolrelay_result":' .. result .. '}'
  end
  return '{"status":"SUCCESS","result":' .. result .. done .. '}'
end

-- The times of the last attempt, as a JSON fragment. All from the one clock.
local function times(record)
  local started = tonumber(record.started)
  return ',"attempt":' .. record.attempt .. ',"worker":' .. (record.owner and cjson.encode(record.owner) or 'null') ..
    ',"queued_at":' .. iso(tonumber(record.queued)) .. ',"started_at":' .. (started and iso(started) or 'null') ..
    ',"finished_at":' .. iso(now) .. ',"duration_ms":' .. (started and whole(now - started) or 'null')
end

local function read(id)
  local key = call_key(id)
  local names = {'status', 'seq', 'fence', 'attempt', 'owner', 'queued', 'started', 'lease', 'digest', 'cancel',
    'max_attempts', 'on_lost', 'validation', 'due', 'head'}
  local values = redis.call('HMGET', key, unpack(names))
  if not values[1] then return nil end
  local record = {id = id, key = key}
  for i, name in ipairs(names) do if values[i] then record[name] = values[i] end end
  return record
end

-- The one way in which a call ends, whoever ends it. `outcome` is a JSON fragment of NormalizedToolResult without
-- braces; `category` is '' or its error category; `keep` is nil, or for how many ms a dead letter is kept.
local function finish(record, status, category, outcome, keep)
  local id, key = record.id, record.key
  local result = '{' .. record.head .. ',' .. outcome .. times(record) .. '}'
  local ttl = keep and math.max(keep, result_ttl) or result_ttl
  redis.call('ZREM', running, id)
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', delayed, id)
  local meta_key, meta = meta_prefix .. id, celery_meta(id, status, category, result)
  redis.call('SET', meta_key, meta, 'PX', whole(ttl))
  redis.call('HSET', key, 'status', status, 'finished', whole(now))
  if keep then
    redis.call('ZADD', dead, now, id)
    redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - ttl)
    redis.call('ZREMRANGEBYRANK', dead, 0, -DEAD_LENGTH - 1)
    redis.call('PEXPIRE', dead, whole(ttl))
  else
    redis.call('HDEL', key, 'rest', 'message')
  end
  redis.call('HDEL', key, 'lease', 'due', 'cancel', 'token', 'said', 'elsewhere')
  local seq = update(id, key, status, category == 'worker_lost' and reason('worker_lost') or '', result)
  redis.call('HDEL', key, 'watchers')
  redis.call('PEXPIRE', key, whole(ttl))
  redis.call('PEXPIRE', log_key(id), whole(ttl))
  redis.call('PUBLISH', meta_key, meta)
  return seq
end

-- Ends a call for which no tool's word is to be had.
local function give_up(record, status, category, text, keep)
  local outcome = '"success":false,"output":null,"error":' .. cjson.encode(text) .. ',"error_category":"' .. category ..
    '","retryable":' .. (category == 'worker_lost' and 'true' or 'false') .. ',"retry_after_ms":null,"is_validation":' ..
    (record.validation == '1' and 'true' or 'false') .. ',"validation_passed":null'
  return finish(record, status, category, outcome, keep)
end

-- Rings the doorbell. The message carries the time of the ring in its delivery tag ("<id>#<ms>"), which makes each
-- ring's tag its own, and lets REAP see how old the oldest message of the queue is. Looked for with its name, whose
-- quotes no JSON string can hold: a model chooses the tool's name, which stands in the message too.
local RUNG = '"delivery_tag": ?"[^"#]*#(%d+)"'
local function ring(id, key)
  local message = redis.call('HGET', key, 'message')
  if not message then return false end
  redis.call('ZADD', waiting, now, id)
  redis.call('LPUSH', queue, (string.gsub(message, '("delivery_tag": ?"[^"#]*#)%d+"', '%1' .. whole(now) .. '"', 1)))
  return true
end

-- A running call whose lease ran out, or whose worker gave it back. True when it waits for another attempt.
local function lose(record, keep)
  if record.on_lost == 'fail' then
    give_up(record, 'error', 'worker_lost', 'the worker running this call was lost; it may or may not have taken ' ..
      'effect, and this tool is not to be started twice', keep)
    return false
  end
  if record.cancel then
    give_up(record, 'cancelled', 'cancelled', 'cancelled')
    return false
  end
  if tonumber(record.attempt) >= tonumber(record.max_attempts) then
    give_up(record, 'error', 'worker_lost', 'given up: the worker was lost in each of ' .. record.attempt ..
      ' attempts', keep)
    return false
  end
  redis.call('ZREM', running, record.id)
  redis.call('HDEL', record.key, 'lease')
  redis.call('HSET', record.key, 'status', 'pending')
  update(record.id, record.key, 'pending', reason('worker_lost'))
  record.status = 'pending'
  return true
end

local function watch(key, client)
  if client == '' then return end
  local watchers = redis.call('HGET', key, 'watchers') or ''
  if not string.find(' ' .. watchers .. ' ', ' ' .. client .. ' ', 1, true) then
    redis.call('HDEL', key, 'watchers')
    redis.call('HSET', key, 'watchers', watchers == '' and client or watchers .. ' ' .. client)
  end
end

-- Everything a subscriber needs to go on from `seen`: {status, seq, result or '', update, update, …}
local function snapshot(id, seen, client)
  local key = call_key(id)
  local values = redis.call('HMGET', key, 'status', 'seq')
  if not values[1] then return nil end
  local reply = {values[1], values[2], ''}
  if TERMINAL[values[1]] then
    reply[3] = redis.call('GET', meta_prefix .. id) or ''
  else
    watch(key, client)
  end
  local missing = tonumber(values[2]) - seen
  if missing > 0 then
    for _, entry in ipairs(redis.call('LRANGE', log_key(id), -missing, -1)) do reply[#reply + 1] = entry end
  end
  return reply
end
