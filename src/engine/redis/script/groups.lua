-- SPDX-License-Identifier: Apache-2.0
-- Ready items that need something (R16), in groups of the same needs: what blocks one item of a group
-- by its needs blocks all of them, so a claim checks the first item alone. Members of {root}:lk:q:
--     s queue 0 group 0 rank sequence 0 id           the items of a group, in the order of claims
--     h queue 0 rank sequence 0 group                groups that may be free, by their first item
--     k queue 0 path 0 class 0 rank sequence 0 group    groups that something at the path blocks
-- A group is in one of these two. A blocked one costs nothing until what blocks it has ended. The
-- class of a list is what blocks all of its groups: `x`, an exclusive request at exactly that path;
-- `s`, a shared one (all of them need something exclusively); `l limit,units`, a limit there (R7c).
-- Fields of {root}:lk:i:
--     g queue 0 group       rank and sequence of its first item, and the list that it is in, or false
--     b queue 0 root        the generation of that root's b in which the lists are noted
--
-- {root}:lk:b, a sorted set under the root of the path, tells a request that ends what it frees:
--     c path 0 owner 0 class 0 queue    a list, blocked by a request of this owner, or by a limit
--     j queue 0 owner 0 path 0 class    the same by owner: own requests block no claim
--     w queue 0 path 0 class            a list that was blocked, and may be free
--     ~ generation
-- It counts while the root has the mark BLOCKING in place of a time until which workers sleep. Ends
-- by older versions remove the mark; a lost record of the root has none; a new generation begins
-- with the next list. In all three cases every list may be free.
do -- until the end of take.lua: a function has 200 local names at most
local SMALL = 8 -- groups that are moved one by one when their list becomes free
local BLOCKED_KEPT_MS = 3600000

-- ---- a group ----

local function group_of(needs)
    local words = {}
    for i, need in ipairs(needs) do
        words[i] = need.path .. '\2' .. need.limit .. '\2' .. need.units
    end
    local name = table.concat(words, '\3')
    return #name <= 60 and name or redis.sha1hex(name)
end

local function position_of(item)
    return rank_of(item.priority) .. digits(item.sequence)
end

local function entry_in_group(item)
    return 's' .. item.queue .. '\0' .. group_of(item.needs) .. '\0' .. position_of(item) .. '\0'
        .. item.id
end

local function entry_of_group(queue, name, at, list)
    if list then
        return 'k' .. queue .. '\0' .. list .. '\0' .. at .. '\0' .. name
    end
    return 'h' .. queue .. '\0' .. at .. '\0' .. name
end

-- Without a list under the root of this one, the queue has no use for its generation there, which
-- would be kept for each root that has ever blocked an item.
local function forget_generation(R, queue, list)
    local root = list:match('^[^/%z]+')
    local field, prefix = 'b' .. queue .. '\0' .. root, 'k' .. queue .. '\0' .. root
    if not item_field(R, field) then
        return
    end
    for mark, next_mark in pairs({['\0'] = '\1', ['/'] = '0'}) do
        if #call('ZRANGEBYLEX', R.base .. 'q', '[' .. prefix .. mark, '(' .. prefix .. next_mark,
            'LIMIT', 0, 1) > 0 then
            return
        end
    end
    set_item_field(R, field, false)
end

-- Moves the group; `at` nil removes it, when it has no item any more.
local function place_group(R, queue, name, at, list)
    local field = 'g' .. queue .. '\0' .. name
    local packed = item_field(R, field)
    local former
    if packed then
        local first
        first, former = open(packed)
        remove_from_index(R, entry_of_group(queue, name, first, former))
    end
    if at then
        add_to_index(R, entry_of_group(queue, name, at, list))
    end
    set_item_field(R, field, at and pack(at, list))
    if former and (not at or former ~= list) then
        forget_generation(R, queue, former)
    end
end

-- Where it is: the position of its first item, and its list or false; nil: there is no such group.
local function place_of_group(R, queue, name)
    local packed = item_field(R, 'g' .. queue .. '\0' .. name)
    if packed then
        return open(packed)
    end
end

local function first_in(R, prefix)
    return call('ZRANGEBYLEX', R.base .. 'q', '[' .. prefix .. '\0', '(' .. prefix .. '\1', 'LIMIT', 0,
        1)[1]
end

