-- SPDX-License-Identifier: Apache-2.0
-- Grants waiting requests (R7, R8) after something has ended or become weaker: one pass in the
-- order of their tickets. src/model/grant.c says why one is enough and which requests it may drop.
-- At each released path it merges the lists of those that wait at or below it with, at each path
-- above, the lists of those that wait exactly there.

do -- its names are its own: a function has 200 at most
-- ---- cursors: the position of the pass in one list ----

local function peek(cursor)
    while true do
        local member = cursor.buffer[cursor.index]
        if not member then
            if cursor.is_last then
                return nil
            end
            local from = cursor.from
            cursor.buffer = call('ZRANGEBYLEX', cursor.R.P, from, cursor.to, 'LIMIT', 0,
                cursor.size)
            cursor.is_last = #cursor.buffer < cursor.size
            cursor.index, cursor.size = 1, 50
            if #cursor.buffer > 0 then
                cursor.from = '(' .. cursor.buffer[#cursor.buffer]
            end
        else
            if cursor.member ~= member then
                cursor.member = member
                cursor.owner, cursor.ticket, cursor.identity = read_waiting(member)
            end
            local known = L.requests[cursor.identity]
            if known and (known.ended or known.held or known.ticket ~= cursor.ticket) then
                cursor.index = cursor.index + 1
            else
                return cursor
            end
        end
    end
end

local function add_cursor(front, R, kind, path, count)
    if count > 0 then
        front.cursors[#front.cursors + 1] = {R = R, kind = kind, path = path, index = 1,
            from = '[' .. kind .. path .. '\0', to = '(' .. kind .. path .. '\1', size = 3,
            buffer = {}}
    end
end

-- ---- owners that are checked separately ----

local function schedule_owner(pass, owner)
    local waiting = L.waiting_of(owner, pass.moment)
    if #waiting > 0 then
        pass.owners[owner] = {waiting = waiting, index = 1}
    end
end

local function peek_owner(state)
    local r = state.waiting[state.index]
    while r and (r.ended or r.held) do
        state.index = state.index + 1
        r = state.waiting[state.index]
    end
    return r
end

-- The owner of an exclusive lease at one of these paths, or nil.
local function exclusive_holder(R, chain)
    local holder = nil
    for _, at in ipairs(chain) do
        if not holder and R.nodes[at].held_x > 0 then
            L.each_at(R, 'X', at, function(member)
                holder = read_held(member)
                return true
            end)
        end
    end
    return holder
end

-- While an exclusive lease is held here or above, only requests of its owner can be granted (R6, R8).
-- So a long queue costs nothing then.
local function open_front(pass, R, path)
    local chain = L.chain(path)
    local front = {R = R, path = path, cursors = {}}
    L.fetch(R, chain)
    local holder = exclusive_holder(R, chain)
    if holder then
        schedule_owner(pass, holder)
        return
    end
    add_cursor(front, R, 'c', path, R.nodes[path].behind_x)
    add_cursor(front, R, 'd', path, R.nodes[path].behind_s)
    for i = 2, #chain do
        add_cursor(front, R, 'a', chain[i], R.nodes[chain[i]].wait_x)
        add_cursor(front, R, 'b', chain[i], R.nodes[chain[i]].wait_s)
    end
    if #front.cursors > 0 then
        pass.fronts[#pass.fronts + 1] = front
    end
end

-- ---- granting ----

-- Records that something has ended or been granted under these roots at this moment.
function L.note_moment(roots, moment)
    for _, R in ipairs(roots) do
        R.moment = math.max(R.moment, moment)
    end
end

-- R11: the pass may be about an earlier moment than what has happened under another root of the
-- request in this call. Both had to happen, so it can be granted at the later moment only.
local function moment_of(pass, r)
    local moment = pass.moment
    for _, R in ipairs(r.roots) do
        moment = math.max(moment, R.moment)
    end
    return moment
end

-- A grant past a smaller ticket at the same path (R7c: it names a wider limit).
local function note_overtaking(r)
    for _, part in ipairs(r.parts) do
        if L.node(part.root, part.path).wait_s > 0
            and is_ahead_in(part, 'b', part.path, 1, {ticket = r.ticket}) then
            L.hide_cycle()
        end
    end
end

local function grant(pass, r, moment)
    L.detach(r)
    r.token = L.draw(r.roots)
    L.attach(r, true)
    if r.attended and not r.fixed then -- R10: the wait has kept it alive until now
        L.set_deadline(r, moment + r.ttl * 1000)
    end
    L.note_moment(r.roots, moment)
    note_overtaking(r)
    L.notify(r)
    r.channel = ''
    schedule_owner(pass, r.owner) -- R8: it may cover others of them
end

local function check_in_pass(pass, r)
    local moment = moment_of(pass, r)
    if r.deadline <= moment or r.whole then
        return -- R11: dead at this moment; nothing revives it. Or torn (loss.lua)
    end
    local verdict, part = L.check(L.probe_of(r))
    if not verdict then
        grant(pass, r, moment)
    elseif verdict == 'limit' and part.limit >= L.node(part.root, part.path).widest then
        pass.exhausted[part.root.name .. '\0' .. part.path] = true
    end
end

-- ---- the merge ----

local function drop(front, only_exclusive)
    for _, cursor in ipairs(front.cursors) do
        if not only_exclusive or cursor.kind == 'a' or cursor.kind == 'c' then
            cursor.is_last, cursor.buffer, cursor.index = true, {}, 1
        end
    end
end

-- A request at or above the front's path blocks those behind it: drops them.
local function close_way(pass, front, owner, exclusive)
    if exclusive then
        drop(front, false)
        schedule_owner(pass, owner)
    elseif not front.has_dropped then
        front.has_dropped = true
        drop(front, true)
        schedule_owner(pass, owner)
    end
end

-- Drops the limited requests of a list if its widest limit has no room.
local function drop_exhausted(pass, front)
    for _, cursor in ipairs(front.cursors) do
        if (cursor.kind == 'b' or cursor.kind == 'd')
            and pass.exhausted[cursor.R.name .. '\0' .. cursor.path] then
            local node = L.node(cursor.R, cursor.path)
            local shared = cursor.kind == 'b' and node.wait_s or node.behind_s
            if node.limited == shared then
                cursor.is_last, cursor.buffer, cursor.index = true, {}, 1
            end
        end
    end
end

-- Moves the front past the request. Returns whether that blocks those behind it, and how.
local function step_front(front, r)
    local closes, exclusive = false, false
    for _, cursor in ipairs(front.cursors) do
        local at = peek(cursor)
        if at and at.identity == r.identity then
            cursor.index = cursor.index + 1
            local here = cursor.kind == 'a' or cursor.kind == 'b'
            local part = not here and L.part_at(r, front.path)
            if here or part and (part.units == 0) == (cursor.kind == 'c') then
                closes = true
                exclusive = exclusive or cursor.kind == 'a' or cursor.kind == 'c'
            end
        end
    end
    return closes, exclusive
end

local function next_candidate(pass)
    local best, best_ticket
    for _, front in ipairs(pass.fronts) do
        for _, cursor in ipairs(front.cursors) do
            local at = peek(cursor)
            if at and (not best or at.ticket < best_ticket) then
                best, best_ticket = L.request(cursor.R, at.identity), at.ticket
                if not best then
                    error('an entry without its request')
                end
            end
        end
    end
    for _, state in pairs(pass.owners) do
        local r = peek_owner(state)
        if r and (not best or r.ticket < best_ticket) then
            best, best_ticket = r, r.ticket
        end
    end
    return best
end

local function visit(pass, r)
    local closing = {}
    for i, front in ipairs(pass.fronts) do
        closing[i] = {step_front(front, r)}
    end
    for _, state in pairs(pass.owners) do
        if peek_owner(state) == r then
            state.index = state.index + 1
        end
    end
    check_in_pass(pass, r)
    for i, front in ipairs(pass.fronts) do
        if closing[i][1] then
            close_way(pass, front, r.owner, closing[i][2])
        end
        drop_exhausted(pass, front)
    end
end

-- `released`: parts. `owner` (or nil): its waiting requests may be covered now (R8).
function L.grant_waiters(released, owner, moment)
    local pass = {moment = moment, fronts = {}, owners = {}, exhausted = {}}
    local seen = {}
    L.note_moment(L.roots_of(released), moment)
    for _, part in ipairs(released) do
        if not seen[part.path] then
            seen[part.path] = true
            open_front(pass, part.root, part.path)
        end
    end
    if owner then
        schedule_owner(pass, owner)
    end
    L.sums = {}
    local candidate = next_candidate(pass)
    while candidate do
        visit(pass, candidate)
        candidate = next_candidate(pass)
    end
    L.sums = nil
end
end
