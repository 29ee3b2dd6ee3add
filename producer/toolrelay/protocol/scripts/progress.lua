-- PROGRESS: what a running tool says of itself.
-- ARGV: prefix, meta prefix, result ttl, queue, id, fence, JSON fragment that begins with a comma, …
-- Returns 'ok', or 'fenced' when the call is no longer this worker's.
local id = ARGV[5]
local key = call_key(id)
local values = redis.call('HMGET', key, 'status', 'fence')
if values[1] ~= 'running' or values[2] ~= ARGV[6] then return 'fenced' end
for i = 7, #ARGV do update(id, key, 'running', ARGV[i]) end
return 'ok'
