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
-- Keys. The value of a path is the plain string key `root` or `{root}/rest`. All other keys begin
-- with `{root}:` or `{}:`. A path has no braces (R1), so no value's key is ever one of these. What
-- belongs to a root is in one slot:
--     {root}:lk:h       hash: x, the root itself; g, the first draw of this life of the root
--                       (loss.lua); r, a request by its identity; o, how many live requests an
--                       owner has; n, what is held and waits at a path
--     {root}:lk:t       sorted set of deadlines: identities by the instant, in microseconds
--     {root}:lk:p       sorted set of places: everything that is held or waits, by path, in byte
--                       order (entries.lua)
--     {root}:lk:hN.N    hashes of ended tokens, by span of time and block (below)
--     {root}:lk:d       hash: values in doubt
--     {root}:lk:a       list: what was broken, and why
--     {root}:lk:i       hash: items           {root}:lk:q     sorted set: items by queue and age
--     {root}:lk:s       sorted set: sleepers on the root's locks
--     {root}:lk:s:PATH  sorted set: sleepers on a queue
--     {root}:lk:-       named in a cluster, never there: while the slot is moved, its absence makes
--                       the server refuse the call (TRYAGAIN) that would find some of these keys on
--                       this node, and some on the other
-- What belongs to no root:
--     {}:lk:w:OWNER     sorted set, on a single server only: the roots in which an owner waits. The
--                       owner's bytes come last, so that no owner can spell another key
--     {}:lk:f           string: the floor of new roots (below); in a cluster {TAG}:lk:f for each
--                       slot, TAG being a number in that slot. Roots have no key `:lk:f` themselves
--
-- Redis undoes nothing when a script fails. So the short ways below write what can fail first, and
-- rules() keeps an undo list of what it writes to places and deadlines (L.take_back()).
local call, read, write = redis.call, struct.unpack, struct.pack
local operation, boot, H = ARGV[1], ARGV[2], KEYS[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- R3: tokens that ended are remembered exactly, in hashes that expire by themselves: each has those
-- of one span of 100 s. A span has a ring of BLOCKS hashes of BLOCK_MAX tokens; when all are full,
-- the oldest is emptied. A root's `ended` has the present block (span * BLOCKS + its place in the
-- ring) and, times COUNTED, how many tokens it has. So a token costs one write.
local span, SPAN_KEPT_MS = time[1]:sub(1, -3), 400000
local BLOCKS, BLOCK_MAX, COUNTED = 8, 4096, 1073741824
if ARGV[3] ~= '0' then -- tests move the clock
    now = now + ARGV[3]
    span = string.format('%.0f', math.floor(now / 100000000))
end

local MARGIN = 300000000 -- how long a root is remembered after its last deadline, R3, R11
local NEVER = 9000000000000000

-- A root: the mark of this layout, its last draw, its earliest deadline (or an earlier instant),
-- when its keys expire (0: never), how many live requests keep it from that, how many live in all,
-- until when workers sleep on its locks, until when it counts as crowded, where the last ended
-- token is remembered, and the server's run.
local ROOT_MARK, ROOT = 82, '<Bdddddddds'

-- A root with a lone request (lone.lua): the mark, the request's ticket, deadline, when the key
-- expires, where the last ended token is, the server's run; then flags, ttl, limit, units; then
-- owner, path and note.
local LONE_MARK, LONE, LONE_REST = 76, '<Bdddds', 17

-- The same when it is gone: the mark, the last draw, when the key expires, where the last ended
-- token is, the run.
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

-- R4: the floor is greater than every draw under any root of the server (in a cluster, of the
-- slot). It outlives the roots: where one was forgotten and the clock was set back since, the new
-- root draws from the floor on. A draw at the clock's time raises it to the end of the second, so
-- it is written once a second at most; one ahead of the clock raises it to itself + 1. It is looked
-- at when a root is new, ahead of the clock, or draws for the first time in a second.
local F, SECOND = KEYS[3] or '{}:lk:f', 1000000
local second_end = now - now % SECOND + SECOND
local ticket, floor

-- A plain ask (call.h): what it would draw.
if operation == 'a' then
    ticket = draw >= now and draw + 1 or now
    if ticket ~= now or draw < second_end - SECOND then
        floor = tonumber(call('GET', F) or 0) or 0
        if not x and floor > ticket and (floor > second_end or floor % SECOND ~= 0)
            and floor < NEVER then
            ticket = floor
        end
        local least = ticket > now and ticket + 1 or second_end
        if floor < least then
            floor = least
            -- Where memory is full, the write that follows is refused, too.
            redis.pcall('SET', F, string.format('%.0f', floor))
        end
    end
end

-- A plain release with a token: where that is remembered.
local ended_key, ended_next, is_new_block, is_used_block
if operation == 'r' and ARGV[5] ~= '0' then
    local block = ended % COUNTED
    ended_next = ended + COUNTED
    if block - block % BLOCKS ~= span * BLOCKS then
        block, is_new_block = span * BLOCKS, true
    elseif ended_next - block > BLOCK_MAX * COUNTED then
        block = block % BLOCKS == BLOCKS - 1 and block - BLOCKS + 1 or block + 1
        is_new_block, is_used_block = true, true
    end
    if is_new_block then
        ended_next = block + COUNTED
    end
    ended_key = H .. span .. '.' .. block % BLOCKS
end
