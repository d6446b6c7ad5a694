-- SPDX-License-Identifier: Apache-2.0
-- Renewing and ending: by the owner, by an administrator (R11, R12); src/model/end.c.

-- R3: tokens that an ending call named are remembered for five minutes, in hashes that each have
-- those of some 100 s and expire by themselves. They are bounded: a later token may take an earlier
-- one's place.
local function remember_ended(R, token, identity)
    local key, written = R.H .. span, string.format('%.0f', token)
    if redis.pcall('HSET', key, written:sub(-3), written .. ' ' .. identity) == 1
        and R.ended ~= span + 0 then
        R.ended = span + 0
        R.dirty = true
        call('PEXPIRE', key, SPAN_KEPT_MS)
    end
end

local function recalls_ended(R, token, identity)
    local written = string.format('%.0f', token)
    for back = 0, token ~= 0 and 3 or -1 do
        local kept = call('HGET', R.H .. span - back, written:sub(-3))
        if kept == written .. ' ' .. identity then
            return true
        end
    end
    return false
end

local function has_token(r, token)
    return token == 0 or r.held and r.token == token
end

-- The target that ARGV names: owner at 6, token at 7, and `count` paths from `at` on.
local function read_target(at, count)
    local paths = {}
    for i = 1, count do
        paths[i] = ARGV[at + i - 1]
        L.root_of(paths[i])
    end
    return {owner = ARGV[6], token = tonumber(ARGV[7]), paths = paths,
        root = L.root_of(paths[1]), identity = L.identity(ARGV[6], paths, ARGV[at + count])}
end

-- ---- renewing ----

local function has_paths(claim, paths)
    for _, part in ipairs(claim.parts) do
        local found = false
        for _, path in ipairs(paths) do
            found = found or path == part.path
        end
        if not found then
            return false
        end
    end
    return #claim.parts == #paths
end

-- The claim that a renewal names by its item's path, or by all of its paths (R16).
local function find_claim(target)
    for _, path in ipairs(target.paths) do
        local claim = L.request(L.root_of(path), '\1' .. path)
        if claim and claim.owner == target.owner and has_token(claim, target.token)
            and (#target.paths == 1 or has_paths(claim, target.paths)) then
            return claim
        end
    end
end

function L.operations.renew()
    local target = read_target(10, tonumber(ARGV[9]))
    local ttl = tonumber(ARGV[8])
    if not L.sweep() then
        return nil
    end
    local r = L.request(target.root, target.identity)
    if not (r and r.held and not r.revoked and has_token(r, target.token)) then
        r = find_claim(target) or r
    end
    if not r or not r.held then
        return reply(LOST, 'there is no such lease: it has ended, or was never granted')
    end
    if r.revoked then
        return reply(LOST, 'R12: an administrator has broken this lease')
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

function L.operations.release()
    local target = read_target(11, tonumber(ARGV[10]))
    local puts = ARGV[8] == '1'
    if not L.sweep() then
        return nil
    end
    local R, r = target.root, L.request(target.root, target.identity)
    if not r or not has_token(r, target.token) then
        if recalls_ended(R, target.token, target.identity) then
            return reply(OK)
        end
        return reply(LOST, r and 'the request there has another token: this one has ended'
            or 'there is no such request: it has ended, or never was')
    end
    if puts then
        if not r.held or L.part_at(r, target.paths[1]).units ~= 0 then
            return reply(LOST, 'R15: only an exclusive lease that is held can put a value')
        end
        if L.is_foreign_key(target.paths[1]) then
            return reply(INVALID, L.foreign_text)
        end
        L.write_value(target.paths[1], ARGV[9])
    end
    if target.token ~= 0 then
        remember_ended(R, target.token, target.identity)
    end
    L.leave(r)
    L.tell(r)
    L.tell_workers(r)
    L.settle(r.parts, nil, now)
    return reply(OK)
end

-- ---- breaking ----

local AUDIT_MAX = 1000

local function keep_on_record(R, r, path)
    call('RPUSH', R.base .. 'a', pack(now, ARGV[9], ARGV[10], path, r.owner, r.note, r.ticket,
        r.held and r.token or 0))
    call('LTRIM', R.base .. 'a', -AUDIT_MAX, -1)
end

-- Whether there was anything to break.
local function break_one(r, at_once, touched)
    if not r.held or at_once then
        L.lose(r)
        for _, part in ipairs(r.parts) do
            touched[#touched + 1] = part
        end
        return true
    end
    if r.revoked then
        return false
    end
    r.revoked, r.dirty = true, true
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
    return found
end

L.operations['break'] = function()
    local path, owner, at_once = ARGV[6], ARGV[7], ARGV[8] == '1'
    local R = L.root_of(path)
    local touched, count = {}, 0
    if not L.sweep() then
        return nil
    end
    for _, r in ipairs(requests_at(R, path)) do
        if owner == '' or r.owner == owner then
            local was_held = r.held
            if break_one(r, at_once, touched) then
                count = count + 1
                keep_on_record(R, r, path)
            end
        end
    end
    L.settle(touched, nil, now)
    return {OK, now, count}
end
