-- SPDX-License-Identifier: Apache-2.0
-- Claims (R16): a take claims the first ready item, by priority and age, whose parts are free. Items
-- that something blocks are not visited, nor the roots under which that lives (groups.lua). So a claim
-- costs the same beside few blocked items and beside many.

local function parse_take()
    return {owner = word(), ttl = number(), max_attempts = number(), ask_number = word(),
        note = word(), share_token = number()}
end

-- Makes delayed items ready whose time has come.
local function ready_due_items(R, queue)
    local Q = R.base .. 'q'
    while true do
        local first = call('ZRANGEBYLEX', Q, '[y' .. queue .. '\0', '(y' .. queue .. '\0'
            .. digits(now + 1), 'LIMIT', 0, 1)[1]
        if not first then
            return
        end
        local item = load_item(R, queue, id_of_entry(first))
        change_state(item, 'ready', item.due)
    end
end

-- Nothing to claim: answers when something may become free, and registers the worker.
local function take_nothing(R, take, text, by_locks)
    local due = math.min(R.first, L.next_look(R, take.queue))
    for _, loaded in ipairs(L.loaded) do -- those of needs; what blocks lists has been looked at
        if state_of_root(R, take.queue, loaded.name) == nil then
            due = math.min(due, loaded.first)
        end
    end
    local delayed = call('ZRANGEBYLEX', R.base .. 'q', '[y' .. take.queue .. '\0', '(y'
        .. take.queue .. '\1', 'LIMIT', 0, 1)[1]
    if delayed then
        due = math.min(due, tonumber(delayed:match('^y%Z*%z(%Z*)%z')))
    end
    sleep_on_queue(R, take.queue, false)
    if by_locks then
        sleep_on_queue(R, take.queue, true)
    end
    return {BUSY, now, text, due}
end

-- ---- the walk over ready items ----

-- A walk has cursors, each over entries in the order of claims, and visits the first of all:
--     r    items without needs
--     h    groups that may be free
--     f    lists that may be free, for all or for this owner, by their first groups
--     k    the groups of a list that was visited
-- It is kept for the takes of an owner in this call: what was passed over stays so.
local walk

