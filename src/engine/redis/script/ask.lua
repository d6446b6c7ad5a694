-- SPDX-License-Identifier: Apache-2.0
-- The ask: a new request (R7, R8, R10, R13) or one that exists already (R3, R9); src/model/ask.c.

local TRY, WAIT = 0, 2

local function read_parts(at, count)
    local parts = {}
    for i = 1, count do
        parts[i] = L.make_part(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
        at = at + 3
    end
    return parts
end

local function paths_of(parts)
    local paths = {}
    for i, part in ipairs(parts) do
        paths[i] = part.path
    end
    return paths
end

local function units_in_use(ask)
    return L.node(ask.parts[1].root, ask.parts[1].path).units
end

-- ---- answers ----

-- outcome, now, text, flags (1 created, 2 fixed), ticket, token, ttl, deadline, in use,
-- position, id, due, values, blockers, cycle
local function reply(outcome, text, r)
    local alive = r and not r.ended
    return {outcome, now, text or '', alive and r.fixed and 2 or 0, alive and r.ticket or 0,
        alive and r.token or 0, alive and r.ttl or 0, alive and r.deadline or -1, 0, 0,
        r and r.id or 0, 0, {}, {}, {}}
end

local function refuse(ask, outcome, r, probe)
    local answer = reply(outcome, nil, r)
    answer[9] = units_in_use(ask)
    if ask.blockers_max > 0 or outcome == WAITING then
        local count, named, due = L.explain(probe, ask.blockers_max)
        answer[10] = ask.blockers_max > 0 and count or 0
        answer[12], answer[14] = due, named
    end
    return answer
end

local function state(ask, r)
    if not r.held then
        return refuse(ask, ask.style == TRY and BUSY or WAITING, r, L.probe_of(r))
    end
    local answer = reply(GRANTED, nil, r)
    answer[9] = units_in_use(ask)
    for i, part in ipairs(ask.wants and ask.parts or {}) do -- R15, in the order of the ask
        local value = call('GET', L.value_key(part.path))
        answer[13][2 * i - 1] = value
        answer[13][2 * i] = value and call('HEXISTS', part.root.base .. 'd', part.path) or 0
    end
    return answer
end

local function deadlocked(cycle, r)
    local answer = reply(DEADLOCK, nil, r)
    answer[15] = cycle
    return answer
end

-- ---- deadlines ----

do -- its names are its own: a function has 200 at most
-- Sets ttl and fixedness of a request that is asked for; returns the deadline.
local function set_ttl(ask, r)
    r.attended = ask.style == WAIT
    r.graced = false
    r.dirty = true
    if ask.until_us ~= 0 then
        r.fixed = true
        r.ttl = math.ceil((ask.until_us - now) / 1000)
        return ask.until_us
    end
    r.ttl = ask.ttl
    return now + r.ttl * 1000
end

local function refresh(ask, r)
    if ask.wants then
        L.want_value(r)
    end
    if r.fixed then
        r.attended = ask.style == WAIT
    else
        L.set_deadline(r, set_ttl(ask, r))
    end
    if ask.note then
        r.note = ask.note
    end
    if not r.held then
        r.channel = ask.style == TRY and r.channel or channel
        note_waiting(r)
    end
    r.dirty = true
end

-- ---- a new request ----

local function ask_new(ask, identity)
    local probe = {owner = ask.owner, ticket = NEWEST, parts = ask.parts}
    local granted = not L.check(probe)
    if not granted and ask.style == TRY then
        return refuse(ask, BUSY, nil, probe)
    end
    local roots = ask.roots
    local ticket = L.next_draw(roots)
    local r = {identity = identity, owner = ask.owner, ticket = ticket,
        token = granted and ticket or 0, note = ask.note or '', id = ticket,
        channel = granted and '' or channel, parts = ask.parts, roots = roots, wants = ask.wants}
    L.enter(r, granted, set_ttl(ask, r))
    if granted and L.has_other_requests(r) or not granted and L.may_close_cycle(r) then
        local cycle = L.find_cycle(r)
        if cycle then
            L.leave(r)
            return deadlocked(cycle, nil)
        end
    end
    L.keep_draw(roots, ticket)
    if granted and L.has_other_requests(r) then
        L.note_moment(roots, now)
        L.grant_waiters({}, r.owner, now) -- R8: it may cover what its owner waits for
    end
    local answer = state(ask, r)
    answer[4] = answer[4] + 1
    return answer
end

-- Whether the owner may have other live requests that this call can see.
function L.has_other_requests(r)
    for _, R in ipairs(r.roots) do
        if L.live_of(R, r.owner) > 1 then
            return true
        end
    end
    return alone and call('EXISTS', L.waits_key(r.owner)) == 1
end

-- ---- a request that exists ----

local function is_stronger(present, asked)
    return present.units ~= 0 and (asked.units == 0 or asked.units > present.units)
end

local function compare(ask, r)
    local change = 'none'
    for _, asked in ipairs(ask.parts) do
        local present = L.part_at(r, asked.path)
        if is_stronger(present, asked) then
            return 'stronger'
        end
        if present.units ~= asked.units or present.limit ~= asked.limit then
            change = 'weaker'
        end
    end
    return change
end

-- Gives the request other parts in its present state.
local function convert(r, parts, ticket, token)
    L.hide_cycle()
    L.detach(r)
    local former = r.parts
    r.parts = {}
    for i, part in ipairs(former) do
        for _, asked in ipairs(parts) do
            if asked.path == part.path then
                r.parts[i] = L.make_part(part.path, asked.limit, asked.units)
            end
        end
    end
    r.ticket, r.token = ticket, token
    L.attach(r, r.held)
    return former
end

local function strengthen_held(ask, r)
    local probe = {owner = r.owner, ticket = PASSES, self = r, parts = ask.parts}
    if L.check(probe) then
        refresh(ask, r)
        return refuse(ask, BUSY, r, probe)
    end
    local former_token = r.token
    local token = L.next_draw(r.roots)
    local former = convert(r, ask.parts, r.ticket, token)
    local cycle = L.find_cycle(r)
    if cycle then
        convert(r, former, r.ticket, former_token)
        return deadlocked(cycle, r)
    end
    L.keep_draw(r.roots, token)
    refresh(ask, r)
    L.grant_waiters(r.parts, r.owner, now)
    return state(ask, r)
end

local function ask_held(ask, r, change)
    if change == 'stronger' then
        return strengthen_held(ask, r)
    end
    if change == 'weaker' then
        convert(r, ask.parts, r.ticket, r.token)
        L.notify_workers(r)
    end
    refresh(ask, r)
    if change == 'weaker' then
        L.grant_waiters(r.parts, r.owner, now)
    end
    return state(ask, r)
end

local function ask_waiting(ask, r, change)
    if change == 'stronger' and ask.style == TRY
        and L.check({owner = r.owner, ticket = NEWEST, self = r, parts = ask.parts}) then
        change = 'none'
    end
    if change ~= 'none' then
        convert(r, ask.parts, change == 'stronger' and L.draw(r.roots) or r.ticket, 0)
    end
    refresh(ask, r)
    if change ~= 'none' then
        L.grant_waiters(r.parts, r.owner, now)
    end
    local cycle = (change ~= 'none' or L.may_hide_cycle(r)
        or not alone and L.may_close_cycle(r)) and L.find_cycle(r)
    if cycle then
        L.leave(r)
        L.grant_waiters(r.parts, nil, now)
        return deadlocked(cycle, r)
    end
    return state(ask, r)
end

function L.operations.ask()
    local ask = {owner = ARGV[6], style = tonumber(ARGV[7]), ttl = tonumber(ARGV[8]),
        until_us = tonumber(ARGV[9]), note = ARGV[10] == '1' and ARGV[11] or nil,
        blockers_max = tonumber(ARGV[12]), wants = ARGV[13] == '1'}
    if ask.until_us ~= 0 and (ask.until_us <= now or ask.until_us - now > @LK_TTL_MAX_MS@ * 1000) then
        return reply(INVALID, '@LK_TEXT_FIXED_END@')
    end
    ask.parts = read_parts(15, tonumber(ARGV[14]))
    ask.roots = L.roots_of(ask.parts)
    if ask.wants and L.has_foreign_key(paths_of(ask.parts)) then
        return reply(INVALID, L.foreign_text)
    end
    if not L.sweep() then
        return nil
    end
    local identity = L.identity(ask.owner, paths_of(ask.parts), ARGV[15 + 3 * #ask.parts])
    local r = L.find(ask.roots, identity)
    if not r then
        return ask_new(ask, identity)
    end
    if r.revoked then
        return reply(LOST,
            '@LK_TEXT_BROKEN_HELD@', r)
    end
    local change = compare(ask, r)
    if r.held then
        return ask_held(ask, r, change)
    end
    return ask_waiting(ask, r, change)
end
end
