-- SPDX-License-Identifier: Apache-2.0
-- Renewals, and ends by the owner or by an administrator (R11, R12); src/model/end.c.

-- R3: remembers for five minutes (opening.lua) the token that an ending call named. The field is the
-- token; for further claims of one call, which share their token, it is token and identity.
local function remember_ended(R, token, identity)
    local block = R.ended % COUNTED
    local filled = (R.ended - block) / COUNTED
    if block - block % BLOCKS ~= span * BLOCKS then
        block, filled = span * BLOCKS, 0
    end
    if filled >= BLOCK_MAX then
        block, filled = block % BLOCKS == BLOCKS - 1 and block - BLOCKS + 1 or block + 1, 0
        call('DEL', R.H .. span .. '.' .. block % BLOCKS)
    end
    local key, written = R.H .. span .. '.' .. block % BLOCKS, string.format('%.0f', token)
    local added = redis.pcall('HSETNX', key, written, identity)
    if added == 0 then
        added = redis.pcall('HSETNX', key, written .. ' ' .. identity, identity)
    end
    if added == 1 then
        R.ended = block + (filled + 1) * COUNTED
        R.dirty = true
        if filled == 0 then
            call('PEXPIRE', key, SPAN_KEPT_MS)
        end
    end
end

local function recalls_ended(R, token, identity)
    local written = string.format('%.0f', token)
    for back = 0, token ~= 0 and 3 or -1 do
        for block = 0, BLOCKS - 1 do
            local found = call('HMGET', R.H .. span - back .. '.' .. block, written,
                written .. ' ' .. identity)
            if found[1] == identity or found[2] == identity then
                return true
            end
        end
    end
    return false
end

local function has_token(r, token)
    return token == 0 or r.held and r.token == token
end

-- The target that ARGV names: owner at 6, token at 7, and `count` paths from `at` on.
local function read_target(at, count)
    local paths, roots = {}, {}
    for i = 1, count do
        paths[i] = ARGV[at + i - 1]
        roots[i] = L.root_of(paths[i])
    end
    return {owner = ARGV[6], token = tonumber(ARGV[7]), paths = paths, roots = roots,
        identity = L.identity(ARGV[6], paths, ARGV[at + count])}
end

-- ---- renewing ----

local function has_paths(claim, paths)
    local parts = claim.whole or claim.parts
    for _, part in ipairs(parts) do
        local found = false
        for _, path in ipairs(paths) do
            found = found or path == part.path
        end
        if not found then
            return false
        end
    end
    return #parts == #paths
end

