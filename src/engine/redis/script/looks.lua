-- SPDX-License-Identifier: Apache-2.0
-- A claim looks at the roots of lists (groups.lua) at which something may have changed.
do -- its names are its own
-- A list that was blocked and may be free.
local function check_list(R, queue, owner, list)
    moves = moves + 1
    remove_blocked(list.root, 'w' .. queue .. '\0' .. list.name)
    local at = position_in_list(R, queue, list.name)
    if at and not is_still_blocked(R, queue, owner, list)
        and not open_short_list(R, queue, list) then
        set_list(R, queue, list.name, '', at)
    end
end

-- Checks the lists under a root that may be free: those that were woken, and from this name on all
-- of them (nil or false: none). Returns whether none is left, and from which name on there are more.
local function check_lists(R, queue, owner, root, from)
    local rest = false
    if from then
        local lists
        lists, rest = lists_under(R, queue, root, from, MOVES_MAX - moves)
        for _, list in ipairs(lists) do
            check_list(R, queue, owner, list)
        end
    end
    local prefix = 'w' .. queue
    local woken = call('ZRANGEBYLEX', root.base .. 'b', '[' .. prefix .. '\0', '(' .. prefix .. '\1',
        'LIMIT', 0, math.max(MOVES_MAX - moves, 0) + 1)
    for _, entry in ipairs(woken) do
        if moves >= MOVES_MAX then
            return false, rest
        end
        check_list(R, queue, owner, list_of(entry:match('^w%Z*%z(%Z*)%z(.*)$')))
    end
    return not rest, rest
end

-- Returns whether nothing is left to be looked at there.
local function look_at_root(R, queue, owner, name)
    local root = L.root(name)
    local known, due, from = state_of_root(R, queue, name)
    local told = entry_of_root(queue, 0, name)
    moves = moves + 1
    if known ~= nil then
        local generation = generation_of(root) or false
        if known and generation ~= known then -- what was noted there does not count any more
            from = name
        end
        local is_done, rest = check_lists(R, queue, owner, root, from)
        generation = generation_of(root) or false
        known, due = state_of_root(R, queue, name)
        if known == nil then
            return true -- it has no list any more
        end
        if due < now + LOOK_MAX / 4 or root.first < due then
            due = due_of(root)
            call('PEXPIRE', root.base .. 'b', BLOCKED_KEPT_MS)
        end
        set_root(R, queue, name, generation, due, rest)
        if not is_done then
            tell(R.base, queue, name)
            return false
        end
    end
    remove_from_index(R, told)
    return true
end

local function range_of_roots(R, queue, from, to, max)
    local names = {}
    local found = call('ZRANGEBYLEX', R.base .. 'q', from, to, 'LIMIT', 0, max)
    for i, entry in ipairs(found) do
        names[i] = entry:match('^d%Z*%z%Z*%z(.*)$')
    end
    return names, found[#found]
end

-- Some roots of lists, others at each time, so that all have their turn.
local function other_roots(R, queue, first)
    local Q, prefix = R.base .. 'q', 'd' .. queue .. '\0'
    local count = call('ZLEXCOUNT', Q, '[' .. prefix, '(d' .. queue .. '\1')
    local from = call('ZRANK', Q, first) + now % math.max(count - OTHERS + 1, 1)
    local names = {}
    for _, entry in ipairs(call('ZRANGE', Q, from, from + OTHERS - 1)) do
        if entry:sub(1, #prefix) == prefix then
            names[#names + 1] = entry:match('^d%Z*%z%Z*%z(.*)$')
        end
    end
    return names
end

-- The roots that a claim has to look at, but for those that it has looked at.
local function due_roots(R, queue, looked)
    local names, from, to = {}, '[d' .. queue .. '\0', '(d' .. queue .. '\0' .. digits(now + 1)
    repeat
        local found, last = range_of_roots(R, queue, from, to, 100)
        for _, name in ipairs(found) do
            if not looked[name] then
                looked[name] = true
                names[#names + 1] = name
            end
        end
        from = last and '(' .. last
    until #found < 100 or #names >= MOVES_MAX
    return names
end

-- Brings the queue's lists up to date for a claim of this owner. false: more is overdue, or more is to
-- be looked at, than one call handles.
function L.look_at_lists(R, queue, owner)
    local first = first_in(R, 'd' .. queue)
    if not first then
        return true
    end
    local looked, names = {}, other_roots(R, queue, first)
    for _, name in ipairs(names) do
        looked[name] = true
    end
    for _, name in ipairs(due_roots(R, queue, looked)) do
        names[#names + 1] = name
    end
    while #names > 0 do
        for _, name in ipairs(names) do
            L.root(name)
        end
        if not L.sweep() then
            return false
        end
        for _, name in ipairs(names) do
            if moves >= MOVES_MAX or not look_at_root(R, queue, owner, name) then
                return false
            end
        end
        names = due_roots(R, queue, looked)
    end
    return true
end

-- When the next root of lists is to be looked at. Beside many, some at once: a claim for each would
-- keep the server busy.
local TOGETHER, TOGETHER_MAX = 5000, 1000000

function L.next_look(R, queue)
    local Q, to = R.base .. 'q', '(d' .. queue .. '\1'
    local first = call('ZRANGEBYLEX', Q, '[d' .. queue .. '\0' .. digits(now + 1), to, 'LIMIT', 0, 1)[1]
    if not first then
        return NEVER
    end
    local count = call('ZLEXCOUNT', Q, '[d' .. queue .. '\0', to)
    return math.max(tonumber(first:match('^d%Z*%z(%Z*)%z')),
        now + math.min(count * TOGETHER, TOGETHER_MAX))
end
end
