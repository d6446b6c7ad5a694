-- SPDX-License-Identifier: Apache-2.0
-- Lists of blocked groups (groups.lua): what is noted of them under the root of what blocks them,
-- and what ends tell the queue.

local function prefix_of_list(queue, list)
    return 'k' .. queue .. '\0' .. list.name
end

-- Visits the lists of the queue that have a group, at paths from `from` on.
local function each_list(R, queue, from, visit)
    local to = '(k' .. queue .. '\1'
    while true do
        local entry = call('ZRANGEBYLEX', R.base .. 'q', from, to, 'LIMIT', 0, 1)[1]
        if not entry then
            return
        end
        local path, class = entry:match('^k%Z*%z(%Z*)%z(%Z*)%z')
        from = visit(path, class) or '(k' .. queue .. '\0' .. path .. '\0' .. class .. '\1'
        if from == '' then
            return
        end
    end
end

-- Up to `max` lists under the root, from this name on; and the name of the next one, or false.
local function lists_under(R, queue, root, from, max)
    local lists, below, rest = {}, root.name .. '/', false
    each_list(R, queue, '[k' .. queue .. '\0' .. from, function(path, class)
        if not contains(root.name, path) then -- between those at the root and those below it
            return is_before(path, below) and '[k' .. queue .. '\0' .. below or ''
        elseif #lists == max then
            rest = path .. '\0' .. class
            return ''
        end
        lists[#lists + 1] = list_of(path, class)
    end)
    return lists, rest
end

local function add_blocked(root, member)
    if call('ZADD', root.base .. 'b', 0, member) == 1 then
        L.undo[#L.undo + 1] = {'ZREM', root.base .. 'b', member}
    end
end

local function remove_blocked(root, member)
    if call('ZREM', root.base .. 'b', member) == 1 then
        L.undo[#L.undo + 1] = {'ZADD', root.base .. 'b', 0, member}
    end
end

local function range_of_blocked(root, prefix)
    return call('ZRANGEBYLEX', root.base .. 'b', '[' .. prefix .. '\0', '(' .. prefix .. '\1')
end

local function generation_of(root)
    return root.sleepers == BLOCKING
        and call('ZRANGEBYLEX', root.base .. 'b', '[~', '+', 'LIMIT', 0, 1)[1] or nil
end

-- Begins a generation: what the set had counts no more.
local function begin_generation(root, former)
    local key = root.base .. 'b'
    local generation = '~' .. digits(now)
    if generation == former then
        generation = generation .. '+'
    end
    call('DEL', key)
    call('ZADD', key, 0, generation)
    L.undo[#L.undo + 1] = {'DEL', key}
    root.sleepers, root.dirty = BLOCKING, true
    return generation
end

-- When a claim has to look at the root again, which it has loaded and swept: what lives there and
-- may block does not end before, or tells so.
local function due_of(root)
    return math.min(root.first, now + LOOK_MAX / 2 + moves % MOVES_MAX * LOOK_SPREAD)
end

-- Notes that a request of this owner ('': a limit) blocks the list. It has a group.
local function note_blocked(R, queue, list, owner)
    local root, name = list.root, list.name
    if list.class == HEAD then -- L.end_head() opens it
        set_list(R, queue, name, false)
        return
    end
    local known, due, from = state_of_root(R, queue, root.name)
    local generation = generation_of(root)
    if not generation then
        generation = begin_generation(root, known)
    end
    if known ~= generation then
        if known then -- its other lists may be free
            from = root.name
            tell(R.base, queue, root.name)
        end
        due = math.min(due or NEVER, due_of(root))
        set_root(R, queue, root.name, generation, due, from or false)
    elseif root.first < due then
        set_root(R, queue, root.name, generation, due_of(root), from)
    end
    local tail = '\0' .. list.class .. '\0' .. queue
    local former = state_of_list(R, queue, name)
    if former and former ~= '' and former ~= owner then
        remove_blocked(root, 'c' .. list.path .. '\0' .. former .. tail)
    end
    add_blocked(root, 'c' .. list.path .. '\0' .. owner .. tail)
    remove_blocked(root, 'w' .. queue .. '\0' .. name)
    call('PEXPIRE', root.base .. 'b', BLOCKED_KEPT_MS)
    if owner == '' then
        set_list(R, queue, name, false)
    else
        set_list(R, queue, name, owner, position_in_list(R, queue, name))
    end
end

do -- its names are its own
local function unlist(root, path, owner)
    local entries = range_of_blocked(root, 'c' .. path .. '\0' .. owner)
    for _, entry in ipairs(entries) do
        local class, queue = entry:match('^c%Z*%z%Z*%z(%Z*)%z(.*)$')
        local base = L.prefix_of(queue:match('^[^/]+')) .. ':lk:'
        remove_blocked(root, entry)
        add_blocked(root, 'w' .. queue .. '\0' .. path .. '\0' .. class)
        tell(base, queue, root.name)
        L.notify_worker(base, queue)
    end
    return #entries > 0
end

-- A request of this owner ends, becomes weaker, or will end earlier, at exactly this path: wakes the
-- lists that it blocked. The next claim reads which.
function L.wake_lists(root, path, owner)
    if root.sleepers ~= BLOCKING then
        return
    end
    local by_limit = unlist(root, path, '')
    if (unlist(root, path, owner) or by_limit)
        and #call('ZRANGEBYLEX', root.base .. 'b', '[c', '(d', 'LIMIT', 0, 1) == 0 then
        -- None is blocked: releases are quick again, unless workers sleep on locks (work.lua).
        root.sleepers = call('EXISTS', root.base .. 's') == 1 and now + 30000000 or 0
        root.dirty = true
    end
end
end

-- Moves the groups of a short list to those that may be free. Returns whether it did.
local function open_short_list(R, queue, list)
    local prefix = prefix_of_list(queue, list)
    local entries = call('ZRANGEBYLEX', R.base .. 'q', '[' .. prefix .. '\0', '(' .. prefix .. '\1',
        'LIMIT', 0, SMALL + 1)
    if #entries > SMALL then
        return false
    end
    for _, entry in ipairs(entries) do
        local at, name = entry:match('^k%Z*%z%Z*%z%Z*%z(%Z*)%z(.*)$')
        L.place_group(R, queue, name, at, false)
    end
    return true
end

-- Whether what the list is about still blocks it for this owner; notes by whom.
local function is_still_blocked(R, queue, owner, list)
    local blocker
    if list.class == HEAD then
        blocker = L.has_head(R, queue, list) and '' or nil
    else
        blocker = L.blocker_in(list, {owner = owner, ticket = NEWEST, is_item = true})
    end
    if blocker then
        note_blocked(R, queue, list, blocker)
    end
    return blocker ~= nil
end
