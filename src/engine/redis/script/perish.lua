-- SPDX-License-Identifier: Apache-2.0
-- Deadlines (R11) take effect in their order, each with the grants that follow from it, before the
-- operation. Their number a call is bounded, so that the server stays free for other clients: if
-- more are overdue, the answer tells the caller to call again.
local PERISH_MAX = 500
local perish_left = PERISH_MAX

function L.value_key(path)
    local root, rest = path:match('^([^/]+)(.*)$')
    local prefix, key = L.prefix_of(root)
    return rest == '' and key or prefix .. L.unescape(rest)
end

-- R15: the values that its holder asked for and could write may be half written when it dies.
local function mark_in_doubt(r)
    for _, part in ipairs(r.held and r.wants and (r.whole or r.parts) or {}) do
        if part.units == 0 and call('EXISTS', L.value_key(part.path)) == 1 then
            call('HSET', part.root.base .. 'd', part.path, '1')
        end
    end
end

-- Ends a request that was not released: its holder's work may be half done.
function L.lose(r)
    mark_in_doubt(r)
    L.leave(r)
    if r.claim then
        L.lose_claim(r)
    end
    L.notify(r)
    L.notify_workers(r)
end

-- After a restart or fail-over of the server, every request that lived when the server was last
-- seen alive lives at least until now + the smaller of its ttl and 60 s; once until its next
-- renewal.
local function restart(R)
    local entries = call('ZRANGEBYSCORE', R.T, '-inf', NEVER)
    local last_known = R.draw <= now and R.draw or 0 -- else the clock was set back
    local alive = {}
    for _, identity in ipairs(entries) do
        local r = L.request(R, identity)
        if r then
            alive[#alive + 1] = r
            if not r.fixed then -- the deadline that it had, if this call has moved it for another root
                last_known = math.max(last_known, (r.former or r.deadline) - r.ttl * 1000)
            end
        end
    end
    for _, r in ipairs(alive) do
        if not r.fixed and not r.graced and r.deadline > last_known then
            r.graced, r.former = true, r.deadline
            L.set_deadline(r, math.max(r.deadline, now + math.min(r.ttl, @LK_GRACE_MAX_MS@) * 1000))
        end
    end
    R.boot = boot
    R.dirty = true
end

-- The earliest deadline under a root, if it has come: identity and instant.
local function first_due(R)
    if R.first > now then
        return nil
    end
    local first = call('ZRANGE', R.T, 0, 0, 'WITHSCORES')
    local instant = tonumber(first[2] or 'inf')
    local known = math.min(instant, NEVER)
    if known ~= R.first then
        R.first = known
        R.dirty = true
    end
    if instant <= now then
        return first[1], instant
    end
end

-- The first that is due under the roots that were loaded since the last sweep.
local function earliest_due()
    local earliest, instant, at
    for i = L.swept + 1, #L.loaded do
        local identity, deadline = first_due(L.loaded[i])
        if identity and (not earliest or deadline < instant) then
            earliest, instant, at = identity, deadline, L.loaded[i]
        end
    end
    return earliest, instant, at
end

-- Lets every overdue deadline under the loaded roots take effect. Requests may load further roots,
-- which the same sweep handles. false: more are overdue than one call handles.
L.swept, L.started = 0, 0 -- how many of L.loaded have nothing due; have been through restart()
function L.sweep()
    while true do
        while L.started < #L.loaded do
            L.started = L.started + 1
            local R = L.loaded[L.started]
            L.rebuild_indexes(R)
            if R.boot ~= boot and not R.is_new then
                restart(R)
            end
        end
        local earliest, instant, at = earliest_due()
        if not earliest then
            L.swept = #L.loaded
            return true
        end
        if perish_left == 0 then
            return false
        end
        local known = #L.loaded
        local r = L.request(at, earliest)
        if #L.loaded == known then -- else something under its other roots may be due earlier
            perish_left = perish_left - 1
            if r then
                L.lose(r)
                L.grant_waiters(r.parts, nil, instant)
            else
                call('ZREM', at.T, earliest)
            end
        end
    end
end
