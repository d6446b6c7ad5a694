-- SPDX-License-Identifier: Apache-2.0
-- Roots, paths and requests: read on demand, cached for the call, written back at its end. Entries
-- and deadlines are written at once (entries.lua), so that they can be searched.
local function rules()
local L = {operations = {}, requests = {}, roots = {}, loaded = {}, messages = {}, undo = {}}
if plain then
    local style, notes, blockers
    alone, style, notes, blockers, channel = ARGV[4]:match('^(.)(.)(.)(%d+) (.*)$')
    if plain == 'a' then
        local _, ttl, limit, units = read('<BdI4I4', ARGV[5])
        ARGV = {'ask', boot, ARGV[3], channel, alone, owner, style, ttl, 0, notes, ARGV[7],
            blockers, '0', 1, path, limit, units, ''}
    elseif plain == 'r' then
        ARGV = {'release', boot, ARGV[3], '', alone, owner, ARGV[5], '0', 1, path, ''}
    else
        ARGV = {'renew', boot, ARGV[3], '', alone, owner, ARGV[5], ARGV[7], 1, path, ''}
    end
    alone = alone == '1'
    operation = ARGV[1]
end

local NEWEST, PASSES = math.huge, 0 -- tickets: after all waiting requests, and before them

-- ---- keys ----

-- R1: %XX stands in a path for a byte that no path has, if that is ASCII. So the key of a value may
-- have it.
function L.unescape(text)
    return (text:gsub('%%([0-7][0-9A-F])', function(hex)
        local byte = string.char(tonumber(hex, 16))
        return byte:find('^[\1-\32\127/?{}]') and byte or nil
    end))
end

-- How the keys of a root begin, and the key of the root's own value, which is in the same slot;
-- client/keys.h has the forms.
function L.prefix_of(name)
    local key = name:find('%', 1, true) and L.unescape(name) or name
    if key == name or key:find('^{.*/') or key:find('^{.*:lk:') then
        return '{' .. name .. '}', name
    end
    if not key:find('}', 1, true) then
        return '{' .. key .. '}', key
    end
    local tag = key:match('^[^{]*{([^}]+)}')
    return tag and '{' .. tag .. '}' .. name or '{' .. name .. '}', tag and key or name
end

-- ---- roots ----

