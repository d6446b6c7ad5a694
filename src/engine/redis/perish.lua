-- SPDX-License-Identifier: Apache-2.0
-- The passing of time (R11): deadlines take effect in their order, each with the grants that it
-- lets happen, before what was asked. A bounded number at a time: where more are overdue, the
-- caller is told to come again, so that the server stays free for others.
local PERISH_MAX = 500

-- R15: a value whose exclusive holder had asked for it and died may be half written.
function L.value_key(path)
    local root, rest = path:match('^([^/]+)(.*)$')
    return rest == '' and root or '{' .. root .. '}' .. rest
end

local function doubt(r)
    local first = r.parts[1]
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
    local last_known = R.draw
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

-- false: more are overdue than one call sees to.
function L.sweep()
    for _, R in ipairs(L.loaded) do
        if R.boot ~= boot and not R.is_new then
            restart(R)
        end
    end
    for _ = 1, PERISH_MAX do
        local earliest, instant, at
        for _, R in ipairs(L.loaded) do
            local identity, deadline = first_due(R)
            if identity and (not earliest or deadline < instant) then
                earliest, instant, at = identity, deadline, R
            end
        end
        if not earliest then
            return true
        end
        local r = L.request(at, earliest)
        if r then
            L.lose(r)
            L.settle(r.parts, nil, instant)
        else
            call('ZREM', at.T, earliest)
        end
    end
    return false
end
