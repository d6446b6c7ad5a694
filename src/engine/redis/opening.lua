-- SPDX-License-Identifier: Apache-2.0
-- The opening of the script: what every call brings along, and the time.
--
-- The build joins the files of this folder, in the order that meson.build names, to one script. It
-- is one chunk that a call runs from its beginning, so what is on the way of the most frequent
-- calls comes first (fast_ask.lua, fast_release.lua) and makes no function; all the rest stands
-- inside rules(), which costs something only where it is entered.
--
-- What belongs to a root is in one slot, under these keys:
--     {root}:lk:h   a hash: x, of the root itself; r, a request by its identity; o, how many live
--                   requests an owner has; n, what is held and waits at a path; z, ended tokens
--     {root}:lk:t   deadlines: identities by the instant, in microseconds
--     {root}:lk:p   places: everything that is held or waits, by path, in byte order (places.lua)
--     {root}:lk:d   values in doubt      {root}:lk:a   what was broken, and why
--     {root}:lk:i   items                {root}:lk:q   items by queue and age
-- and the value of a path is the plain string key `root` or `{root}/rest`.
local call, pack, open = redis.call, cmsgpack.pack, cmsgpack.unpack
local OK, GRANTED, WAITING, BUSY, LOST, DEADLOCK, INVALID = 0, 1, 2, 3, 5, 6, 7
local UNSUPPORTED, NONE, AGAIN = 10, 13, 100
local MARGIN = 300000000 -- how long a root is remembered after its last deadline, R3, R11

local operation, boot, channel, alone = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local time = call('TIME')
local now = time[1] * 1000000 + time[2] + ARGV[5]

-- Numbers in writing are dear: an instant is put together from what TIME said, where it can be.
local second, fraction = time[1], ('00000' .. time[2]):sub(-6)
local is_plain_time = ARGV[5] == '0'

-- A root: its last draw, its earliest deadline (or an earlier instant), when its keys expire (0:
-- never), how many live requests keep it from that, how many live in all, until when somebody
-- sleeps on its locks, and the server's run.
local ROOT = '<dddddds'

-- A request: held, flags, how many parts; ticket, token, ttl, deadline, id; owner, note, channel;
-- and for each part its path, limit and units.
local REQUEST, PART = '<BBBdddddsss', 'sI4I4'
local REQUEST_OF_ONE = REQUEST .. PART

-- What is said of a path where one alone holds it exclusively, and of the paths above it.
local ALONE_HERE = '\1\0\0\1\0\0\0\0\0\0\0\0'
local ALONE_BELOW = '\0\0\0\1\0\0\0\0\0\0\0\0'
local read, write = struct.unpack, struct.pack
