-- SPDX-License-Identifier: Apache-2.0
-- The passing of time (R11): deadlines take effect in their order, each with the grants that it
-- lets happen, before what was asked. A bounded number a call: where more are overdue, the caller
-- is told to come again, so that the server stays free for others.
local PERISH_MAX = 500
local perish_left = PERISH_MAX

-- R15: a value whose exclusive holder had asked for it and died may be half written.
function L.value_key(path)
    local root, rest = path:match('^([^/]+)(.*)$')
    return rest == '' and root or '{' .. root .. '}' .. rest
end

local function doubt(r)
    local first = (r.whole or r.parts)[1]
    if r.held and r.wants and first.units == 0
        and call('EXISTS', L.value_key(first.path)) == 1 then
        call('HSET', first.root.base .. 'd', first.path, '1')
    end
end

-- Ends a request that nobody released: what its holder was at may be half done.
function L.lose(r)
    doubt(r)
    L.leave(r)
    if r.claim then
        L.lose_claim(r)
    end
    L.tell(r)
    L.tell_workers(r)
end

-- The restart or fail-over of the server: what lived by then, by the last that is known of it,
-- lives at least until now + the smaller of its ttl and 60 s, once until its next renewal.
local function restart(R)
    local entries = call('ZRANGEBYSCORE', R.T, '-inf', NEVER)
    local last_known = R.draw <= now and R.draw or 0 -- else the clock was set back
    local alive = {}
    for _, identity in ipairs(entries) do
        local r = L.request(R, identity)
        if r then
            alive[#alive + 1] = r
            if not r.fixed then
                last_known = math.max(last_known, r.deadline - r.ttl * 1000)
            end
        end
    end
    for _, r in ipairs(alive) do
        if not r.fixed and not r.graced and r.deadline > last_known then
            r.graced = true
            L.set_deadline(r, math.max(r.deadline, now + math.min(r.ttl * 1000, 60000000)))
        end
    end
    R.boot = boot
    R.dirty = true
end

-- The earliest deadline under a root that has come: its identity and instant.
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

-- The first that is due under the roots that have come since the last sweep.
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

-- Lets all that is overdue under the loaded roots take effect. Requests bring other roots in: their
-- turn comes in the same sweep. false: more are overdue than one call sees to.
L.swept, L.started = 0, 0 -- so many of L.loaded have nothing due; know of the server's restart
function L.sweep()
    while true do
        while L.started < #L.loaded do
            L.started = L.started + 1
            local R = L.loaded[L.started]
            L.mend_indexes(R)
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
        if #L.loaded == known then -- else something under its other roots may be due before
            perish_left = perish_left - 1
            if r then
                L.lose(r)
                L.settle(r.parts, nil, instant)
            else
                call('ZREM', at.T, earliest)
            end
        end
    end
end