-- Corrects the position of a group that has lost an item.
local function renew_group(R, queue, name)
    local first = first_in(R, 's' .. queue .. '\0' .. name)
    local at, list = place_of_group(R, queue, name)
    local position = first and first:match('^.%Z*%z%Z*%z(%Z*)')
    if position ~= at then
        place_group(R, queue, name, position, list or false)
    end
end

-- Functions of items.lua.
function L.enter_group(item)
    local R, queue, name, at = item.root, item.queue, group_of(item.needs), position_of(item)
    add_to_index(R, entry_in_group(item)) -- may fail (another type): comes first
    local first, list = place_of_group(R, queue, name)
    if not first or is_before(at, first) then
        place_group(R, queue, name, at, list or false)
    end
end

function L.leave_group(item)
    if not remove_from_index(item.root, entry_in_group(item)) then
        return false -- an older version has made it ready
    end
    local name = group_of(item.needs)
    if place_of_group(item.root, item.queue, name) == position_of(item) then
        renew_group(item.root, item.queue, name)
    end
    return true
end

-- ---- what blocks ----

-- A list: path, class, root, and the part that the class is about.
local function list_of(path, class)
    local limit, units = class:match('^l(%d+),(%d+)$')
    local part = L.make_part(path, tonumber(limit or 0), tonumber(units or 0))
    return {path = path, class = class, root = part.root, part = part, name = path .. '\0' .. class}
end

local function class_of_request(is_exclusive)
    return is_exclusive and 'x' or 's'
end

-- The owner of the first foreign request that is held (kinds X, S) or waits (a, b) at exactly the
-- path.
local function foreign_at(R, kind, path, owner)
    local found
    local read_entry = (kind == 'X' or kind == 'S') and read_held or read_waiting
    L.each_at(R, kind, path, function(member)
        local other = read_entry(member)
        found = other ~= owner and other
        return found
    end)
    return found or nil
end

-- Whether what the class names still blocks this probe; by whom. A limit blocks each owner.
local function blocker_in(list, probe)
    local R, path, part = list.root, list.path, list.part
    L.fetch(R, part.chain)
    local node = L.node(R, path)
    if list.class == 'x' then
        return node.held_x > 0 and foreign_at(R, 'X', path, probe.owner)
            or node.wait_x > 0 and foreign_at(R, 'a', path, probe.owner) or nil
    elseif list.class == 's' then
        return node.held_s > 0 and foreign_at(R, 'S', path, probe.owner)
            or node.wait_s > 0 and foreign_at(R, 'b', path, probe.owner) or nil
    end
    return not L.fits(probe, part) and '' or nil
end

-- The path at which the request of this identity has a part at or below the path, of this mode.
local function path_below(R, identity, path, is_exclusive)
    local r = L.request(R, identity)
    for _, part in ipairs(r and r.parts or {}) do
        if contains(path, part.path) and (part.units == 0) == is_exclusive then
            return part.path
        end
    end
end

-- Path and owner of a foreign request of this mode that is held or waits at or below the path.
local function conflict_below(part, owner, held, behind, suffix, is_exclusive)
    local R, node = part.root, L.node(part.root, part.path)
    local at, found
    if node['below' .. suffix] > 0 and L.each_below(R, held, part.path, function(member)
            local other, _, _, path = read_held(member)
            at, found = path, other
            return other ~= owner
        end) then
        return at, found
    end
    if node['behind' .. suffix] > 0 and L.each_at(R, behind, part.path, function(member)
            local other, _, identity = read_waiting(member)
            at = other ~= owner and path_below(R, identity, part.path, is_exclusive)
            found = other
            return at
        end) then
        return at, found
    end
end

-- The same for one that is in the way of the part (R7a, R7b), also above it.
local function conflict_of(part, owner, is_exclusive)
    local held, waiting, behind, suffix = 'X', 'a', 'c', '_x'
    if not is_exclusive then
        held, waiting, behind, suffix = 'S', 'b', 'd', '_s'
    end
    local at, found = conflict_below(part, owner, held, behind, suffix, is_exclusive)
    if at then
        return at, found
    end
    for i = 2, #part.chain do
        local path = part.chain[i]
        local node = L.node(part.root, path)
        local other = node['held' .. suffix] > 0 and foreign_at(part.root, held, path, owner)
            or node['wait' .. suffix] > 0 and foreign_at(part.root, waiting, path, owner)
        if other then
            return path, other
        end
    end
end