-- The claim that a renewal names by its item's path, or by all of its paths (R16).
local function find_claim(target)
    for _, path in ipairs(target.paths) do
        local claim = L.request(L.root_of(path), '\1' .. path)
        if claim and claim.owner == target.owner and has_token(claim, target.token)
            and (#target.paths == 1 or has_paths(claim, target.paths)) then
            return L.find({L.root_of(path)}, '\1' .. path)
        end
    end
end

function L.operations.renew()
    local target = read_target(10, tonumber(ARGV[9]))
    local ttl = tonumber(ARGV[8])
    if not L.sweep() then
        return nil
    end
    local r = L.find(target.roots, target.identity)
    if not (r and r.held and not r.revoked and has_token(r, target.token)) then
        r = find_claim(target) or r
    end
    if not r or not r.held then
        return reply(LOST, 'there is no such lease: it has ended, or was never granted')
    end
    if r.revoked then
        return reply(LOST, '@LK_TEXT_BROKEN@')
    end
    if not has_token(r, target.token) then
        return reply(LOST, 'the lease there has another token: this one has ended')
    end
    if not r.fixed then
        r.ttl = ttl ~= 0 and ttl or r.ttl
        r.graced = false
        L.set_deadline(r, now + r.ttl * 1000)
    end
    return reply(OK, nil, r)
end

-- ---- releasing ----

-- R15: what ARGV has from `at` on: for each value the index of its part, from 0, and the bytes.
local function read_puts(target, at, count)
    local puts = {}
    for i = 1, count do
        puts[i] = {path = target.paths[tonumber(ARGV[at]) + 1], bytes = ARGV[at + 1]}
        at = at + 2
    end
    return puts
end

function L.operations.release()
    local target = read_target(10, tonumber(ARGV[9]))
    local puts = read_puts(target, 11 + #target.paths, tonumber(ARGV[8]))
    if not L.sweep() then
        return nil
    end
    local R, r = target.roots[1], L.find(target.roots, target.identity)
    if not r or not has_token(r, target.token) then
        if recalls_ended(R, target.token, target.identity) then
            return reply(OK)
        end
        return reply(LOST, r and 'the request there has another token: this one has ended'
            or 'there is no such request: it has ended, or never was')
    end
    if #puts > 0 then
        for _, put in ipairs(puts) do
            if not r.held or L.part_at(r, put.path).units ~= 0 then
                return reply(LOST, '@LK_TEXT_PUT_NEEDS_LEASE@')
            end
        end
        for _, put in ipairs(puts) do
            if L.is_foreign_key(put.path) then
                return reply(INVALID, L.foreign_text)
            end
        end
        L.puts = puts
    end
    if target.token ~= 0 then
        remember_ended(R, target.token, target.identity)
    end
    L.leave(r)
    L.notify(r)
    L.notify_workers(r)
    L.grant_waiters(r.parts, nil, now)
    return reply(OK)
end

-- ---- breaking ----

local AUDIT_MAX = 1000

local function keep_on_record(R, r, path)
    L.records = L.records or {key = R.base .. 'a'}
    L.records[#L.records + 1] = pack(now, ARGV[9], ARGV[10], path, r.owner, r.note, r.ticket,
        r.held and r.token or 0)
end

function L.write_records()
    for _, record in ipairs(L.records) do
        call('RPUSH', L.records.key, record)
    end
    call('LTRIM', L.records.key, -AUDIT_MAX, -1)
end

-- Returns whether there was anything to break.
local function break_one(r, at_once, released)
    if not r.held or at_once then
        L.lose(r)
        for _, part in ipairs(r.parts) do
            released[#released + 1] = part
        end
        return true
    end
    if r.revoked then
        return false
    end
    r.revoked, r.dirty = true, true
    L.hide_cycle() -- it covers nothing any more (R8)
    return true
end

-- Every request with a part at exactly this path, once, in the order of their tickets.
local function requests_at(R, path)
    local found, seen = {}, {}
    local function note(identity)
        if not seen[identity] then
            seen[identity] = true
            found[#found + 1] = L.request(R, identity)
        end
    end
    for _, kind in ipairs({'X', 'S'}) do
        L.each_at(R, kind, path, function(member)
            local _, _, identity = read_held(member)
            note(identity)
        end)
    end
    for _, kind in ipairs({'a', 'b'}) do
        L.each_at(R, kind, path, function(member)
            local _, _, identity = read_waiting(member)
            note(identity)
        end)
    end
    table.sort(found, function(a, b)
        if a.ticket ~= b.ticket then
            return a.ticket < b.ticket
        end
        return a.id < b.id -- claims of one call (R16)
    end)
    return found
end

L.operations['break'] = function()
    local path, owner, at_once = ARGV[6], ARGV[7], ARGV[8] == '1'
    local R = L.root_of(path)
    local released, count = {}, 0
    local found, known
    if ARGV[11] == '1' then
        return L.cancel(R, path, at_once, break_one, keep_on_record)
    end
    repeat -- until every due deadline under the other roots of these requests has taken effect
        if not L.sweep() then
            return nil
        end
        known = #L.loaded
        found = requests_at(R, path)
    until #L.loaded == known
    for _, r in ipairs(found) do
        if owner == '' or r.owner == owner then
            local was_held = r.held
            if break_one(r, at_once, released) then
                count = count + 1
                keep_on_record(R, r, path)
            end
        end
    end
    L.grant_waiters(released, nil, now)
    return {OK, now, count}
end
