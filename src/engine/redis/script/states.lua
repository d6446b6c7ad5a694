-- SPDX-License-Identifier: Apache-2.0
-- The states of a request, from its beginning to its end: the counts at its paths, its entries, its
-- deadline, and its draws (R4).

-- Adds `by` to the counts of the request at its paths.
local function count(r, by)
    for _, part in ipairs(r.parts) do
        local R = part.root
        local suffix = part.units == 0 and '_x' or '_s'
        L.fetch(R, part.chain)
        local here = R.nodes[part.path]
        if r.held then
            here['held' .. suffix] = here['held' .. suffix] + by
            here.units = here.units + by * part.units
        else
            here['wait' .. suffix] = here['wait' .. suffix] + by
            here.wait_units = here.wait_units + by * part.units
            if part.limit ~= 0 then
                here.widest = here.limited == 0 and part.limit or math.max(here.widest, part.limit)
                here.limited = here.limited + by
            end
        end
        local kind = (r.held and 'below' or 'behind') .. suffix
        for _, path in ipairs(part.chain) do
            local node = R.nodes[path]
            node[kind] = node[kind] + by
            node.dirty = true
        end
    end
end

-- R13 across roots, on a single server: the roots under which an owner waits.
function L.waits_key(owner)
    return '{}:lk:w:' .. owner
end

-- {}:lk:w, on a single server: the roots in which requests wait, by a deadline that no waiting one
-- exceeds by much; and as the empty member a draw: of the requests with smaller tickets, a cycle
-- may exist that no ask has found (L.hide_cycle()).
local ROOTS_WAITING = '{}:lk:w'

local function keep_roots_waiting(deadline)
    local kept_ms = math.ceil((deadline - now + MARGIN) / 1000)
    if call('PTTL', ROOTS_WAITING) < kept_ms then
        call('PEXPIRE', ROOTS_WAITING, kept_ms + 60000)
    end
end

