-- SPDX-License-Identifier: Apache-2.0
-- Entries: one sorted set per root, in byte order, says at which paths requests are held and wait.
--
--     X path 0 owner 0 ticket 0 identity    held there, exclusively; S: shared
--     a path 0 ticket 0 owner 0 identity    waits exactly there, exclusive; b: shared
--     c path 0 ticket 0 owner 0 identity    waits there or below, exclusive; d: shared
--     o owner 0 ticket 0 identity           waits somewhere
--
-- So the entries at a path or below it are a range, and waiting ones are in the order of their
-- tickets. The held entry of a request of one path omits the identity, which is owner and path.
local function digits(ticket)
    return string.format('%016.0f', ticket)
end

-- Byte order: `<` would be that of the server's language.
local function is_before(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = a:byte(i), b:byte(i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end

local function held_entry(r, part)
    return (part.units == 0 and 'X' or 'S') .. part.path .. '\0' .. r.owner .. '\0'
        .. digits(r.ticket) .. '\0'
        .. (r.identity == r.owner .. '\0' .. part.path and '' or r.identity)
end

-- Decodes an entry: owner, ticket, identity, path.
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

local function entries_of(r)
    local by_root = {}
    for _, R in ipairs(r.roots) do
        by_root[R] = r.held and {} or {'o' .. r.owner .. '\0' .. digits(r.ticket) .. '\0'
            .. r.identity}
    end
    for _, part in ipairs(r.parts) do
        local entries = by_root[part.root]
        if r.held then
            entries[#entries + 1] = held_entry(r, part)
        else
            local tail = '\0' .. digits(r.ticket) .. '\0' .. r.owner .. '\0' .. r.identity
            local exclusive = part.units == 0
            entries[#entries + 1] = (exclusive and 'a' or 'b') .. part.path .. tail
            for _, path in ipairs(part.chain) do
                entries[#entries + 1] = (exclusive and 'c' or 'd') .. path .. tail
            end
        end
    end
    return by_root
end

local function add_entries(r)
    for R, entries in pairs(entries_of(r)) do
        local members = {}
        for i, entry in ipairs(entries) do
            members[2 * i - 1], members[2 * i] = 0, entry
        end
        call('ZADD', R.P, unpack(members))
        L.undo[#L.undo + 1] = {'ZREM', R.P, unpack(entries)}
    end
end

local function remove_entries(r)
    for R, entries in pairs(entries_of(r)) do
        local undo = {'ZADD', R.P}
        for i, entry in ipairs(entries) do
            undo[2 * i + 1], undo[2 * i + 2] = 0, entry
        end
        call('ZREM', R.P, unpack(entries))
        L.undo[#L.undo + 1] = undo
    end
end

-- ---- ranges ----

-- Visits the entries of a range in order, until visit() returns true; returns whether it did.
-- sift(entries), if given, returns those of some entries that are worth a visit.
function L.each(R, from, to, visit, sift)
    local size = 8
    while true do
        local found = call('ZRANGEBYLEX', R.P, from, to, 'LIMIT', 0, size)
        for _, member in ipairs(sift and sift(found) or found) do
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

function L.each_at(R, kind, path, visit, sift)
    return L.each(R, '[' .. kind .. path .. '\0', '(' .. kind .. path .. '\1', visit, sift)
end

-- At the path and below it: '0' is the byte after '/'.
function L.each_below(R, kind, path, visit, sift)
    return L.each_at(R, kind, path, visit, sift)
        or L.each(R, '[' .. kind .. path .. '/', '(' .. kind .. path .. '0', visit, sift)
end

-- The held entries of this owner exactly at the path.
function L.each_own(R, kind, path, owner, visit)
    local prefix = kind .. path .. '\0' .. owner
    return L.each(R, '[' .. prefix .. '\0', '(' .. prefix .. '\1', visit)
end

function L.count_own(R, kind, path, owner)
    local prefix = kind .. path .. '\0' .. owner
    return call('ZLEXCOUNT', R.P, '[' .. prefix .. '\0', '(' .. prefix .. '\1')
end
