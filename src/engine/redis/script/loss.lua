-- SPDX-License-Identifier: Apache-2.0
-- Lost keys: deleted, flushed or evicted while the server ran.
--
-- {root}:lk:h is the record: a request is lost if and only if it is. Its field g is the first draw
-- of this life of the root. Draws rise (R4), so a ticket before g was drawn in a former life, and
-- its request is lost. A root without g counts as complete.
-- {root}:lk:t and {root}:lk:p are indexes of the live requests. A guard in each shows that the
-- index is complete.

-- Whether the root still has the request that drew this ticket, unless that was ended.
function L.knows(R, ticket)
    if R.is_new then
        return false
    end
    R.born = R.born or tonumber(call('HGET', R.H, 'g') or 0)
    return R.born <= ticket
end

-- A request of several roots is torn if some of them have lost it. `whole` has then all of its
-- parts, `parts` the remaining ones. It is neither granted nor renewed. It ends at its deadline, or
-- when a call of its owner finds it (L.find()).
function L.tear(r, read_at)
    local left = {}
    for _, R in ipairs(r.roots) do
        if R == read_at or L.knows(R, r.ticket) then
            left[#left + 1] = R
            left[R] = true
        end
    end
    if #left < #r.roots then
        r.whole, r.parts, r.roots = r.parts, {}, left
        for _, part in ipairs(r.whole) do
            if left[part.root] then
                r.parts[#r.parts + 1] = part
            end
        end
    end
end

-- The request that a call is about, or nil. Ends the remains of a torn one.
function L.find(roots, identity)
    for _, R in ipairs(roots) do
        local r = L.request(R, identity)
        if r and not r.whole then
            return r
        elseif r then
            L.lose(r)
            L.grant_waiters(r.parts, nil, now)
        end
    end
end

-- ---- the indexes ----

-- Rebuilds the sorted sets of a root from its live requests, if one was lost. That of deadlines
-- matters only after the first of them has come.
function L.rebuild_indexes(R)
    if R.is_new or R.is_guarded or R.live == 0
        or call('ZSCORE', R.P, '~') and (R.first > now or call('ZSCORE', R.T, '')) then
        return
    end
    L.undo[#L.undo + 1] = {'DEL', R.T, R.P} -- so that the next call finds them missing, too
    guard(R)
    for _, field in ipairs(call('HKEYS', R.H)) do
        if field:sub(1, 1) == 'r' then
            L.request(R, field:sub(2))
        end
    end
    for _, r in pairs(L.requests) do
        for _, at in ipairs(r.ended and {} or r.roots) do
            if at == R then
                add_entries(r)
                call('ZADD', R.T, r.deadline, r.identity)
                R.first = math.min(R.first, r.deadline)
            end
        end
    end
end

-- ---- the operation ----

-- Whether the request with this ticket, under all these roots, may have been lost.
function L.operations.forgotten()
    local ticket = tonumber(ARGV[6])
    for i = 8, 7 + tonumber(ARGV[7]) do
        if not L.knows(L.root_of(ARGV[i]), ticket) then
            return {OK, now, 1}
        end
    end
    return {OK, now, 0}
end
