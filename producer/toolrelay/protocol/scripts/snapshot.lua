-- SNAPSHOT: where a call stands and what a subscriber that saw `seen` has missed; subscribes `client` to what follows.
-- ARGV: prefix, meta prefix, result ttl, queue, id, seen, client or ''
-- Returns {status, seq, result or '', update…}, or {} when there is no such call.
return snapshot(ARGV[5], tonumber(ARGV[6]), ARGV[7]) or {}