local function note_root_waiting(R, deadline)
    if call('ZADD', ROOTS_WAITING, 'GT', deadline, R.name) == 1 then
        L.undo[#L.undo + 1] = {'ZREM', ROOTS_WAITING, R.name}
        call('ZREMRANGEBYSCORE', ROOTS_WAITING, '-inf', now - MARGIN) -- where all have perished
    end
    keep_roots_waiting(deadline)
end

local function forget_root_waiting(R, deadline)
    local top = L.node(R, R.name)
    if top.behind_x + top.behind_s == 0 and call('ZREM', ROOTS_WAITING, R.name) == 1 then
        L.undo[#L.undo + 1] = {'ZADD', ROOTS_WAITING, deadline, R.name}
    end
end

local function note_waiting(r)
    if alone then
        local key = L.waits_key(r.owner)
        for _, R in ipairs(r.roots) do
            if call('ZADD', key, r.deadline, R.name) == 1 then
                L.undo[#L.undo + 1] = {'ZREM', key, R.name}
            end
            note_root_waiting(R, r.deadline)
        end
        call('PEXPIRE', key, math.ceil((r.deadline - now + MARGIN) / 1000))
    end
end

local function forget_waiting(r)
    if alone then
        for _, R in ipairs(r.roots) do
            if call('ZLEXCOUNT', R.P, '[o' .. r.owner .. '\0', '(o' .. r.owner .. '\1') == 0 then
                local key = L.waits_key(r.owner)
                call('ZREM', key, R.name)
                L.undo[#L.undo + 1] = {'ZADD', key, r.deadline, R.name}
            end
            forget_root_waiting(R, r.deadline)
        end
    end
end

function L.attach(r, held)
    r.held = held
    count(r, 1)
    add_entries(r)
    r.dirty = true
    if not held then
        note_waiting(r)
    end
end

function L.detach(r)
    count(r, -1)
    remove_entries(r)
    if not r.held then
        if L.sums then
            L.correct_sums(r)
        end
        forget_waiting(r)
    end
    for _, part in ipairs(r.parts) do
        L.wake_lists(part.root, part.path, r.owner)
    end
end

-- Creates the sorted sets of a root without live requests. A guard in each keeps the set, and so
-- its expiry, in existence. The root counts as crowded for a moment.
local CROWDED = 1000000

local function guard(R)
    if not R.is_guarded then
        R.is_guarded = true
        local kept_ms = math.ceil((math.max(R.expiry, now + MARGIN) - now) / 1000)
        L.undo[#L.undo + 1] = {'PEXPIRE', R.T, kept_ms}
        L.undo[#L.undo + 1] = {'PEXPIRE', R.P, kept_ms}
        call('DEL', R.T, R.P)
        call('ZADD', R.T, 'inf', '')
        call('ZADD', R.P, 0, '~')
        R.crowded = now + CROWDED
        R.dirty = true
    end
end

function L.set_deadline(r, deadline)
    local former = r.deadline
    r.deadline = deadline
    r.dirty = true
    for _, R in ipairs(r.roots) do
        call('ZADD', R.T, deadline, r.identity)
        L.undo[#L.undo + 1] = former and {'ZADD', R.T, former, r.identity}
            or {'ZREM', R.T, r.identity}
        R.first = math.min(R.first, deadline)
        R.latest = math.max(R.latest, deadline)
    end
    if deadline <= now then
        L.swept = 0 -- L.sweep() has to check all roots again
    end
    for _, part in ipairs(former and deadline < former and r.parts or {}) do
        L.wake_lists(part.root, part.path, r.owner) -- they count on the former one
    end
end

local function read_floor()
    floor = floor or tonumber(call('GET', F) or 0) or 0
end

-- R4: a new root, or one that had expired, draws from the floor on (opening.lua).
function L.next_draw(roots)
    read_floor()
    local minimum = floor < NEVER and (floor > second_end or floor % SECOND ~= 0) and floor or 0
    local draw = now
    for _, R in ipairs(roots) do
        draw = math.max(draw, R.draw + 1, R.is_new and minimum or 0)
    end
    return draw
end

local max_draw = 0

function L.keep_draw(roots, draw)
    max_draw = math.max(max_draw, draw)
    for _, R in ipairs(roots) do
        R.born = R.born or R.is_new and draw
        R.draw = draw
        R.dirty = true
    end
end

-- Raises the floor above every draw of this call.
function L.keep_floor()
    if max_draw > 0 then
        read_floor() -- claims that share a token draw none
        local minimum = max_draw > now and max_draw + 1 or second_end
        if floor < minimum then
            call('SET', F, string.format('%.0f', minimum))
            floor = minimum
        end
    end
end

-- R13: a cycle of owners can also form when no ask sees it (src/model/ask.c lists the cases). After
-- that, an ask for a request that waits already searches for it, too.
local hides_cycle = false

function L.hide_cycle()
    hides_cycle = alone
end

function L.may_hide_cycle(r)
    return alone and (hides_cycle
        or tonumber(call('ZSCORE', ROOTS_WAITING, '') or 0) > r.ticket)
end

-- Every ticket is smaller than the floor.
function L.keep_hidden_cycle()
    if hides_cycle and call('EXISTS', ROOTS_WAITING) == 1 then
        read_floor()
        call('ZADD', ROOTS_WAITING, 'GT', floor, '')
        keep_roots_waiting(now)
    end
end

function L.draw(roots)
    local draw = L.next_draw(roots)
    L.keep_draw(roots, draw)
    return draw
end

local function is_kept(r)
    return r.wants or r.claim
end

local function count_live(r, by)
    for _, R in ipairs(r.roots) do
        R.owners[r.owner] = L.live_of(R, r.owner) + by
        R.written['o' .. r.owner] = R.owners[r.owner] > 0 and tostring(R.owners[r.owner])
        R.live = R.live + by
        if is_kept(r) then
            R.kept = R.kept + by
        end
    end
end

-- R15: marks the request, because its death puts its values in doubt.
function L.want_value(r)
    if not r.wants then
        if not is_kept(r) then
            for _, R in ipairs(r.roots) do
                R.kept = R.kept + 1
            end
        end
        r.wants = true
        r.dirty = true
    end
end

function L.enter(r, held, deadline)
    L.requests[r.identity] = r
    r.ended = nil
    for _, R in ipairs(r.roots) do
        if R.live == 0 then
            guard(R)
        end
    end
    count_live(r, 1)
    L.set_deadline(r, deadline)
    L.attach(r, held)
end

-- R8: a lease may have covered what its owner waits for.
local function note_uncovered(r)
    for _, part in ipairs(r.held and r.parts or {}) do
        local here = L.node(part.root, part.path)
        if here.behind_x + here.behind_s > 0 and L.live_of(part.root, r.owner) > 1 then
            L.hide_cycle()
        end
    end
end

function L.leave(r)
    note_uncovered(r)
    L.detach(r)
    for _, R in ipairs(r.roots) do
        call('ZREM', R.T, r.identity)
        L.undo[#L.undo + 1] = {'ZADD', R.T, r.deadline, r.identity}
    end
    count_live(r, -1)
    r.ended = true
    r.dirty = true
end

-- Gives a single request (single.lua) the fields and entries that others have.
function L.unfold(R, packed)
    local _, ticket, deadline, expiry, span, run, at = read(SINGLE, packed)
    local flags, ttl, limit, units, owner, path, note = read('<BdI4I4sss', packed, at)
    R.draw, R.first, R.expiry, R.kept, R.live, R.sleepers, R.ended, R.boot = ticket, deadline,
        expiry, 0, 1, 0, span, run
    guard(R)
    local r = {identity = owner .. '\0' .. path, owner = owner, ticket = ticket, token = ticket,
        ttl = ttl, attended = flags == 1, note = note, id = ticket, channel = '',
        parts = {L.make_part(path, limit, units)}, roots = {R}}
    L.requests[r.identity] = r
    R.owners[owner] = 1
    R.written['o' .. owner] = '1'
    L.set_deadline(r, deadline)
    L.attach(r, true)
end
