-- SPDX-License-Identifier: Apache-2.0
-- The opening of the script: what every call brings along, the time, and the root of its key.
--
-- The build joins the files of this folder, in the order that meson.build names, to one script. It
-- is one chunk that a call runs from its beginning, so what is on the way of the most frequent
-- calls comes first (lone.lua, fast_ask.lua, fast_release.lua) and makes no function; all the rest
-- stands inside rules(), which costs something only where it is entered. Every argument, every
-- table that is answered and every call of the server is dear (0.2 to 2 us): hence the short forms
-- of plain calls and their answers (plain.lua).
--
-- What belongs to a root is in one slot, under these keys:
--     {root}:lk:h   a hash: x, of the root itself; r, a request by its identity; o, how many live
--                   requests an owner has; n, what is held and waits at a path
--     {root}:lk:t   deadlines: identities by the instant, in microseconds
--     {root}:lk:p   places: everything that is held or waits, by path, in byte order (places.lua)
--     {root}:lk:h.. tokens that ended in some span of 100 s (ends.lua)
--     {root}:lk:d   values in doubt      {root}:lk:a   what was broken, and why
--     {root}:lk:i   items                {root}:lk:q   items by queue and age
-- and the value of a path is the plain string key `root` or `{root}/rest`.
-- In a cluster a second key is named that is never there: while the slot is moved, its absence makes
-- the server refuse the call (TRYAGAIN) that would find some of these here, and some elsewhere.
local call, read, write = redis.call, struct.unpack, struct.pack
local operation, boot, H = ARGV[1], ARGV[2], KEYS[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- R3: tokens that ended are remembered by spans of 100 s, a thousand of each at most.
local span, SPAN_KEPT_MS = time[1]:sub(1, -3), 400000
if ARGV[3] ~= '0' then -- tests move the clock
    now = now + ARGV[3]
    span = string.format('%.0f', math.floor(now / 100000000))
end

local MARGIN = 300000000 -- how long a root is remembered after its last deadline, R3, R11
local NEVER = 9000000000000000

-- A root: the mark of this layout, its last draw, its earliest deadline (or an earlier instant),
-- when its keys expire (0: never), how many live requests keep it from that, how many live in all,
-- until when somebody sleeps on its locks, until when it counts as crowded, in which span a token
-- ended last, and the server's run.
local ROOT_MARK, ROOT = 82, '<Bdddddddds'

-- A root with a lone request (lone.lua): the mark, the request's ticket, deadline, when the key
-- expires, the span, the server's run; then flags, ttl, limit, units; then owner, path and note.
local LONE_MARK, LONE, LONE_REST = 76, '<Bdddds', 17

-- The same when it is gone: the mark, the last draw, when the key expires, the span, the run.
local EMPTY_MARK, EMPTY = 69, '<Bddds'

local x = call('HGET', H, 'x')
local mark = x and (x:byte() or 0)
local draw, first, expiry, kept, live, sleepers, crowded, ended, known = 0, NEVER, 0, 0, 0, 0, 0, 0,
    boot
local rest
if mark == EMPTY_MARK then
    mark, draw, expiry, ended, known = read(EMPTY, x)
elseif mark == LONE_MARK then
    mark, draw, first, expiry, ended, known, rest = read(LONE, x)
    live = 1
elseif mark == ROOT_MARK then
    mark, draw, first, expiry, kept, live, sleepers, crowded, ended, known = read(ROOT, x)
elseif mark then
    return redis.error_reply('ERR damaged: field x of ' .. H)
end
