-- SPDX-License-Identifier: Apache-2.0
-- Queries (R20): the live requests under a path, and the audit of broken ones.

local function describe(r, blockers_max)
    local parts, position, named = {}, 0, {}
    for i, part in ipairs(r.parts) do
        parts[3 * i - 2], parts[3 * i - 1], parts[3 * i] = part.path, part.limit, part.units
    end
    if blockers_max > 0 and not r.held then
        for _, part in ipairs(r.parts) do
            L.fetch(part.root, part.chain)
        end
        position, named = L.explain(L.probe_of(r), blockers_max)
    end
    return {r.identity, r.owner, r.note, (r.held and 1 or 0) + (r.revoked and 2 or 0)
        + (r.fixed and 4 or 0), r.ticket, r.token, r.ttl, r.deadline, parts, position, named}
end

local function note_request(R, found, seen, read)
    return function(member)
        local _, _, identity = read(member)
        if not seen[identity] then
            seen[identity] = true
            found[#found + 1] = L.request(R, identity)
        end
    end
end

-- list: requests with a part at or below the path. show: with one related to it, and blockers.
local function query(above, blockers_max)
    local path = ARGV[6]
    local R = L.root_of(path)
    local found, seen, answer = {}, {}, {OK, now}
    if not L.sweep() then
        return nil
    end
    local held, waiting = note_request(R, found, seen, read_held),
        note_request(R, found, seen, read_waiting)
    for i, at in ipairs(L.chain(path)) do
        local each = i == 1 and L.each_below or L.each_at
        if i == 1 or above then
            each(R, 'X', at, held)
            each(R, 'S', at, held)
            each(R, 'a', at, waiting)
            each(R, 'b', at, waiting)
        end
    end
    for i, r in ipairs(found) do
        answer[2 + i] = describe(r, blockers_max)
    end
    return answer
end

function L.operations.list()
    return query(false, 0)
end

function L.operations.show()
    return query(true, 16)
end

function L.operations.audit()
    local answer = {OK, now}
    for _, entry in ipairs(call('LRANGE', '{' .. ARGV[6] .. '}:lk:a', 0, -1)) do
        answer[#answer + 1] = {open(entry)}
    end
    return answer
end
