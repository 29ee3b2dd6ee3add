-- PROGRESS: what a running tool says of itself.
-- ARGV: prefix, meta prefix, result ttl, queue, id, fence, how many fragments this attempt has sent before,
--       JSON fragment that begins with a comma, …
-- Returns 'ok', or 'fenced' when the call is no longer this worker's.
local id, before = ARGV[5], tonumber(ARGV[7])
local key = call_key(id)
local values = redis.call('HMGET', key, 'status', 'fence', 'said')
if values[1] ~= 'running' or values[2] ~= ARGV[6] then return 'fenced' end
-- What is known came with a PROGRESS whose reply was lost: a reader must not see it twice.
local said = math.max(before, tonumber(values[3]) or 0)
if before + #ARGV - 7 > said then redis.call('HSET', key, 'said', before + #ARGV - 7) end
for i = 8 + said - before, #ARGV do update(id, key, 'running', ARGV[i]) end
return 'ok'