function L.root(name)
    local R = L.roots[name]
    if R then
        return R
    end
    local base = L.prefix_of(name) .. ':lk:'
    R = {name = name, base = base, H = base .. 'h', T = base .. 't', P = base .. 'p', nodes = {},
        owners = {}, written = {}}
    R.latest = 0 -- the last deadline that this call sets
    R.moment = 0 -- of the last end or grant in this call
    L.roots[name] = R
    L.loaded[#L.loaded + 1] = R
    R.draw, R.first, R.expiry, R.kept, R.live, R.sleepers, R.crowded, R.ended, R.boot = 0, NEVER, 0,
        0, 0, 0, 0, 0, boot
    local x = call('HGET', R.H, 'x')
    local mark = x and (x:byte() or 0)
    if mark == EMPTY_MARK then
        mark, R.draw, R.expiry, R.ended, R.boot = read(EMPTY, x)
    elseif mark == SINGLE_MARK then
        L.unfold(R, x)
    elseif mark == ROOT_MARK then
        mark, R.draw, R.first, R.expiry, R.kept, R.live, R.sleepers, R.crowded, R.ended, R.boot =
            read(ROOT, x)
    elseif mark then
        error('damaged: field x of ' .. R.H)
    else
        R.is_new = true
    end
    return R
end

function L.root_of(path)
    return L.root(path:match('^[^/]+'))
end

-- ---- paths ----

-- The path, its parent, and so on up to the root.
function L.chain(path)
    local up = {path}
    local at = #path
    while at > 0 do
        if path:byte(at) == 47 then
            up[#up + 1] = path:sub(1, at - 1)
        end
        at = at - 1
    end
    return up
end

local NUMBERS = {'held_x', 'held_s', 'units', 'below_x', 'below_s', -- below: here, too
    'wait_x', 'wait_s', 'wait_units', 'behind_x', 'behind_s',        -- behind: here and below
    'limited', 'widest'} -- of those waiting here: how many have a limit, and an upper bound of it

local function make_node(packed)
    local node = {}
    local numbers = packed and {open(packed)} or {}
    for i = 1, 12 do
        node[NUMBERS[i]] = numbers[i] or 0
    end
    return node
end

function L.node(R, path)
    local node = R.nodes[path]
    if not node then
        node = make_node(call('HGET', R.H, 'n' .. path))
        R.nodes[path] = node
    end
    return node
end

-- Reads the counts of all paths of a chain in one call.
function L.fetch(R, chain)
    local fields, missing = {}, {}
    for _, path in ipairs(chain) do
        if not R.nodes[path] then
            fields[#fields + 1] = 'n' .. path
            missing[#missing + 1] = path
        end
    end
    if #fields > 0 then
        local got = call('HMGET', R.H, unpack(fields))
        for i, path in ipairs(missing) do
            R.nodes[path] = make_node(got[i])
        end
    end
end

-- ---- owners ----

-- How many live requests the owner has under this root.
function L.live_of(R, owner)
    local count = R.owners[owner]
    if not count then
        count = tonumber(call('HGET', R.H, 'o' .. owner) or 0)
        R.owners[owner] = count
    end
    return count
end

-- ---- requests ----

-- R3: owner and set of paths identify a request. A part of a batch (R14) is identified by the
-- batch.
function L.identity(owner, paths, batch)
    if batch ~= '' then
        return owner .. '\0\0' .. redis.sha1hex(batch)
    end
    if #paths == 1 then
        return owner .. '\0' .. paths[1]
    end
    local sorted = {unpack(paths)}
    table.sort(sorted)
    local whole = owner .. '\0' .. table.concat(sorted, '\0')
    return #whole <= 160 and whole or owner .. '\0\0' .. redis.sha1hex(whole)
end

local ATTENDED, FIXED, REVOKED, WANTS, CLAIM, GRACED = 1, 2, 4, 8, 16, 32

local function has(flags, flag)
    return flags % (2 * flag) >= flag
end

function L.make_part(path, limit, units)
    return {path = path, limit = limit, units = units, root = L.root_of(path),
        chain = L.chain(path)}
end

-- The roots of the parts, each once, that of the first part first.
function L.roots_of(parts)
    local roots, seen = {}, {}
    for _, part in ipairs(parts) do
        if not seen[part.root] then
            seen[part.root] = true
            roots[#roots + 1] = part.root
        end
    end
    return roots
end

local function decode(R, identity, packed)
    local held, flags, count, ticket, token, ttl, deadline, id, owner, note, told, at =
        read(REQUEST, packed)
    local r = {identity = identity, owner = owner, held = held == 1, ticket = ticket,
        token = token, ttl = ttl, deadline = deadline, attended = has(flags, ATTENDED),
        fixed = has(flags, FIXED), revoked = has(flags, REVOKED), wants = has(flags, WANTS),
        claim = has(flags, CLAIM), graced = has(flags, GRACED), note = note, id = id,
        channel = told, parts = {}}
    for i = 1, count do
        local path, limit, units
        path, limit, units, at = read('<' .. PART, packed, at)
        r.parts[i] = L.make_part(path, limit, units)
    end
    r.roots = L.roots_of(r.parts)
    if #r.roots > 1 then
        L.tear(r, R)
    end
    return r
end

local function encode(r)
    local parts = r.whole or r.parts
    local flags = (r.attended and ATTENDED or 0) + (r.fixed and FIXED or 0)
        + (r.revoked and REVOKED or 0) + (r.wants and WANTS or 0) + (r.claim and CLAIM or 0)
        + (r.graced and GRACED or 0)
    local packed = write(REQUEST, r.held and 1 or 0, flags, #parts, r.ticket, r.token, r.ttl,
        r.deadline, r.id, r.owner, r.note, r.channel)
    for _, part in ipairs(parts) do
        packed = packed .. write('<' .. PART, part.path, part.limit, part.units)
    end
    return packed
end

-- The live request of this identity, or nil.
function L.request(R, identity)
    local r = L.requests[identity]
    if not r then
        local packed = call('HGET', R.H, 'r' .. identity)
        r = packed and decode(R, identity, packed) or nil
        L.requests[identity] = r
    end
    return r and not r.ended and r or nil
end

-- ---- writing back ----

function L.write_fields(key, fields, gone)
    for from = 1, #fields, 1000 do
        call('HSET', key, unpack(fields, from, math.min(from + 999, #fields)))
    end
    for from = 1, #gone, 1000 do
        call('HDEL', key, unpack(gone, from, math.min(from + 999, #gone)))
    end
end

-- A root expires some time after its last deadline. It does not while a request lives whose death
-- has to be noticed, because it puts a value in doubt or frees an item (R15, R16).
local function set_expiry(R)
    local wanted = math.max(R.latest, now) + MARGIN
    local keys = {R.H, R.T, R.P}
    if R.kept > 0 then
        if R.expiry ~= 0 or R.is_new or R.is_guarded then
            R.expiry = 0
            for _, key in ipairs(keys) do
                call('PERSIST', key)
            end
        end
        return
    end
    if R.live == 0 and (R.expiry == 0 or R.expiry > now + LONG) then
        R.expiry = now + MARGIN + 60000000
    elseif R.expiry == 0 and not R.is_new then
        local last = call('ZREVRANGE', R.T, 0, 1, 'WITHSCORES') -- the first is the guard
        R.expiry = math.max(wanted, tonumber(last[4] or 0) + MARGIN) + 60000000
    elseif R.expiry < wanted then
        R.expiry = wanted + 60000000
    elseif not R.is_guarded then
        return
    end
    for _, key in ipairs(keys) do
        call('PEXPIRE', key, math.ceil((R.expiry - now) / 1000))
    end
end

local function changes_of(R)
    local fields, gone = {}, {}
    for path, node in pairs(R.nodes) do
        if node.dirty then
            if node.below_x + node.below_s + node.behind_x + node.behind_s == 0 then
                gone[#gone + 1] = 'n' .. path
            else
                fields[#fields + 1] = 'n' .. path
                fields[#fields + 1] = pack(node.held_x, node.held_s, node.units, node.below_x,
                    node.below_s, node.wait_x, node.wait_s, node.wait_units, node.behind_x,
                    node.behind_s, node.limited, node.widest)
            end
        end
    end
    for field, value in pairs(R.written) do
        if value then
            fields[#fields + 1] = field
            fields[#fields + 1] = value
        else
            gone[#gone + 1] = field
        end
    end
    if #fields + #gone == 0 and not R.dirty then
        return nil
    end
    if R.is_new then
        if R.draw == 0 then -- the first draw comes later, and is greater
            R.draw = L.next_draw({R}) - 1
        end
        fields[#fields + 1] = 'g'
        fields[#fields + 1] = R.born or R.draw
    end
    return {root = R, fields = fields, gone = gone}
end

local function write_root(R, fields, gone)
    L.write_fields(R.H, fields, gone)
    set_expiry(R)
    call('HSET', R.H, 'x', write(ROOT, ROOT_MARK, R.draw, R.first, R.expiry, R.kept, R.live,
        R.sleepers, R.crowded, R.ended, R.boot))
    if R.expiry ~= 0 and R.is_new then
        call('PEXPIRE', R.H, math.ceil((R.expiry - now) / 1000))
    end
end

-- A channel with a root in its name is sharded: its messages stay in the root's slot. Returns how
-- many clients got the message. It may be lost (an older server has no SPUBLISH, the user may lack
-- the permission): waiting clients also query from time to time.
function L.publish(where, what)
    local told = redis.pcall(where:find('{', 1, true) and 'SPUBLISH' or 'PUBLISH', where, what)
    return type(told) == 'number' and told or 0
end

-- Undoes what a failed call has written to entries and deadlines. L.flush() writes all the rest,
-- and fails before its first write of a request or not at all.
function L.roll_back()
    for i = #L.undo, 1, -1 do
        call(unpack(L.undo[i]))
    end
end

local function collect_changes()
    local changes = {}
    for identity, r in pairs(L.requests) do
        if r.dirty then
            local packed = not r.ended and encode(r)
            for _, R in ipairs(r.roots) do
                R.written['r' .. identity] = packed
            end
        end
    end
    for _, R in ipairs(L.loaded) do
        changes[#changes + 1] = changes_of(R)
    end
    return changes
end

-- Writes everything that this call has changed, and sends its messages. The server has checked the
-- permission to write H, which is declared. For the hashes of other roots, a write that changes
-- nothing checks it.
function L.flush()
    local changes = collect_changes()
    L.keep_floor()
    L.keep_hidden_cycle()
    for _, change in ipairs(changes) do
        if change.root.H ~= H then
            call('HDEL', change.root.H, '')
        end
    end
    L.write_items()
    if L.puts then -- R15: with the release or not at all
        L.write_values(L.puts)
    elseif L.records then
        L.write_records()
    end
    L.undo = {}
    for _, change in ipairs(changes) do
        write_root(change.root, change.fields, change.gone)
    end
    for _, message in ipairs(L.messages) do
        L.publish(message[1], message[2])
    end
end

function L.notify(r)
    if r.channel ~= '' then
        L.messages[#L.messages + 1] = {r.channel, string.format('%.0f', r.id)}
    end
end
