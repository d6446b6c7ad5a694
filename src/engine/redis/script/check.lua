-- SPDX-License-Identifier: Apache-2.0
-- The grant check (R6-R8). A probe is what a request wants: {owner, ticket, parts, self (the
-- request itself, if it exists), is_item (R16: R8 does not apply)}.

function L.probe_of(r)
    return {owner = r.owner, ticket = r.ticket, self = r, parts = r.parts, is_item = false}
end

-- R7a at the path and below it.
local function is_held_below(part, owner)
    local R, path, exclusive = part.root, part.path, part.units == 0
    local node = L.node(R, path)
    local function is_foreign(member)
        return read_held(member) ~= owner
    end
    if node.below_x + (exclusive and node.below_s or 0) == 0 then
        return false
    end
    return L.live_of(R, owner) == 0
        or node.below_x > 0 and L.each_below(R, 'X', path, is_foreign)
        or exclusive and node.below_s > 0 and L.each_below(R, 'S', path, is_foreign)
end

-- R7a at one path above.
local function is_held_at(part, path, owner)
    local R, exclusive = part.root, part.units == 0
    local node = L.node(R, path)
    local held = node.held_x + (exclusive and node.held_s or 0)
    if held == 0 or L.live_of(R, owner) == 0 then
        return held > 0
    end
    if node.held_x > 0 then
        held = held - L.count_own(R, 'X', path, owner)
    end
    if exclusive and node.held_s > 0 then
        held = held - L.count_own(R, 'S', path, owner)
    end
    return held > 0
end

-- R7b in one list of waiting requests.
local function is_ahead_in(part, kind, path, count, probe)
    local found = false
    if count == 0 then
        return false
    end
    L.each_at(part.root, kind, path, function(member)
        local owner, ticket = read_waiting(member)
        if ticket >= probe.ticket then
            return true
        end
        found = owner ~= probe.owner
        return found
    end)
    return found
end

local function is_held_against(part, probe)
    if is_held_below(part, probe.owner) then
        return true
    end
    for i = 2, #part.chain do
        if is_held_at(part, part.chain[i], probe.owner) then
            return true
        end
    end
    return false
end

local function is_ahead_of(part, probe)
    local exclusive = part.units == 0
    local here = L.node(part.root, part.path)
    if is_ahead_in(part, 'c', part.path, here.behind_x, probe)
        or exclusive and is_ahead_in(part, 'd', part.path, here.behind_s, probe) then
        return true
    end
    for i = 2, #part.chain do
        local path = part.chain[i]
        local node = L.node(part.root, path)
        if is_ahead_in(part, 'a', path, node.wait_x, probe)
            or exclusive and is_ahead_in(part, 'b', path, node.wait_s, probe) then
            return true
        end
    end
    return false
end

-- ---- limits ----

function L.part_at(r, path)
    for i, part in ipairs(r.parts) do
        if part.path == path then
            return part, i
        end
    end
end

-- The units of the requests that wait at the path with smaller tickets; if they are more than `max`,
-- some number above it. A pass (grant.lua) calls it in the order of the tickets, so each sum
-- continues from the one before.
local function units_ahead(R, path, ticket, max)
    local node = L.node(R, path)
    if ticket == NEWEST or node.wait_units == 0 then
        return node.wait_units
    end
    if node.wait_units == node.wait_s then -- each counts one
        return call('ZLEXCOUNT', R.P, '[b' .. path .. '\0', '(b' .. path .. '\0' .. digits(ticket))
    end
    local sum = L.sums and L.sums[R.name .. '\0' .. path]
    if not sum or sum.ticket > ticket then
        sum = {ticket = 0, units = 0, path = path}
    end
    if sum.units <= max and not L.each(R, '[b' .. path .. '\0' .. digits(sum.ticket), '(b' .. path
        .. '\0' .. digits(ticket), function(member)
            local _, at, identity = read_waiting(member)
            sum.units = sum.units + L.part_at(L.request(R, identity), path).units
            sum.ticket = at + 1
            return sum.units > max
        end) then
        sum.ticket = ticket
    end
    if L.sums then
        L.sums[R.name .. '\0' .. path] = sum
    end
    return sum.units
end

-- Corrects the sums of the pass: a request leaves the queue, which a sum may have counted.
function L.correct_sums(r)
    for _, part in ipairs(r.parts) do
        local sum = L.sums[part.root.name .. '\0' .. part.path]
        if sum and r.ticket < sum.ticket then
            sum.units = sum.units - part.units
        end
    end
end

-- R7c: the units that count at the part's path, without those of the request itself.
function L.fits(probe, part)
    local self = probe.self
    local room = part.limit - part.units - L.node(part.root, part.path).units
    if part.limit == 0 then
        return true
    end
    if self and (self.held or probe.ticket == NEWEST) then
        room = room + L.part_at(self, part.path).units
    end
    return room >= 0 and (probe.ticket == PASSES
        or units_ahead(part.root, part.path, probe.ticket, room) <= room)
end

-- ---- re-entrance ----

local function covers(R, identity, probe)
    local r = L.request(R, identity)
    return r and r ~= probe.self and not r.revoked and not r.claim and r
end

-- R8 for one part.
local function is_part_covered(part, probe)
    local R = part.root
    local is_reader = part.units ~= 0 and part.limit == 0
    for _, path in ipairs(part.chain) do
        local node = L.node(R, path)
        if node.held_x > 0 and L.each_own(R, 'X', path, probe.owner, function(member)
                local _, _, identity = read_held(member)
                return covers(R, identity, probe)
            end) then
            return true
        end
        if is_reader and node.held_s > 0 and L.each_own(R, 'S', path, probe.owner,
            function(member)
                local _, _, identity = read_held(member)
                local r = covers(R, identity, probe)
                return r and L.part_at(r, path).limit == 0
            end) then
            return true
        end
    end
    return false
end

function L.is_covered(probe)
    if probe.is_item then
        return false
    end
    for _, part in ipairs(probe.parts) do
        if L.live_of(part.root, probe.owner) == 0 or not is_part_covered(part, probe) then
            return false
        end
    end
    return true
end

-- R7 and R8: nil if the probe can be granted; else the reason against it, and its part.
function L.check(probe)
    local verdict, at
    for _, part in ipairs(probe.parts) do
        L.fetch(part.root, part.chain)
        if not verdict then
            at = part
            verdict = is_held_against(part, probe) and 'held'
                or is_ahead_of(part, probe) and 'ahead' or nil
        end
    end
    if verdict and L.is_covered(probe) then
        verdict = nil -- R8: ahead of all waiting requests
    end
    if not verdict then
        for _, part in ipairs(probe.parts) do
            if not L.fits(probe, part) then
                return 'limit', part
            end
        end
    end
    return verdict, at
end
