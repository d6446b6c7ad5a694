-- SPDX-License-Identifier: Apache-2.0
-- The requests that block a probe (R13, R20): the walks of check.lua, but to the end. visit() gets
-- owner, ticket, identity, path, held. When it returns true, the walk ends and returns true.

local function is_alive(R, identity)
    local r = L.request(R, identity)
    return r and r.deadline > now and r
end

local function walk_held(R, kind, path, below, visit, sift)
    local function seen(member)
        local owner, ticket, identity, at = read_held(member)
        return visit(owner, ticket, identity, at, true)
    end
    if below then
        return L.each_below(R, kind, path, seen, sift)
    end
    return L.each_at(R, kind, path, seen, sift)
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

-- The lists that are not empty and have what conflicts with the part (R7a, R7b): held entries and
-- waiting ones, at and below its path, and at each path above.
local function conflicting_lists(part)
    local R, exclusive, lists = part.root, part.units == 0, {}
    local function add(kind, path, is_below, is_waiting, count)
        if count > 0 then
            lists[#lists + 1] = {R = R, kind = kind, path = path, is_below = is_below,
                is_waiting = is_waiting, count = count}
        end
    end
    for i, path in ipairs(part.chain) do
        local node, below = L.node(R, path), i == 1
        add('X', path, below, false, below and node.below_x or node.held_x)
        if exclusive then
            add('S', path, below, false, below and node.below_s or node.held_s)
        end
        add(below and 'c' or 'a', path, below, true, below and node.behind_x or node.wait_x)
        if exclusive then
            add(below and 'd' or 'b', path, below, true, below and node.behind_s or node.wait_s)
        end
    end
    return lists
end

local function walk_list(list, probe, memory, visit, sift)
    if list.is_waiting then
        return walk_ahead(list.R, list.kind, list.path, probe, memory, visit)
    end
    return walk_held(list.R, list.kind, list.path, list.is_below, visit, sift)
end

-- sift(): of held entries.
function L.walk_conflicts(probe, part, memory, visit, sift)
    for _, list in ipairs(conflicting_lists(part)) do
        local where = part.root.name .. (list.is_below and '\1' or '\2') .. list.path .. '\0'
            .. list.kind
        if (list.is_waiting or not is_known(memory, where))
            and walk_list(list, probe, memory, visit, sift) then
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

-- Bounds of what an explanation reads of each list, so that the server is soon free for other
-- clients. Those that wait are in the order of their tickets, those that hold are not.
local READ_MIN, HELD_MAX, HELD_BY_NAMED = 16, 1024, 4

-- How many requests of the owner wait under the root, with tickets before this one.
local function own_waiting(R, owner, ticket)
    local own = 'o' .. owner .. '\0'
    return call('ZLEXCOUNT', R.P, '[' .. own, '(' .. (ticket < NEWEST and own .. digits(ticket)
        or 'o' .. owner .. '\1'))
end

-- How many entries of a list are in the way at least. The owner's own are subtracted, wherever they
-- are.
local function count_list(list, probe)
    local R, owner, start = list.R, probe.owner, list.kind .. list.path
    if list.is_waiting then
        local to = probe.ticket < NEWEST and '\0' .. digits(probe.ticket) or '\1'
        return call('ZLEXCOUNT', R.P, '[' .. start .. '\0', '(' .. start .. to)
            - (list.is_any_owner and 0 or own_waiting(R, owner, probe.ticket))
    elseif list.is_any_owner then
        return list.count - (probe.self and probe.self.held and 1 or 0)
    end
    return list.count - L.live_of(R, owner) + own_waiting(R, owner, NEWEST)
end

-- Whether every request under the root has one part there. Then entries are requests.
local function has_no_batches(R)
    local top = L.node(R, R.name)
    return top.below_x + top.below_s + top.behind_x + top.behind_s == R.live
end

-- Counts blockers from the lists: their sum where none is in two lists, else the greatest. A request
-- does not wait while it is held.
local function count_blockers(probe, lists, found)
    local held, waiting, longest_held, longest_waiting, sum = 0, 0, 0, 0, 0
    for _, blocker in ipairs(found) do
        held, waiting = held + (blocker.held and 1 or 0), waiting + (blocker.held and 0 or 1)
    end
    for _, list in ipairs(lists) do
        local count = list.read
        if list.is_cut and (not list.is_below or list.is_waiting or has_no_batches(list.R)) then
            count = math.max(count, count_list(list, probe))
        end
        sum = sum + count
        if list.is_waiting then
            longest_waiting = math.max(longest_waiting, count)
        else
            longest_held = math.max(longest_held, count)
        end
    end
    if #probe.parts == 1 and has_no_batches(probe.parts[1].root) then
        return sum
    end
    return math.max(held, longest_held) + math.max(waiting, longest_waiting)
end

-- The lists of what counts at a part's path (R7c).
local function counting_lists(part)
    local R, path = part.root, part.path
    local node = L.node(R, path)
    return {{R = R, kind = 'S', path = path, is_any_owner = true, count = node.held_s},
        {R = R, kind = 'b', path = path, is_any_owner = true, is_waiting = true,
            count = node.wait_s}}
end

-- Some blockers of each list, each blocker once, `max` at least; and how many there are.
local function collect(probe, max)
    local found, seen, all, is_cut = {}, {}, {}, false
    local self = probe.self and probe.self.identity
    local waiting_max = math.max(READ_MIN, max)
    local held_max = math.max(waiting_max, math.min(HELD_MAX, HELD_BY_NAMED * max))
    local function read(list, part)
        list.read = 0
        list.is_cut = walk_list(list, probe, nil, function(owner, ticket, identity, _, held)
            if identity == self or owner == probe.owner and not list.is_any_owner then
                return false
            end
            list.read = list.read + 1
            if not seen[identity] then
                seen[identity] = true
                found[#found + 1] = {ticket = ticket, identity = identity, held = held,
                    root = list.R, part = part, counts = list.is_any_owner}
            end
            return list.read >= (held and held_max or waiting_max)
        end)
        is_cut = is_cut or list.is_cut
        all[#all + 1] = list
    end
    local is_covered = L.is_covered(probe)
    for _, part in ipairs(probe.parts) do
        for _, list in ipairs(is_covered and {} or conflicting_lists(part)) do
            read(list, part)
        end
        for _, list in ipairs(L.fits(probe, part) and {} or counting_lists(part)) do
            read(list, part)
        end
    end
    return found, is_cut and count_blockers(probe, all, found) or #found
end

local function id_of(blocker)
    local r = L.request(blocker.root, blocker.identity)
    return r and r.id or 0
end

-- R20: the number of blockers (at least, where batches are among many), the first `max` of them
-- (holders first, then by ticket; of many holders, those whose paths come first), and the earliest
-- deadline among those named.
function L.explain(probe, max)
    local named, due = {}, NEVER
    local found, count = collect(probe, max)
    table.sort(found, function(a, b)
        if a.held ~= b.held then
            return a.held
        elseif a.ticket ~= b.ticket then
            return a.ticket < b.ticket
        end
        return id_of(a) < id_of(b) -- claims of one call (R16)
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
    return count, named, due
end
