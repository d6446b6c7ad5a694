-- SPDX-License-Identifier: Apache-2.0
-- The requests that block a probe (R13, R20): the walks of check.lua, but to the end. visit() gets
-- owner, ticket, identity, path, held. When it returns true, the walk ends and returns true.

local function is_alive(R, identity)
    local r = L.request(R, identity)
    return r and r.deadline > now and r
end

local function walk_held(R, kind, path, below, visit)
    local function seen(member)
        local owner, ticket, identity, at = read_held(member)
        return visit(owner, ticket, identity, at, true)
    end
    if below then
        return L.each_below(R, kind, path, seen)
    end
    return L.each_at(R, kind, path, seen)
end

-- `memory` keeps how far a search has read each list of waiting requests.
local function walk_queue(R, kind, path, probe, memory, visit)
    local list = memory and R.name .. '\0' .. kind .. path
    local from = '[' .. kind .. path .. '\0'
    if memory and memory[list] then
        from = '(' .. memory[list]
    end
    return L.each(R, from, '(' .. kind .. path .. '\1', function(member)
        local owner, ticket, identity = read_waiting(member)
        if ticket >= probe.ticket then
            return true
        end
        if memory then
            memory[list] = member
        end
        return visit(owner, ticket, identity, path, false)
    end)
end

-- The same, but returns whether visit() ended the walk, not a ticket.
local function walk_ahead(R, kind, path, probe, memory, visit)
    local is_ended = false
    walk_queue(R, kind, path, probe, memory, function(...)
        is_ended = visit(...)
        return is_ended
    end)
    return is_ended
end

local function is_known(memory, what)
    if not memory then
        return false
    end
    local known = memory[what]
    memory[what] = true
    return known
end

-- R7a and R7b for one part.
function L.walk_conflicts(probe, part, memory, visit)
    local R, exclusive = part.root, part.units == 0
    for i, path in ipairs(part.chain) do
        local node = L.node(R, path)
        local below = i == 1
        local where = R.name .. (below and '\1' or '\2') .. path
        local x, s = below and node.below_x or node.held_x, below and node.below_s or node.held_s
        if x > 0 and not is_known(memory, where .. '\0X')
            and walk_held(R, 'X', path, below, visit)
            or exclusive and s > 0 and not is_known(memory, where .. '\0S')
            and walk_held(R, 'S', path, below, visit) then
            return true
        end
        x, s = below and node.behind_x or node.wait_x, below and node.behind_s or node.wait_s
        if x > 0 and walk_ahead(R, below and 'c' or 'a', path, probe, memory, visit)
            or exclusive and s > 0
            and walk_ahead(R, below and 'd' or 'b', path, probe, memory, visit) then
            return true
        end
    end
    return false
end

-- R7c for one part: every request that counts at its path, except the probe's own.
function L.walk_counting(probe, part, visit)
    local R, path = part.root, part.path
    local self = probe.self and probe.self.identity
    local function seen(owner, ticket, identity, at, held)
        return identity ~= self and visit(owner, ticket, identity, at, held)
    end
    return walk_held(R, 'S', path, false, seen)
        or walk_ahead(R, 'b', path, probe, nil, seen)
end

-- ---- explanations ----

local function contains(outer, inner)
    return outer == inner or inner:sub(1, #outer + 1) == outer .. '/'
end

-- The path at which this request conflicts with the part (R5, R6).
local function conflicting_path(r, part)
    for _, other in ipairs(r.parts) do
        if (other.units == 0 or part.units == 0)
            and (contains(other.path, part.path) or contains(part.path, other.path)) then
            return other.path
        end
    end
    return part.path
end

-- Bounds of one explanation, and of all explanations of one call, so that the server is soon free
-- for other clients. With more blockers than that, `position` is a lower bound, and those named are
-- some of them.
local EXPLAINED_MAX, EXPLAINED_IN_ALL_MAX, EXPLAINED_MIN = 1024, 20000, 32
local steps_left = EXPLAINED_IN_ALL_MAX

-- Up to `max` blockers, each once, in the order in which the walks find them.
local function collect(probe, max)
    local found, seen = {}, {}
    local is_covered = L.is_covered(probe)
    for _, part in ipairs(probe.parts) do
        local R = part.root
        local counts = false
        local function note(owner, ticket, identity, path, held)
            if not seen[identity] then
                seen[identity] = true
                found[#found + 1] = {ticket = ticket, identity = identity, held = held, root = R,
                    part = part, counts = counts}
            end
            return #found >= max
        end
        if not is_covered then
            L.walk_conflicts(probe, part, nil, function(owner, ...)
                return owner ~= probe.owner and note(owner, ...)
            end)
        end
        if #found < max and not L.fits(probe, part) then
            counts = true
            L.walk_counting(probe, part, note)
        end
    end
    steps_left = steps_left - #found
    return found
end

-- R20: the number of blockers, the first `max` of them (holders first, then by ticket), and the
-- earliest deadline among those named.
function L.explain(probe, max)
    local named, due = {}, NEVER
    local found = collect(probe, max == 0 and EXPLAINED_MIN
        or math.max(EXPLAINED_MIN, math.min(EXPLAINED_MAX, steps_left)))
    table.sort(found, function(a, b)
        if a.held ~= b.held then
            return a.held
        end
        return a.ticket < b.ticket
    end)
    for i = 1, math.min(#found, math.max(max, 8)) do
        local blocker = found[i]
        local r = L.request(blocker.root, blocker.identity)
        if r then
            due = math.min(due, r.deadline)
        end
        if r and i <= max then
            local part = blocker.part
            named[#named + 1] = blocker.counts and part.path or conflicting_path(r, part)
            named[#named + 1] = r.owner
            named[#named + 1] = r.note
            named[#named + 1] = r.ticket
            named[#named + 1] = r.held and 1 or 0
            named[#named + 1] = r.deadline
        end
    end
    return #found, named, due
end
