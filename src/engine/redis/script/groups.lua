-- SPDX-License-Identifier: Apache-2.0
-- Ready items that need something (R16), in groups of the same needs: what blocks one item of a group
-- by its needs blocks all of them, so a claim checks the first item alone. An item that is locked
-- itself is a group of its own. Members of {root}:lk:q:
--     s queue 0 group 0 rank sequence 0 id           the items of a group, in the order of claims
--     h queue 0 rank sequence 0 group                groups that may be free, by their first item
--     k queue 0 path 0 class 0 rank sequence 0 group    groups that something at the path blocks
--     f queue 0 owner 0 rank sequence 0 path 0 class    a list that may be free, by its first group:
--                           for its owner, whose own request blocks it; without an owner, for all
--     d queue 0 due 0 root                           a root of lists, by when to look at it again
-- A group is in one of h and k. A blocked one costs nothing until what blocks it has ended. The
-- class of a list is what blocks all of its groups: `x`, an exclusive request at exactly that path;
-- `s`, a shared one (all of them need something exclusively); `l limit,units`, a limit there (R7c);
-- `t`, another item is the head of a strict need there (heads.lua): such paths follow \1.
-- Fields of {root}:lk:i:
--     g queue 0 group         rank and sequence of its first item, and the list that it is in, or
--                             false
--     l queue 0 path 0 class  the owner of the list's entry f and its rank and sequence; or false
--     b queue 0 root          the generation of that root's b in which the lists are noted, when to
--                             look at the root again, and from which list on all are to be checked
--
-- {root}:lk:b, a sorted set under the root of the path, tells a request that ends what it frees:
--     c path 0 owner 0 class 0 queue    a list, blocked by a request of this owner, or by a limit
--     w queue 0 path 0 class            a list that was blocked, and may be free
--     ~ generation
-- It counts while the root has the mark BLOCKING in place of a time until which workers sleep. A lost
-- record of the root has none, and a new generation begins with the next list: in both cases every
-- list may be free.
--
-- A claim looks at the roots of which d says so, not at all. An end that frees a list sets the time
-- to 0. A deadline has passed by the time that was noted: one that is moved ahead counts as an end.
-- What is lost without a word is found by looking at some other roots, too.
do -- until the end of take.lua: a function has 200 local names at most
local SMALL = 8 -- groups that are moved one by one when their list becomes free
local BLOCKED_KEPT_MS = 3600000
local LOOK_MAX = 300000000 -- after which time a root is looked at again
local LOOK_SPREAD = 600000 -- between roots that one call looks at
local OTHERS = 4 -- roots that a claim looks at without being told to

-- A call moves so many groups, lists and roots, and leaves the rest to the next one.
local MOVES_MAX, moves = 250, 0

-- The class of a list of groups behind a head, and what stands before its path.
local HEAD, HEAD_MARK = 't', '\1'

local function first_in(R, prefix)
    return call('ZRANGEBYLEX', R.base .. 'q', '[' .. prefix .. '\0', '(' .. prefix .. '\1', 'LIMIT', 0,
        1)[1]
end

-- ---- the state of a list ----

local function entry_of_list(queue, name, owner, at)
    return 'f' .. queue .. '\0' .. owner .. '\0' .. at .. '\0' .. name
end

local function state_of_list(R, queue, name)
    local packed = item_field(R, 'l' .. queue .. '\0' .. name)
    if packed then
        return open(packed)
    end
end

-- `owner` is of whom requests do not block it: '' of all; false: every owner is blocked, by a limit;
-- nil: there is no such list any more.
local function set_list(R, queue, name, owner, at)
    local former, former_at = state_of_list(R, queue, name)
    if former == owner and (not owner or former_at == at) then
        return
    end
    if former then
        remove_from_index(R, entry_of_list(queue, name, former, former_at))
    end
    if owner then
        add_to_index(R, entry_of_list(queue, name, owner, at))
    end
    set_item_field(R, 'l' .. queue .. '\0' .. name, owner ~= nil and pack(owner, owner and at))
end

local function position_in_list(R, queue, name)
    local first = first_in(R, 'k' .. queue .. '\0' .. name)
    return first and first:match('^k%Z*%z%Z*%z%Z*%z(%Z*)%z')
end

-- ---- the roots of lists ----

local function entry_of_root(queue, due, name)
    return 'd' .. queue .. '\0' .. digits(due) .. '\0' .. name
end

-- Its generation (false: none), when to look at it, from which list on; nil: it has no list.
local function state_of_root(R, queue, name)
    local packed = item_field(R, 'b' .. queue .. '\0' .. name)
    if packed then
        return open(packed)
    end
end

local function set_root(R, queue, name, generation, due, from)
    local known, former = state_of_root(R, queue, name)
    if former ~= due then
        if known ~= nil then
            remove_from_index(R, entry_of_root(queue, former, name))
        end
        if due then
            add_to_index(R, entry_of_root(queue, due, name))
        end
    end
    set_item_field(R, 'b' .. queue .. '\0' .. name, due and pack(generation, due, from) or false)
end

-- The next claim looks at this root. It may be another call's queue, which the user may have no
-- right to write: then a claim finds out by itself.
local function tell(base, queue, name)
    local key, entry = base .. 'q', entry_of_root(queue, 0, name)
    if redis.pcall('EXISTS', key) == 1 and redis.pcall('ZADD', key, 0, entry) == 1 then
        L.undo[#L.undo + 1] = {'ZREM', key, entry}
    end
end

local function is_without_lists(R, queue, name)
    local prefix = 'k' .. queue .. '\0' .. name
    for mark, next_mark in pairs({['\0'] = '\1', ['/'] = '0'}) do
        if #call('ZRANGEBYLEX', R.base .. 'q', '[' .. prefix .. mark, '(' .. prefix .. next_mark,
            'LIMIT', 0, 1) > 0 then
            return false
        end
    end
    return true