-- The list for groups that are blocked by what blocks this probe at the part; and by whom.
local function find_blocker(probe, part, verdict)
    if verdict == 'limit' then
        return list_of(part.path, string.format('l%.0f,%.0f', part.limit, part.units)), ''
    end
    for _, is_exclusive in ipairs(part.units == 0 and {true, false} or {true}) do
        local path, owner = conflict_of(part, probe.owner, is_exclusive)
        if path then
            return list_of(path, class_of_request(is_exclusive)), owner
        end
    end
end

-- ---- lists of blocked groups ----

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

local function lists_under(R, queue, root)
    local lists = {}
    each_list(R, queue, '[k' .. queue .. '\0' .. root.name, function(path, class)
        if not contains(root.name, path) then
            return not is_before(path, root.name .. '0') and ''
                or '(k' .. queue .. '\0' .. path .. '\1'
        end
        lists[#lists + 1] = list_of(path, class)
    end)
    return lists
end

-- The roots of the queue's lists: they are loaded, so that what is overdue there ends.
local function roots_of_lists(R, queue)
    local roots, seen = {}, {}
    each_list(R, queue, '[k' .. queue .. '\0', function(path)
        local name = path:match('^[^/]+')
        if not seen[name] then
            seen[name] = true
            roots[#roots + 1] = L.root(name)
        end
        return path == name and '(k' .. queue .. '\0' .. path .. '\1'
            or '[k' .. queue .. '\0' .. name .. '0'
    end)
    return roots
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

-- Notes that a request of this owner (or a limit) blocks the list.
local function note_blocked(R, queue, list, owner)
    local root, field = list.root, 'b' .. queue .. '\0' .. list.root.name
    local known, generation = item_field(R, field), generation_of(root)
    if not generation then
        generation = begin_generation(root, known)
    end
    if known ~= generation then
        for _, other in ipairs(lists_under(R, queue, root)) do
            add_blocked(root, 'w' .. queue .. '\0' .. other.name)
        end
        set_item_field(R, field, generation)
    end
    add_blocked(root, 'c' .. list.path .. '\0' .. owner .. '\0' .. list.class .. '\0' .. queue)
    if owner ~= '' then
        add_blocked(root, 'j' .. queue .. '\0' .. owner .. '\0' .. list.name)
    end
    remove_blocked(root, 'w' .. queue .. '\0' .. list.name)
    call('PEXPIRE', root.base .. 'b', BLOCKED_KEPT_MS)
end

local function forget_blocker(queue, list, owner)
    remove_blocked(list.root, 'c' .. list.path .. '\0' .. owner .. '\0' .. list.class .. '\0' .. queue)
    remove_blocked(list.root, 'j' .. queue .. '\0' .. owner .. '\0' .. list.name)
end

local function unlist(root, path, owner)
    local entries = range_of_blocked(root, 'c' .. path .. '\0' .. owner)
    for _, entry in ipairs(entries) do
        local class, queue = entry:match('^c%Z*%z%Z*%z(%Z*)%z(.*)$')
        remove_blocked(root, entry)
        if owner ~= '' then
            remove_blocked(root, 'j' .. queue .. '\0' .. owner .. '\0' .. path .. '\0' .. class)
        end
        add_blocked(root, 'w' .. queue .. '\0' .. path .. '\0' .. class)
        L.notify_worker(L.prefix_of(queue:match('^[^/]+')) .. ':lk:', queue)
    end
    return #entries > 0
end

-- A request of this owner ends, or becomes weaker, at exactly this path: wakes the lists that it
-- blocked. The next claim reads which; it alone writes to the queue.
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

-- The lists of the queue under the root that may be free for this owner.
local function lists_to_check(R, queue, root, owner)
    local generation = generation_of(root)
    if not generation or generation ~= item_field(R, 'b' .. queue .. '\0' .. root.name) then
        return lists_under(R, queue, root)
    end
    local lists = {}
    for _, entry in ipairs(range_of_blocked(root, 'w' .. queue)) do
        lists[#lists + 1] = list_of(entry:match('^w%Z*%z(%Z*)%z(.*)$'))
    end
    for _, entry in ipairs(range_of_blocked(root, 'j' .. queue .. '\0' .. owner)) do
        local list = list_of(entry:match('^j%Z*%z%Z*%z(%Z*)%z(.*)$'))
        list.is_own = true
        lists[#lists + 1] = list
    end
    return lists
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
        place_group(R, queue, name, at, false)
    end
    remove_blocked(list.root, 'w' .. queue .. '\0' .. list.name)
    return true
end
