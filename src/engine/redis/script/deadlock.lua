-- SPDX-License-Identifier: Apache-2.0
-- Deadlocks (R13): a breadth-first search for a path from the asker back to the asker, in the graph
-- of owners. An edge leads from A to B if a request of B must end before a waiting one of A can be
-- granted. On one server the search crosses roots; in a cluster it stays in the slot.

do -- its names are its own: a function has 200 at most
-- ---- whether to search ----

local ROOTS_CHECKED_MIN = 256

-- How many entries a search from this request reads at least.
local function count_in_way(r)
    local count = 0
    for _, part in ipairs(r.parts) do
        local here = L.node(part.root, part.path)
        count = count + here.below_x + here.below_s + here.behind_x + here.behind_s
    end
    return count
end

-- Whether the owner lives in a root that the call has not loaded, and where requests wait.
local function lives_where_others_wait(r)
    local count = call('ZCARD', ROOTS_WAITING)
    if count <= #r.roots then
        return false
    end
    if count > math.max(ROOTS_CHECKED_MIN, count_in_way(r)) then
        return true -- the search is cheaper
    end
    local owner = 'o' .. r.owner
    for _, name in ipairs(call('ZRANGE', ROOTS_WAITING, 0, -1)) do
        local is_own = name == ''
        for _, R in ipairs(r.roots) do
            is_own = is_own or R.name == name
        end
        -- Not allowed to look there: the search says so, if it has to.
        if not is_own and redis.pcall('HEXISTS', L.prefix_of(name) .. ':lk:h', owner) ~= 0 then
            return true
        end
    end
    return false
end

-- Whether a request that waits, and is the newest, may close a cycle. No request waits for it. So
-- its owner has another one, in a root in which requests of other owners wait; or which counts for
-- a limit (R7c).
function L.may_close_cycle(r)
    for _, part in ipairs(r.parts) do
        if part.limit ~= 0 and L.live_of(part.root, r.owner) > 1 then
            return true
        end
    end
    for _, R in ipairs(r.roots) do
        if L.live_of(R, r.owner) > 1 and call('ZLEXCOUNT', R.P, '[o', '(p')
            > own_waiting(R, r.owner, NEWEST) then
            return true
        end
    end
    return alone and lives_where_others_wait(r)
end

-- ---- the search ----

-- The waiting requests of an owner that live at this moment, in the order of their tickets.
function L.waiting_of(owner, moment)
    local found, seen = {}, {}
    local roots = {unpack(L.loaded)}
    if alone then
        for _, name in ipairs(call('ZRANGE', L.waits_key(owner), 0, -1)) do
            if not L.roots[name] then
                roots[#roots + 1] = L.root(name)
            end
        end
    end
    for _, R in ipairs(roots) do
        L.each(R, '[o' .. owner .. '\0', '(o' .. owner .. '\1', function(member)
            local ticket, identity = member:match('^o%Z*%z(%Z*)%z(.*)$')
            if not seen[identity] then
                seen[identity] = true
                local r = L.request(R, identity)
                if r and not r.held and r.deadline > moment then
                    found[#found + 1] = r
                end
            end
        end)
    end
    table.sort(found, function(a, b)
        return a.ticket < b.ticket
    end)
    return found
end

-- Whether the search need not follow a request that waits ahead of a part. This is so if it is the
-- only live request of its owner, and of one path: the part's own (or one below it, if the part
-- conflicts with all below it). Then everything that blocks it blocks the part, too. So a long wait
-- queue costs one check for each entry, not one search.
local function is_led_by(part, owner, identity)
    local path = identity:sub(#owner + 2)
    if path ~= part.path and (part.units ~= 0 or path:sub(1, #part.path + 1) ~= part.path .. '/'
        or path:find('\0', 1, true)) then
        return false
    end
    if L.live_of(part.root, owner) ~= 1 then
        return false
    end
    return alone and call('ZCARD', L.waits_key(owner)) == 1 or not alone and #L.loaded == 1
end

-- No request counts more units at the path: each of the others counts one at least.
local function most_units(R, path)
    local node = L.node(R, path)
    return 1 + math.max(node.units - node.held_s, node.wait_units - node.wait_s)
end

-- Owners that do not wait lead nowhere. Returns those of the held entries whose owners wait, as the
-- asker does. Checks many at a time, as few of them do.
local function sift_idle(entries)
    local keys, found = {}, {}
    for i, member in ipairs(entries) do
        keys[i] = L.waits_key((read_held(member)))
    end
    local function look(from, to)
        if from > to or call('EXISTS', unpack(keys, from, to)) == 0 then
            return
        elseif from == to then
            found[#found + 1] = entries[from]
        else
            local middle = math.floor((from + to) / 2)
            look(from, middle)
            look(middle + 1, to)
        end
    end
    look(1, #keys)
    return found
end

-- Calls go(owner, identity) for every edge that starts at this waiting request; true: found.
-- `memory` is nil for the asker, because other owners may wait for its own requests.
local function expand(r, memory, go)
    local probe = L.probe_of(r)
    local is_covered = L.is_covered(probe) -- R8: only limits are in its way
    for _, part in ipairs(r.parts) do
        local R = part.root
        L.fetch(R, part.chain)
        local leads = not is_covered and (memory or L.live_of(R, r.owner) == 1)
        if not is_covered and L.walk_conflicts(probe, part, memory,
            function(owner, ticket, identity, path, held)
                return owner ~= r.owner
                    and not (leads and not held and part.units == 0
                        and is_led_by(part, owner, identity))
                    and is_alive(R, identity) and go(owner, identity)
            end, alone and sift_idle or nil) then
            return true
        end
        local room = part.limit - part.units
        if part.limit ~= 0 and room < most_units(R, part.path) and L.walk_counting(probe, part,
            function(owner, ticket, identity, path, held)
                local other = is_alive(R, identity)
                local its = other and L.part_at(other, path)
                return other and its.units > room
                    and not (leads and not held and is_led_by(part, owner, identity)
                        and (its.limit == 0 or its.limit - its.units >= room))
                    and go(owner, identity)
            end) then
            return true
        end
    end
    return false
end

local function search(r)
    local asker, memory = r.owner, {}
    local queue, known = {asker}, {[asker] = asker}
    local starts = r.held and L.waiting_of(asker, now) or {r}
    if #starts == 0 then
        return nil
    end
    local at, current = 1, asker
    local function go(owner, identity)
        if r.held and identity == r.identity or not r.held and owner == asker then
            return true
        end
        if not known[owner] then
            known[owner] = current
            queue[#queue + 1] = owner
        end
        return false
    end
    while at <= #queue do
        current = queue[at]
        local requests = at == 1 and starts or L.waiting_of(current, now)
        for _, waiting in ipairs(requests) do
            -- Walks of the asker skip its own requests, which the other searches have to find.
            if expand(waiting, at > 1 and memory or nil, go) then
                local cycle = {}
                while current ~= asker do
                    table.insert(cycle, 1, current)
                    current = known[current]
                end
                table.insert(cycle, 1, asker)
                return {unpack(cycle, 1, math.min(#cycle, 64))}
            end
        end
        at = at + 1
    end
    return nil
end

-- The owners of the cycle that the request, waiting or just granted, closes, the asker first; or
-- nil. In a cluster a search may load roots that it had not known when it skipped an owner: it runs
-- again.
function L.find_cycle(r)
    local known = #L.loaded
    return search(r) or not alone and #L.loaded > known and search(r) or nil
end
end