end

-- Nothing is kept of a list without groups, nor of a root without lists.
local function forget_list(R, queue, name)
    if first_in(R, 'k' .. queue .. '\0' .. name) then
        return
    end
    set_list(R, queue, name, nil)
    local root = name:match('^[^/%z]+')
    if state_of_root(R, queue, root) ~= nil and is_without_lists(R, queue, root) then
        set_root(R, queue, root, nil, nil)
        remove_from_index(R, entry_of_root(queue, 0, root))
    end
end

do -- its names are its own
-- ---- groups ----

local STRICT_MARK = '\2' -- the names of groups with strict needs begin so

local function group_of(needs)
    local words, mark = {}, ''
    for i, need in ipairs(needs) do
        words[i] = need.path .. '\2' .. need.limit .. '\2' .. need.units
        mark = need.units == STRICT and STRICT_MARK or mark
    end
    local name = table.concat(words, '\3')
    return mark .. (#name <= 60 and name or redis.sha1hex(name))
end

local function position_of(item)
    return rank_of(item.priority) .. digits(item.sequence)
end

local function group_of_one(item)
    return '\1' .. item.id
end

local function entry_in_group(item, name)
    return 's' .. item.queue .. '\0' .. name .. '\0' .. position_of(item) .. '\0' .. item.id
end

local function entry_of_group(queue, name, at, list)
    if list then
        return 'k' .. queue .. '\0' .. list .. '\0' .. at .. '\0' .. name
    end
    return 'h' .. queue .. '\0' .. at .. '\0' .. name
end

-- ---- the place of a group ----

-- An earlier group has come to the list.
local function advance_list(R, queue, name, at)
    local owner, former = state_of_list(R, queue, name)
    if owner and is_before(at, former) then
        set_list(R, queue, name, owner, at)
    end
end

-- Moves the group; `at` nil removes it, when it has no item any more.
function L.place_group(R, queue, name, at, list)
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
        if list then
            advance_list(R, queue, list, at)
        end
    end
    set_item_field(R, field, at and pack(at, list))
    if former and (not at or former ~= list) then
        forget_list(R, queue, former)
    end
end

-- Where it is: the position of its first item, and its list or false; nil: there is no such group.
function L.place_of_group(R, queue, name)
    local packed = item_field(R, 'g' .. queue .. '\0' .. name)
    if packed then
        return open(packed)
    end
end

local function read_in_group(entry)
    return entry:match('^.%Z*%z%Z*%z(%Z*)%z(.*)$')
end

-- The entry of the group's item that is the head, if it is ready, and not in a group of its own.
local function entry_of_head(R, queue, name, first)
    local _, id = read_in_group(first)
    local item = load_item(R, queue, id)
    local head = item and L.head_of(item)
    local own = head and load_item(R, queue, head)
    local entry = own and own.state == 'ready' and entry_in_group(own, name)
    return entry and call('ZSCORE', R.base .. 'q', entry) and entry
end

-- The first item of the group that may be claimed: its entry, position and id. If an item of the group
-- is the head, it is that one, wherever it stands.
function L.first_of_group(R, queue, name)
    local entry = first_in(R, 's' .. queue .. '\0' .. name)
    if entry and name:sub(1, 1) == STRICT_MARK then
        entry = entry_of_head(R, queue, name, entry) or entry
    end
    if entry then
        return entry, read_in_group(entry)
    end
end

-- Corrects the position of a group whose first item is another one now.
function L.renew_group(R, queue, name)
    local _, position = L.first_of_group(R, queue, name)
    local at, list = L.place_of_group(R, queue, name)
    if position ~= at then
        L.place_group(R, queue, name, position, list or false)
    end
end

local function enter_as(item, name)
    local R, queue, at = item.root, item.queue, position_of(item)
    add_to_index(R, entry_in_group(item, name)) -- may fail (another type): comes first
    local first, list = L.place_of_group(R, queue, name)
    if list and list:sub(1, 1) == HEAD_MARK and L.head_of(item) == item.id then
        L.place_group(R, queue, name, at, false) -- the others waited for this one
    elseif not first or is_before(at, first) then
        L.place_group(R, queue, name, at, list or false)
    end
end

-- Functions of items.lua.
function L.enter_group(item)
    enter_as(item, group_of(item.needs))
end

-- An item that needs nothing may be in no group.
function L.leave_group(item)
    for _, name in ipairs({group_of(item.needs), group_of_one(item)}) do
        if remove_from_index(item.root, entry_in_group(item, name)) then
            if L.place_of_group(item.root, item.queue, name) == position_of(item) then
                L.renew_group(item.root, item.queue, name)
            end
            return
        end
    end
end

-- Makes a group of this ready item alone. Returns its name.
function L.isolate(item)
    local name = group_of_one(item)
    if not L.place_of_group(item.root, item.queue, name) then
        remove_entry_of(item)
        enter_as(item, name)
    end
    return name
end
end

-- What blocks a group of items: the list that it belongs to.

-- A list: path, class, root, and the part that the class is about.
local function list_of(path, class)
    if class == HEAD then
        return {path = path, class = class, name = path .. '\0' .. class}
    end
    local limit, units = class:match('^l(%d+),(%d+)$')
    local part = L.make_part(path, tonumber(limit or 0), tonumber(units or 0))
    return {path = path, class = class, root = part.root, part = part, name = path .. '\0' .. class}
end

do -- its names are its own
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
function L.blocker_in(list, probe)
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
function L.find_blocker(probe, part, verdict)
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
end
