-- SPDX-License-Identifier: Apache-2.0
-- The beginning of the script: the arguments of every call, the time, and the root of its key.
--
-- The build joins the files of this folder, in the order of meson.build, to one script. It is one
-- chunk, which every call runs from its beginning. So the code of the most frequent calls comes
-- first (single.lua, plain.lua) and creates no function. All the rest is inside
-- rules(), which costs time only if it is called. Every argument, every table in an answer and
-- every call of the server takes 0.2 to 2 us: hence the short forms of plain calls and their
-- answers (plain.lua).
--
-- Keys. The value of a path is the plain string key `root` or `{root}/rest`. All other keys begin
-- with `{root}:` or `{}:`. A path has no braces (R1), so the key of a value is never one of these.
-- If a root has escapes, L.prefix_of() tells what is in place of `{root}`, with the same promise.
-- The keys of a root are in one slot:
--     {root}:lk:h       hash: x, the root itself; g, the first draw of this life of the root
--                       (loss.lua); r, a request by its identity; o, how many live requests an
--                       owner has; n, what is held and waits at a path
--     {root}:lk:t       sorted set of deadlines: identities by the instant, in microseconds
--     {root}:lk:p       sorted set of entries: everything that is held or waits, by path, in byte
--                       order (entries.lua)
--     {root}:lk:hN.N    hashes of ended tokens, by span of time and block (below)
--     {root}:lk:d       hash: values in doubt
--     {root}:lk:a       list: what was broken, and why
--     {root}:lk:i       hash: items and queues (items.lua)
--     {root}:lk:q       sorted set: their index
--     {root}:lk:b       sorted set: the items that locks of the root block (groups.lua)
--     {root}:lk:s       sorted set: sleepers on the root's locks
--     {root}:lk:s:PATH  sorted set: sleepers on a queue
--     {root}:lk:-       never exists. Named in calls on a cluster, so that the server refuses them
--                       (TRYAGAIN) while the slot is migrating and only some keys are on this node
-- Keys of no root:
--     {}:lk:w:OWNER     sorted set, on a single server only: the roots in which an owner waits. The
--                       owner's bytes come last, so that no owner can spell another key
--     {}:lk:w           sorted set, on a single server only: the roots in which requests wait
--     {}:lk:f           string: the floor of new roots (below); in a cluster {TAG}:lk:f for each
--                       slot, TAG being a number in that slot. No root has a key `:lk:f`
--
-- Redis undoes nothing when a script fails. So the plain calls begin with the writes that can fail,
-- and rules() keeps an undo list of what it writes to entries and deadlines (L.roll_back()).
local call, read, write = redis.call, struct.unpack, struct.pack
local operation, boot, H = ARGV[1], ARGV[2], KEYS[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- R3: ended tokens are remembered exactly, in hashes that expire: each has those of one span of 100
-- s. A span has a ring of BLOCKS hashes of BLOCK_MAX tokens; when all are full, the oldest is
-- emptied. A root's `ended` is the present block (span * BLOCKS + its index in the ring) plus
-- COUNTED times the number of its tokens. So a token costs one write.
local span, SPAN_KEPT_MS = time[1]:sub(1, -3), 400000
local BLOCKS, BLOCK_MAX, COUNTED = 8, 4096, 1073741824
if ARGV[3] ~= '0' then -- tests shift the clock
    now = now + ARGV[3]
    span = string.format('%.0f', math.floor(now / 100000000))
end

local MARGIN = @LK_ENDED_MEMORY_US@ -- how long a root is remembered after its last deadline, R3, R11
local NEVER = 9000000000000000
local BLOCKING = NEVER -- in place of `sleepers`: it blocks groups of items (groups.lua)

-- A root: the mark of this layout, its last draw, its earliest deadline (or an earlier instant),
-- the expiry of its keys (0: none), the number of live requests that keep it from expiring, the
-- number of all live requests, the time until which workers sleep on its locks, the time until
-- which it counts as crowded, the position of the last ended token, and the server's run.
local ROOT_MARK, ROOT = 82, '<Bdddddddds'

-- A root with a single request (single.lua): the mark, the request's ticket, its deadline, the expiry
-- of the key, the position of the last ended token, the server's run; then flags, ttl, limit,
-- units; then owner, path and note.
local SINGLE_MARK, SINGLE, SINGLE_REST = 76, '<Bdddds', 17

-- The same without a request: the mark, the last draw, the expiry of the key, the position of the
-- last ended token, the run.
local EMPTY_MARK, EMPTY = 69, '<Bddds'

local x = call('HGET', H, 'x')
local mark = x and (x:byte() or 0)
local draw, first, expiry, kept, live, sleepers, crowded, ended, known = 0, NEVER, 0, 0, 0, 0, 0, 0,
    boot
local rest
if mark == EMPTY_MARK then
    mark, draw, expiry, ended, known = read(EMPTY, x)
elseif mark == SINGLE_MARK then
    mark, draw, first, expiry, ended, known, rest = read(SINGLE, x)
    live = 1
elseif mark == ROOT_MARK then
    mark, draw, first, expiry, kept, live, sleepers, crowded, ended, known = read(ROOT, x)
elseif mark then
    return redis.error_reply('ERR damaged: field x of ' .. H)
end

-- R4: the floor is greater than every draw under any root of the server (in a cluster, of the
-- slot). It outlives the roots: if a root has expired and the clock was set back since, the new
-- root draws from the floor on. A draw at the clock's time raises it to the end of the second, so
-- it is written once a second at most; one ahead of the clock raises it to itself + 1. It is read
-- when a root is new, is ahead of the clock, or draws for the first time in a second.
local F, SECOND = KEYS[3] or '{}:lk:f', 1000000
local second_end = now - now % SECOND + SECOND
local ticket, floor

-- A plain ask (call.h): the ticket that it would draw.
if operation == 'a' then
    ticket = draw >= now and draw + 1 or now
    if ticket ~= now or draw < second_end - SECOND then
        floor = tonumber(call('GET', F) or 0) or 0
        if not x and floor > ticket and (floor > second_end or floor % SECOND ~= 0)
            and floor < NEVER then
            ticket = floor
        end
        local minimum = ticket > now and ticket + 1 or second_end
        if floor < minimum then
            floor = minimum
            -- Where memory is full, the next write is refused, too.
            redis.pcall('SET', F, string.format('%.0f', floor))
        end
    end
end

-- A plain release with a token: the hash that will remember it.
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
