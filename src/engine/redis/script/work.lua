-- SPDX-License-Identifier: Apache-2.0
-- Work (R16): items are pushed into queues, claimed by a lease, and done, given back, dropped, or
-- lost with their claim; src/model/work.c. A call carries one or several commands of one kind for one
-- queue, which are carried out in their order, at the same time.

local TAKE_CHECKS_MAX = 10000 -- items that one take checks

-- The words of the commands, each with its size before it.
local words_at = 1

local function word()
    local next_word
    next_word, words_at = read('<I4c0', ARGV[7], words_at)
    return next_word
end

local function number()
    return tonumber(word())
end

-- An operation: `parse` makes a command of the next words, and loads what it is about; `step`
-- carries it out. A step without an answer has found more overdue than one call handles. It ends the
-- series, as one that answers BUSY does.
local function series(parse, step)
    return function()
        local queue = ARGV[6]
        local R = L.root_of(queue)
        local commands, answer = {}, {}
        while words_at <= #ARGV[7] do
            commands[#commands + 1] = parse(R, queue)
        end
        if not L.sweep() then
            return nil
        end
        for i, command in ipairs(commands) do
            answer[i] = step(R, queue, command)
            if not answer[i] or answer[i][1] == BUSY then
                break
            end
        end
        return answer[1] and {answer[1][1], now, unpack(answer)}
    end
end

-- ---- workers that sleep until there is work ----

-- Notifies one worker that waits for this queue of a new item.
local function notify_worker(R, queue)
    local key = R.base .. 's:' .. queue
    for _ = 1, 8 do
        local sleeper = redis.pcall('ZPOPMIN', key)[1] -- workers also query from time to time
        if not sleeper or L.publish(sleeper, 'q' .. queue) > 0 then
            return
        end
    end
end

-- Notifies workers that found items and could not lock them: the request may have blocked them.
function L.notify_workers(r)
    for _, R in ipairs(r.roots) do
        if R.sleepers > now then
            for _, sleeper in ipairs(call('ZRANGE', R.base .. 's', 0, -1)) do
                local where, queue = sleeper:match('^(%Z*)%z(.*)$')
                L.messages[#L.messages + 1] = {where, 'q' .. queue}
            end
            call('DEL', R.base .. 's')
            R.sleepers = 0
            R.dirty = true
        end
    end
end

local function sleep_on_queue(R, queue, by_locks)
    local key = R.base .. 's' .. (by_locks and '' or ':' .. queue)
    call('ZADD', key, now, by_locks and channel .. '\0' .. queue or channel)
    call('PEXPIRE', key, 30000)
    if by_locks then
        R.sleepers = now + 30000000
        R.dirty = true
    end
end

-- ---- push ----

local function parse_push()
    local push = {id = word(), value = word(), delay = number(), priority = number(), needs = {}}
    for i = 1, number() do
        push.needs[i] = {path = word(), limit = number(), units = number()}
    end
    return push
end

L.operations.push = series(parse_push, function(R, queue, push)
    if load_item(R, queue, push.id) then
        add_count(R, queue, DUPLICATES)
        return {OK, now, '', 0}
    end
    local is_delayed = push.delay > 0
    local item = {root = R, queue = queue, id = push.id, path = queue .. '/' .. push.id,
        sequence = L.draw({R}), state = is_delayed and 'delayed' or 'ready',
        due = is_delayed and now + push.delay * 1000 or 0, attempts = 0, was_lost = 0,
        max_attempts = 0, ask_number = '0', owner = '', needs = push.needs,
        priority = push.priority}
    add_item(item)
    if push.value ~= '' then
        set_item_field(R, 'v' .. item.path, push.value)
    end
    add_count(R, queue, PUSHED)
    notify_worker(R, queue)
    return {OK, now, '', 1}
end)

-- ---- take ----

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

-- The answer, or nil if the item cannot be claimed now; and whether more is overdue, under roots
-- that its needs have loaded, than one call handles.
local function try_item(R, take, id)
    local item = load_item(R, take.queue, id)
    local parts = {L.make_part(item.path, 0, 0)}
    for _, need in ipairs(item.needs) do
        parts[#parts + 1] = L.make_part(need.path, need.limit, need.units)
    end
    if not L.sweep() then
        return nil, true
    end
    if L.check({owner = take.owner, ticket = NEWEST, parts = parts, is_item = true}) then
        return nil
    end
    return claim_item(take, item, parts)
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

-- How far the takes of each owner in this call have come: what was passed over stays so.
local take_from = {}

-- The answer to the first ready item that can be claimed. Or nil, and whether any was checked; or
-- nil and nil: more is overdue than one call handles.
local function take_first(R, take)
    local Q, checked = R.base .. 'q', 0
    local from = take_from[take.owner] or '[r' .. take.queue .. '\0'
    while checked < TAKE_CHECKS_MAX do
        local found = call('ZRANGEBYLEX', Q, from, '(r' .. take.queue .. '\1', 'LIMIT', 0,
            checked == 0 and 1 or 50)
        for _, entry in ipairs(found) do
            checked = checked + 1
            local answer, is_more_due = try_item(R, take, id_of_entry(entry))
            if is_more_due then
                return nil, nil
            end
            from = '(' .. entry
            take_from[take.owner] = from
            if answer then
                return answer
            end
        end
        if #found == 0 then
            break
        end
    end
    return nil, checked > 0
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
    local answer, has_checked = take_first(R, take)
    if not answer and has_checked ~= nil then
        return take_nothing(R, take, 'R16: there is nothing to claim now', has_checked)
    end
    return answer
end)

-- ---- the end of a claim ----

-- Makes an item ready again, at once or after a delay; or parks it, after too many attempts.
local function give_back(item, due)
    local is_parked = item.max_attempts ~= 0 and item.attempts >= item.max_attempts
    local is_delayed = not is_parked and due > now
    change_state(item, is_parked and 'parked' or is_delayed and 'delayed' or 'ready',
        is_delayed and due or 0)
    if item.ask_number ~= '0' then
        set_item_field(item.root, number_field(item), false)
    end
    if not is_parked and not is_delayed then
        notify_worker(item.root, item.queue)
    end
    return is_parked
end

function L.lose_claim(r)
    local first = (r.whole or r.parts)[1]
    local queue, id = first.path:match('^(.*)/([^/]*)$')
    local item = load_item(first.root, queue, id)
    if item then
        item.was_lost = 1
        if give_back(item, 0) then
            add_count(item.root, queue, PARKED)
        end
    end
end

local function find_claim_of(item)
    return item and item.state == 'claimed' and L.request(item.root, '\1' .. item.path) or nil
end

local function parse_finish(R, queue)
    local finish = {id = word(), owner = word(), token = number(), is_done = word() == 'done',
        delay = number(), has_exit = word() == '1', exit = number(), text = word()}
    find_claim_of(load_item(R, queue, finish.id)) -- loads the roots of its needs
    return finish
end

local function end_claim(item, finish)
    if finish.is_done then
        remove_item(item)
        add_count(item.root, item.queue, DONE)
        return
    end
    if finish.has_exit or finish.text ~= '' then
        set_item_field(item.root, 'e' .. item.path,
            pack(finish.has_exit and finish.exit, finish.text))
    end
    item.was_lost = 0
    if give_back(item, now + finish.delay * 1000) then
        add_count(item.root, item.queue, RETRIED, PARKED)
    else
        add_count(item.root, item.queue, RETRIED)
    end
end

L.operations.finish = series(parse_finish, function(R, queue, finish)
    local item = load_item(R, queue, finish.id)
    local r = find_claim_of(item)
    local identity = finish.owner .. '\0' .. queue .. '/' .. finish.id
    if not r or r.owner ~= finish.owner or finish.token ~= 0 and r.token ~= finish.token then
        if recalls_ended(R, finish.token, identity) then
            return {OK, now, ''}
        end
        return {LOST, now, 'R16: the item is not claimed by this owner (any more)'}
    end
    if finish.token ~= 0 then
        remember_ended(R, finish.token, identity)
    end
    L.leave(r)
    end_claim(item, finish)
    L.notify_workers(r)
    L.grant_waiters(r.parts, nil, now)
    return {OK, now, ''}
end)

-- ---- without a claim ----

L.operations.unpark = series(function()
    return {id = word()}
end, function(R, queue, unpark)
    local item = load_item(R, queue, unpark.id)
    if not item or item.state ~= 'parked' then
        return {LOST, now, 'R16: there is no such parked item'}
    end
    item.attempts, item.was_lost = 0, 0
    change_state(item, 'ready')
    notify_worker(R, queue)
    return {OK, now, ''}
end)

L.operations.drop = series(function()
    return {id = word(), only_parked = word() == '1'}
end, function(R, queue, drop)
    local item = load_item(R, queue, drop.id)
    if not item or item.state == 'claimed' or drop.only_parked and item.state ~= 'parked' then
        return {LOST, now, drop.only_parked and 'R16: there is no such parked item'
            or 'R16: there is no such item, or it is claimed'}
    end
    remove_item(item)
    return {OK, now, ''}
end)
