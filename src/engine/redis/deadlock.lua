-- SPDX-License-Identifier: Apache-2.0
-- Deadlocks (R13): a search over the graph of owners, breadth first, from the asker back to the
-- asker. An edge leads from A to B where a request of B must end before a waiting one of A can be
-- granted. On one server the search goes from root to root; in a cluster it stays in the slot.

-- The waiting requests of an owner that live at this moment, in the order of their tickets.
function L.waiting_of(owner, moment)
    local found, seen = {}, {}
    local roots = {unpack(L.loaded)}
    if alone then
        for _, name in ipairs(call('ZRANGE', 'lk:waits:' .. owner, 0, -1)) do
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

-- Follows every edge that starts at this waiting request, with go(owner, identity); true: found.
local function expand(r, memory, go)
    local claim = L.claim_of(r)
    local is_covered = L.is_covered(claim) -- R8: only limits are in its way
    for _, part in ipairs(r.parts) do
        local R = part.root
        L.fetch(R, part.chain)
        if not is_covered and L.walk_conflicts(claim, part, memory,
            function(owner, ticket, identity)
                return owner ~= r.owner and is_alive(R, identity) and go(owner, identity)
            end) then
            return true
        end
        if part.limit ~= 0 and L.walk_counting(claim, part, function(owner, ticket, identity, path)
                local other = is_alive(R, identity)
                return other and L.part_at(other, path).units > part.limit - part.units
                    and go(owner, identity)
            end) then
            return true
        end
    end
    return false
end

-- Whether the request, waiting or just granted, closes a cycle; the owners, the asker first.
function L.find_cycle(r)
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
            -- What walks of the asker leave out, its own, is just what the others look for.
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
