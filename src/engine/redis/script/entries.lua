-- SPDX-License-Identifier: Apache-2.0
-- Places: where requests stand, in one sorted set per root in byte order.
--
--     X path 0 owner 0 ticket 0 identity    held there, exclusively; S: shared
--     a path 0 ticket 0 owner 0 identity    waits exactly there, exclusive; b: shared
--     c path 0 ticket 0 owner 0 identity    waits there or below, exclusive; d: shared
--     o owner 0 ticket 0 identity           waits somewhere
--
-- So what is held or waits at a path or below it is a range, and who waits is in the order of the
-- tickets. A held place of a request of one path needs no identity: it is owner and path.
local function digits(ticket)
    return string.format('%016.0f', ticket)
end

local function held_place(r, part)
    return (part.units == 0 and 'X' or 'S') .. part.path .. '\0' .. r.owner .. '\0'
        .. digits(r.ticket) .. '\0'
        .. (r.identity == r.owner .. '\0' .. part.path and '' or r.identity)
end

-- What the place says: owner, ticket, identity.
local function read_held(member)
    local path, owner, ticket, identity = member:match('^.(%Z*)%z(%Z*)%z(%Z*)%z(.*)$')
    if identity == '' then
        identity = owner .. '\0' .. path
    end
    return owner, tonumber(ticket), identity, path
end

local function read_waiting(member)
    local path, ticket, owner, identity = member:match('^.(%Z*)%z(%Z*)%z(%Z*)%z(.*)$')
    return owner, tonumber(ticket), identity, path
end

local function places_of(r)
    local by_root = {}
    for _, R in ipairs(r.roots) do
        by_root[R] = r.held and {} or {'o' .. r.owner .. '\0' .. digits(r.ticket) .. '\0'
            .. r.identity}
    end
    for _, part in ipairs(r.parts) do
        local places = by_root[part.root]
        if r.held then
            places[#places + 1] = held_place(r, part)
        else
            local tail = '\0' .. digits(r.ticket) .. '\0' .. r.owner .. '\0' .. r.identity
            local exclusive = part.units == 0
            places[#places + 1] = (exclusive and 'a' or 'b') .. part.path .. tail
            for _, path in ipairs(part.chain) do
                places[#places + 1] = (exclusive and 'c' or 'd') .. path .. tail
            end
        end
    end
    return by_root
end

local function add_places(r)
    for R, places in pairs(places_of(r)) do
        local members = {}
        for i, place in ipairs(places) do
            members[2 * i - 1], members[2 * i] = 0, place
        end
        call('ZADD', R.P, unpack(members))
        L.undo[#L.undo + 1] = {'ZREM', R.P, unpack(places)}
    end
end

local function remove_places(r)
    for R, places in pairs(places_of(r)) do
        local undo = {'ZADD', R.P}
        for i, place in ipairs(places) do
            undo[2 * i + 1], undo[2 * i + 2] = 0, place
        end
        call('ZREM', R.P, unpack(places))
        L.undo[#L.undo + 1] = undo
    end
end

-- ---- ranges ----

-- Visits places from one up to another in their order, until visit() says true; whether it did.
function L.each(R, from, to, visit)
    local size = 8
    while true do
        local found = call('ZRANGEBYLEX', R.P, from, to, 'LIMIT', 0, size)
        for _, member in ipairs(found) do
            if visit(member) then
                return true
            end
        end
        if #found < size then
            return false
        end
        from = '(' .. found[#found]
        size = 200
    end
end

function L.each_at(R, kind, path, visit)
    return L.each(R, '[' .. kind .. path .. '\0', '(' .. kind .. path .. '\1', visit)
end

-- Here, and below: '0' is the byte behind '/'.
function L.each_below(R, kind, path, visit)
    return L.each_at(R, kind, path, visit)
        or L.each(R, '[' .. kind .. path .. '/', '(' .. kind .. path .. '0', visit)
end

-- The owner's own held places exactly there.
function L.each_own(R, kind, path, owner, visit)
    local prefix = kind .. path .. '\0' .. owner
    return L.each(R, '[' .. prefix .. '\0', '(' .. prefix .. '\1', visit)
end

function L.count_own(R, kind, path, owner)
    local prefix = kind .. path .. '\0' .. owner
    return call('ZLEXCOUNT', R.P, '[' .. prefix .. '\0', '(' .. prefix .. '\1')
end
