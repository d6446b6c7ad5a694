-- SPDX-License-Identifier: Apache-2.0
-- What is in the way of a claim (R13, R20): the walks of check.lua, but to the end. visit() gets
-- owner, ticket, identity, path, held; when it returns true the walk ends, and has returned true.

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

-- `memory` keeps how far a search has looked into a line.
local function walk_line(R, kind, path, claim, memory, visit)
    local place = memory and R.name .. '\0' .. kind .. path
    local from = '[' .. kind .. path .. '\0'
    if memory and memory[place] then
        from = '(' .. memory[place]
    end
    return L.each(R, from, '(' .. kind .. path .. '\1', function(member)
        local owner, ticket, identity = read_waiting(member)
        if ticket >= claim.ticket then
            return true
        end
        if memory then
            memory[place] = member
        end
        return visit(owner, ticket, identity, path, false)
    end)
end

-- The same, telling whether visit() ended it, and not a ticket.
local function walk_ahead(R, kind, path, claim, memory, visit)
    local is_ended = false
    walk_line(R, kind, path, claim, memory, function(...)
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
function L.walk_conflicts(claim, part, memory, visit)
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
        if x > 0 and walk_ahead(R, below and 'c' or 'a', path, claim, memory, visit)
            or exclusive and s > 0
            and walk_ahead(R, below and 'd' or 'b', path, claim, memory, visit) then
            return true
        end
    end
    return false
end

-- R7c for one part: all that count at its path, the claim's own request left out.
function L.walk_counting(claim, part, visit)
    local R, path = part.root, part.path
    local self = claim.self and claim.self.identity
    local function seen(owner, ticket, identity, at, held)
        return identity ~= self and visit(owner, ticket, identity, at, held)
    end
    return walk_held(R, 'S', path, false, seen)
        or walk_ahead(R, 'b', path, claim, nil, seen)
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

-- An explanation walks so far, and all those of one call together: the server is there for others,
-- too. Where more are in the way, `position` is a lower bound, and those named are among them.
local EXPLAINED_MAX, EXPLAINED_IN_ALL_MAX, EXPLAINED_MIN = 1024, 20000, 32
local steps_left = EXPLAINED_IN_ALL_MAX

-- Those in the way, each once, in the order in which the walks meet them, up to `max`.
local function collect(claim, max)
    local found, seen = {}, {}
    local is_covered = L.is_covered(claim)
    for _, part in ipairs(claim.parts) do
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
            L.walk_conflicts(claim, part, nil, function(owner, ...)
                return owner ~= claim.owner and note(owner, ...)
            end)
        end
        if #found < max and not L.fits(claim, part) then
            counts = true
            L.walk_counting(claim, part, note)
        end
    end
    steps_left = steps_left - #found
    return found
end

-- R20: how many are in the way, the first `max` of them (holders first, then by ticket), and the
-- earliest of their deadlines among those named.
function L.explain(claim, max)
    local named, due = {}, NEVER
    local found = collect(claim, max == 0 and EXPLAINED_MIN
        or math.max(EXPLAINED_MIN, math.min(EXPLAINED_MAX, steps_left)))
    table.sort(found, function(a, b)
        if a.held ~= b.held then
            return a.held
        end
        return a.ticket < b.ticket
    end)
    for i = 1, math.min(#found, math.max(max, 8)) do
        local obstacle = found[i]
        local r = L.request(obstacle.root, obstacle.identity)
        if r then
            due = math.min(due, r.deadline)
        end
        if r and i <= max then
            local part = obstacle.part
            named[#named + 1] = obstacle.counts and part.path or conflicting_path(r, part)
            named[#named + 1] = r.owner
            named[#named + 1] = r.note
            named[#named + 1] = r.ticket
            named[#named + 1] = r.held and 1 or 0
            named[#named + 1] = r.deadline
        end
    end
    return #found, named, due
end
