-- SPDX-License-Identifier: Apache-2.0
-- Values (R15): plain string keys in the slot of their root, written with a release or alone.

L.foreign_text = 'R15: the key of this path is no string: it belongs to something else'

function L.is_foreign_key(path)
    local kind = call('TYPE', L.value_key(path)).ok
    return kind ~= 'none' and kind ~= 'string'
end

-- R15: whether one of the paths has such a key.
function L.has_foreign_key(paths)
    for _, path in ipairs(paths) do
        if L.is_foreign_key(path) then
            return true
        end
    end
    return false
end

-- Keeps the key's expiry, which is the user's own. Returns whether the value was in doubt.
function L.write_value(path, bytes)
    local doubts = L.root_of(path).base .. 'd'
    local was_in_doubt = call('HEXISTS', doubts, path) == 1 -- another type fails here, before SET
    call('SET', L.value_key(path), bytes, 'KEEPTTL')
    if was_in_doubt then
        call('HDEL', doubts, path)
    end
    return was_in_doubt
end

-- All or none: if a later write fails, L.roll_back() undoes those before it.
function L.write_values(puts)
    for i, put in ipairs(puts) do
        local key, is_last = L.value_key(put.path), i == #puts
        local former = not is_last and call('GET', key)
        local was_in_doubt = L.write_value(put.path, put.bytes)
        if not is_last then
            L.undo[#L.undo + 1] = former and {'SET', key, former, 'KEEPTTL'} or {'DEL', key}
            if was_in_doubt then
                L.undo[#L.undo + 1] = {'HSET', L.root_of(put.path).base .. 'd', put.path, '1'}
            end
        end
    end
end

-- Whether an exclusive lease of another owner is at or above the path.
local function is_covered_by_another(R, path, owner)
    for _, at in ipairs(L.chain(path)) do
        if L.node(R, at).held_x > 0 and L.each_at(R, 'X', at, function(member)
                return read_held(member) ~= owner
            end) then
            return true
        end
    end
    return false
end

-- Whether a lease of the owner, with this token, covers the path exclusively.
local function is_covered_by_token(R, path, owner, token)
    for _, at in ipairs(L.chain(path)) do
        if L.node(R, at).held_x > 0 and L.each_own(R, 'X', at, owner, function(member)
                local _, _, identity = read_held(member)
                return L.request(R, identity).token == token
            end) then
            return true
        end
    end
    return false
end

function L.operations.put()
    local path, owner, token = ARGV[6], ARGV[7], tonumber(ARGV[8])
    local R = L.root_of(path)
    L.fetch(R, L.chain(path))
    if not L.sweep() then
        return nil
    end
    if token ~= 0 then
        if not is_covered_by_token(R, path, owner, token) then
            return {LOST, now, '@LK_TEXT_PUT_UNCOVERED@'}
        end
    elseif is_covered_by_another(R, path, owner) then
        return {BUSY, now, '@LK_TEXT_PUT_COVERED@'}
    end
    if L.is_foreign_key(path) then
        return {INVALID, now, L.foreign_text}
    end
    if ARGV[9] == '1' then
        call('HDEL', R.base .. 'd', path)
        call('DEL', L.value_key(path))
    else
        L.write_value(path, ARGV[10])
    end
    return {OK, now, ''}
end

function L.operations.get()
    local path = ARGV[6]
    local R = L.root_of(path)
    if not L.sweep() then
        return nil
    end
    if L.is_foreign_key(path) then
        return {INVALID, now, L.foreign_text}
    end
    local value = call('GET', L.value_key(path))
    if not value then
        return {NONE, now, ''}
    end
    return {OK, now, '', value, call('HEXISTS', R.base .. 'd', path)}
end
