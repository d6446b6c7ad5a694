-- SPDX-License-Identifier: Apache-2.0
-- Claims (R16): a take claims the first ready item, by priority and age, whose parts are free. Groups
-- of items that something blocks are not visited (groups.lua). So a claim costs the same beside few
-- blocked items and beside many. It grows with the roots under which something blocks them: each is
-- loaded, so that what is overdue there ends.

local function parse_take()
    return {owner = word(), ttl = number(), max_attempts = number(), ask_number = word(),
        note = word(), share_token = number()}
end

-- The ticket of a claim, which is its token: a draw, or the token of the first claim that this call
-- has given, if no root of the item's parts has drawn more (R4). And the claim's id, which rises with
-- the time: claims of one ticket are listed in its order.
local shared_token, shared_by

-- Whether a root may have drawn more than this token. One whose keys have expired has drawn nothing
-- for MARGIN, unless the clock was set back, which its next draw tells: it is above the floor.
local function may_have_drawn_more(root, token)
    if root.draw > 0 or not root.is_new then
        return root.draw > token
    end
    return token < now - MARGIN or L.next_draw({root}) > math.max(token, now)
end

local function draw_of_claim(roots)
    if not shared_token then
        local ticket = L.next_draw(roots)
        return ticket, ticket
    end
    for _, root in ipairs(roots) do
        if may_have_drawn_more(root, shared_token) then
            return nil
        end
    end
    shared_by = shared_by + 1
    return shared_token, math.max(shared_token, now) + shared_by
end

local function share_token(token)
    if not shared_token then
        shared_token, shared_by = token, 0
    end
end

local function answer_claimed(item, r, stolen)
    share_token(r.token)
    return {GRANTED, now, item.id, item_field(item.root, 'v' .. item.path) or '', r.token,
        item.attempts, stolen, r.ttl, r.deadline}
end

-- R3: the claim that this ask has already got; extends its deadline.
local function take_again(R, take)
    local id = take.ask_number ~= '0' and item_field(R, number_field(take))
    local item = id and load_item(R, take.queue, id)
    local r = item and item.state == 'claimed' and L.find({R}, '\1' .. item.path)
    if not r then
        return nil
    end
    if not r.revoked then
        r.ttl = take.ttl
        L.set_deadline(r, now + r.ttl * 1000)
    end
    return answer_claimed(item, r, 0)
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
        change_state(load_item(R, queue, id_of_entry(first)), 'ready')
    end
end

local function claim_item(take, item, parts)
    local roots = L.roots_of(parts)
    local ticket, id = draw_of_claim(roots)
    if not ticket then
        return {BUSY, now, 'R4: the next item needs a token of its own', now}
    end
    local r = {identity = '\1' .. item.path, owner = take.owner, ticket = ticket, token = ticket,
        ttl = take.ttl, note = take.note, id = id, channel = '', parts = parts, roots = roots,
        claim = true}
    L.enter(r, true, now + take.ttl * 1000)
    if L.has_other_requests(r) and L.find_cycle(r) then
        L.leave(r)
        return nil
    end
    L.keep_draw(roots, ticket)
    local stolen = item.was_lost
    item.attempts = item.attempts + 1
    item.max_attempts, item.ask_number, item.was_lost = take.max_attempts, take.ask_number, 0
    item.owner = take.owner
    change_state(item, 'claimed')
    if take.ask_number ~= '0' then
        set_item_field(item.root, number_field(take), item.id)
    end
    if stolen == 1 then
        add_count(item.root, take.queue, CLAIMS, STEALS)
    else
        add_count(item.root, take.queue, CLAIMS)
    end
    return answer_claimed(item, r, stolen)
end

