-- The only clock: Redis's own, in milliseconds. Tests put another one in this file's place.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