local function begin_cursor(kind, prefix)
    local cursor = {kind = kind, from = '[' .. prefix .. '\0', to = '(' .. prefix .. '\1'}
    walk.cursors[#walk.cursors + 1] = cursor
    return cursor
end

local first_cursor -- of the walk
do -- its names are its own
local PATTERNS = {r = '^.%Z*%z(%Z*)%z(.*)$', h = '^.%Z*%z(%Z*)%z(.*)$',
    f = '^.%Z*%z%Z*%z(%Z*)%z(.*)$', k = '^.%Z*%z%Z*%z%Z*%z(%Z*)%z(.*)$'}

-- Reads the entry at the cursor: its position in the order of claims, and its id or group.
local function read_cursor(R, cursor)
    if not cursor.entry and not cursor.is_done then
        cursor.entry = call('ZRANGEBYLEX', R.base .. 'q', cursor.from, cursor.to, 'LIMIT', 0, 1)[1]
        if cursor.entry then
            cursor.at, cursor.name = cursor.entry:match(PATTERNS[cursor.kind])
        else
            cursor.is_done = true
        end
    end
    return not cursor.is_done
end

function first_cursor(R)
    local best
    for _, cursor in ipairs(walk.cursors) do
        if read_cursor(R, cursor) and (not best or is_before(cursor.at, best.at)) then
            best = cursor
        end
    end
    return best
end
end

local function reread(cursor)
    cursor.entry, cursor.is_done = nil, false
end

local function step_over(cursor)
    cursor.from, cursor.entry = '(' .. cursor.entry, nil
end

-- nil: more is overdue, or to be looked at, than one call handles.
local function begin_walk(R, take)
    if not L.look_at_lists(R, take.queue, take.owner) then
        walk = nil
        return nil
    end
    walk = {owner = take.owner, cursors = {}}
    begin_cursor('r', 'r' .. take.queue)
    walk.open_groups = begin_cursor('h', 'h' .. take.queue)
    begin_cursor('f', 'f' .. take.queue .. '\0').of = ''
    begin_cursor('f', 'f' .. take.queue .. '\0' .. take.owner).of = take.owner
    return walk
end

local VISITS -- by kind of cursor: the answer; or nil, and perhaps why
do -- its names are its own
-- The item of an entry; nil: there is none any more, and the entry is removed.
local function item_at(R, take, entry, id)
    local item = load_item(R, take.queue, id)
    if item and item.state == 'ready' then
        return item
    end
    remove_from_index(R, entry)
end

-- A group that something blocks is in the list of what that is, and not visited until it ends.
local function shelve(R, take, name, at, list, owner)
    L.place_group(R, take.queue, name, at, list.name)
    note_blocked(R, take.queue, list, owner)
    moves = moves + 1
end

-- Visits an item. One that is locked itself becomes a group of its own.
local function visit_first(R, take, cursor, item, name)
    local answer, why, list, owner = L.try_item(take, item)
    if answer then
        reread(cursor)
    elseif why == 'cycle' or not list and (why == 'item' or why == 'needs') then
        step_over(cursor)
        walk.has_passed = true
    elseif list then
        name = why == 'item' and L.isolate(item) or name
        shelve(R, take, name, (L.place_of_group(R, take.queue, name)), list, owner)
        reread(cursor)
        cursor.is_done = cursor.list == list.name -- the rest of it is blocked, too
    end
    return answer, why
end

-- An item without needs.
local function visit_item(R, take, cursor)
    local item = item_at(R, take, cursor.entry, cursor.name)
    if item then
        return visit_first(R, take, cursor, item)
    end
    reread(cursor)
end

-- The first item of the cursor's group.
local function visit_group(R, take, cursor)
    local name = cursor.name
    local entry, at, id = L.first_of_group(R, take.queue, name)
    local item = entry and item_at(R, take, entry, id)
    if item and at == cursor.at then
        return visit_first(R, take, cursor, item, name)
    end
    L.renew_group(R, take.queue, name)
    if not entry or item and L.place_of_group(R, take.queue, name) ~= cursor.at then
        remove_from_index(R, cursor.entry)
    end
    moves = moves + 1
    reread(cursor)
end

-- A list that may be free: its groups are visited if it is. A short one is dissolved.
local function visit_list(R, take, cursor)
    local queue, list = take.queue, list_of(cursor.name:match('^(%Z*)%z(.*)$'))
    local changed = L.sweep_loaded()
    if changed then
        return nil, changed
    end
    local at = position_in_list(R, queue, list.name)
    local owner, known_at = state_of_list(R, queue, list.name)
    if owner ~= cursor.of or known_at ~= cursor.at then -- the record was lost
        remove_from_index(R, cursor.entry)
        reread(cursor)
    elseif at ~= cursor.at then
        set_list(R, queue, list.name, at and cursor.of, at)
        reread(cursor)
    elseif is_still_blocked(R, queue, take.owner, list) then
        moves = moves + 1
        reread(cursor)
    elseif cursor.of == '' and open_short_list(R, queue, list) then
        moves = moves + 1
        reread(cursor)
        reread(walk.open_groups)
    else
        step_over(cursor)
        begin_cursor('k', prefix_of_list(queue, list)).list = list.name
    end
end

VISITS = {r = visit_item, h = visit_group, f = visit_list, k = visit_group}
end

-- The answer to the first ready item that can be claimed. nil: there is none. Or nil and true: the
-- caller has to call again. What this call has moved makes the next one shorter.
local function take_first(R, take)
    if not walk or walk.owner ~= take.owner then
        begin_walk(R, take)
    end
    while walk do
        local cursor = first_cursor(R)
        if not cursor then
            return nil
        end
        local answer, why = VISITS[cursor.kind](R, take, cursor)
        if answer then
            return answer
        elseif why == 'more' or moves >= MOVES_MAX then
            return nil, true
        elseif why == 'ended' then
            begin_walk(R, take)
        end
    end
    return nil, true
end

-- After a claim: another worker, if one waits, is told of what else may be free.
local function notify_next(R, take)
    if call('EXISTS', R.base .. 's:' .. take.queue) == 1 and first_cursor(R) then
        L.notify_worker(R.base, take.queue)
    end
end

L.operations.take = series(parse_take, function(R, queue, take)
    take.queue = queue
    if not has_queue(R, queue) then
        return take_nothing(R, take, '@LK_TEXT_QUEUE_EMPTY@', false)
    end
    local again = L.take_again(R, take)
    if again then
        return again
    end
    ready_due_items(R, queue)
    -- What blocks one new item blocks all of them.
    local any = L.make_part(queue .. '/\127', 0, 0)
    if L.check({owner = take.owner, ticket = NEWEST, parts = {any}, is_item = true}) then
        return take_nothing(R, take,
            '@LK_TEXT_QUEUE_PAUSED@', true)
    end
    if take.share_token > 0 then
        L.share_token(take.share_token)
    end
    local answer, is_unfinished = take_first(R, take)
    if answer then
        leave_sleepers(R, queue)
        notify_next(R, take)
    elseif not is_unfinished then
        return take_nothing(R, take, '@LK_TEXT_NOTHING_DUE@',
            walk.has_passed)
    end
    return answer
end)
end