-- The answer, or nil and why the item cannot be claimed now:
--     'more'     more is overdue, under roots that its needs have loaded, than one call handles
--     'ended'    something has ended there: other items may have become free
--     'item'     its own path is locked
--     'cycle'    a claim would close a cycle (R13), by what it needs
--     'needs'    what it needs is not free: the list, and the owner whose request blocks it
local function try_item(take, item)
    local parts = {L.make_part(item.path, 0, 0)}
    for _, need in ipairs(item.needs) do
        parts[#parts + 1] = L.make_part(need.path, need.limit, need.units)
    end
    local left = perish_left
    if not L.sweep() then
        return nil, 'more'
    elseif perish_left ~= left then
        return nil, 'ended'
    end
    local probe = {owner = take.owner, ticket = NEWEST, parts = parts, is_item = true}
    local verdict, part = L.check(probe)
    if not verdict then
        local answer = claim_item(take, item, parts)
        return answer, not answer and 'cycle'
    elseif part == parts[1] then
        return nil, 'item'
    end
    local list, owner = find_blocker(probe, part, verdict)
    return nil, list and 'needs' or 'item', list, owner
end

-- Nothing to claim: answers when something may become free, and registers the worker.
local function take_nothing(R, take, text, by_locks)
    local due = NEVER
    for _, loaded in ipairs(L.loaded) do -- the queue's root, and those of needs
        due = math.min(due, loaded.first)
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
--     k    the groups of a list that may be free
--     s    the further items of a group whose first is locked itself
-- It is kept for the takes of an owner in this call: what was passed over stays so.
local walks = {}

local function begin_cursor(walk, kind, prefix)
    local cursor = {kind = kind, from = '[' .. prefix .. '\0', to = '(' .. prefix .. '\1'}
    walk.cursors[#walk.cursors + 1] = cursor
    return cursor
end

local PATTERNS = {r = '^.%Z*%z(%Z*)%z(.*)$', h = '^.%Z*%z(%Z*)%z(.*)$',
    k = '^.%Z*%z%Z*%z%Z*%z(%Z*)%z(.*)$', s = '^.%Z*%z%Z*%z(%Z*)%z(.*)$'}

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

local function first_cursor(R, walk)
    local best
    for _, cursor in ipairs(walk.cursors) do
        if read_cursor(R, cursor) and (not best or is_before(cursor.at, best.at)) then
            best = cursor
        end
    end
    return best
end

local function reread(cursor)
    cursor.entry, cursor.is_done = nil, false
end

local function pass_over(walk, cursor)
    cursor.from, cursor.entry = '(' .. cursor.entry, nil
    walk.has_passed = true
end

-- Whether what the list is about still blocks it; notes by whom.
local function is_still_blocked(R, take, list)
    local owner = blocker_in(list, {owner = take.owner, ticket = NEWEST, is_item = true})
    if owner then
        note_blocked(R, take.queue, list, owner)
        if list.is_own then
            forget_blocker(take.queue, list, take.owner)
        end
    end
    return owner ~= nil
end

-- A walk begins with the lists that were blocked and may be free. nil: more is overdue, or more lists
-- are to be checked, than one call handles.
local LISTS_MAX = 500

local function begin_walk(R, take)
    local walk = {cursors = {}, moves = 0}
    local roots = roots_of_lists(R, take.queue)
    if not L.sweep() then
        return nil
    end
    begin_cursor(walk, 'r', 'r' .. take.queue)
    walk.open_groups = begin_cursor(walk, 'h', 'h' .. take.queue)
    for _, root in ipairs(roots) do
        for _, list in ipairs(lists_to_check(R, take.queue, root, take.owner)) do
            if is_still_blocked(R, take, list)
                or not list.is_own and open_short_list(R, take.queue, list) then
                walk.moves = walk.moves + 1
            else
                begin_cursor(walk, 'k', prefix_of_list(take.queue, list))
            end
            if walk.moves >= LISTS_MAX then
                return nil
            end
        end
    end
    walks[take.owner] = walk
    return walk
end

-- The item of an entry; nil: there is none any more, and the entry is removed.
local function item_at(R, take, entry, id)
    local item = load_item(R, take.queue, id)
    if item and item.state == 'ready' then
        return item
    end
    remove_from_index(R, entry)
end

-- Items without needs. One with needs was made ready by an older version: joins its group.
local function visit_item(R, take, walk, cursor)
    local item = item_at(R, take, cursor.entry, cursor.name)
    if not item then
        reread(cursor)
        return
    elseif #item.needs > 0 then
        remove_from_index(R, cursor.entry)
        L.enter_group(item)
        walk.moves = walk.moves + 1
        reread(cursor)
        reread(walk.open_groups)
        return
    end
    local answer, why = try_item(take, item)
    if answer then
        reread(cursor)
    elseif why ~= 'more' and why ~= 'ended' then
        pass_over(walk, cursor)
    end
    return answer, why
end

-- The first item of the cursor's group.
local function visit_group(R, take, walk, cursor)
    local name, entry, id = cursor.name, cursor.entry, cursor.name
    if cursor.kind == 's' then
        name = cursor.group
    else
        entry = first_in(R, 's' .. take.queue .. '\0' .. name)
        id = entry and entry:match(PATTERNS.s) and select(2, entry:match(PATTERNS.s))
    end
    local item = entry and item_at(R, take, entry, id)
    if not item then
        renew_group(R, take.queue, name)
        if cursor.kind ~= 's' and not entry then
            remove_from_index(R, cursor.entry)
        end
        reread(cursor)
        return
    end
    local answer, why, list, owner = try_item(take, item)
    if answer then
        reread(cursor)
    elseif why == 'needs' then
        place_group(R, take.queue, name, (place_of_group(R, take.queue, name)), list.name)
        note_blocked(R, take.queue, list, owner)
        walk.moves = walk.moves + 1
        reread(cursor)
        cursor.is_done = cursor.kind == 's'
    elseif why == 'cycle' then
        pass_over(walk, cursor)
        cursor.is_done = cursor.kind == 's'
    elseif why == 'item' then
        pass_over(walk, cursor)
        if cursor.kind ~= 's' then
            local further = begin_cursor(walk, 's', 's' .. take.queue .. '\0' .. name)
            further.from, further.group = '(' .. entry, name
        end
    end
    return answer, why
end

-- The answer to the first ready item that can be claimed. nil: there is none. Or nil and true: the
-- caller has to call again. What the walk has moved makes it shorter then.
local function take_first(R, take)
    local walk = walks[take.owner] or begin_walk(R, take)
    while walk do
        local cursor = first_cursor(R, walk)
        if not cursor then
            return nil
        end
        local visit = cursor.kind == 'r' and visit_item or visit_group
        local answer, why = visit(R, take, walk, cursor)
        if answer then
            return answer
        elseif why == 'more' or walk.moves >= LISTS_MAX then
            return nil, true
        elseif why == 'ended' then
            walk = begin_walk(R, take)
        end
    end
    return nil, true
end

-- After a claim: another worker, if one waits, is told of what else may be free.
local function notify_next(R, take)
    if call('EXISTS', R.base .. 's:' .. take.queue) == 1 and first_cursor(R, walks[take.owner]) then
        L.notify_worker(R.base, take.queue)
    end
end

L.operations.take = series(parse_take, function(R, queue, take)
    take.queue = queue
    if not has_queue(R, queue) then
        return take_nothing(R, take, 'R16: there is no item in this queue', false)
    end
    local again = take_again(R, take)
    if again then
        return again
    end
    ready_due_items(R, queue)
    -- What blocks one new item blocks all of them.
    local any = L.make_part(queue .. '/\127', 0, 0)
    if L.check({owner = take.owner, ticket = NEWEST, parts = {any}, is_item = true}) then
        return take_nothing(R, take,
            'R16: a lock on the queue, held or waiting, pauses all claiming', true)
    end
    if take.share_token > 0 then
        share_token(take.share_token)
    end
    local answer, is_unfinished = take_first(R, take)
    if answer then
        notify_next(R, take)
    elseif not is_unfinished then
        return take_nothing(R, take, 'R16: there is nothing to claim now',
            walks[take.owner].has_passed)
    end
    return answer
end)
end
