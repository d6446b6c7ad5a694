-- SPDX-License-Identifier: Apache-2.0
-- Work (R16): items are pushed into queues, claimed by a lease, and done, given back, dropped, or
-- lost with their claim; src/model/work.c. take.lua has the claims. A call carries one or several
-- commands of one kind for one queue, which are carried out in their order, at the same time.

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

-- Removes items that are done, and whose time is over.
local forget_over
do -- its names are its own
local FORGOTTEN_MAX = 64

-- Entries of up to so many more than the call has commands: a call keeps no more items than that.
local function entries_over(R, commands)
    return call('ZRANGEBYLEX', R.base .. 'q', '[u', '(u' .. digits(now + 1), 'LIMIT', 0,
        FORGOTTEN_MAX + commands)
end

-- Does nothing if there are fewer than `least`. Returns whether nothing is left for a second time.
function forget_over(R, commands, least)
    local entries = entries_over(R, commands)
    for _, entry in ipairs(#entries >= least and entries or {}) do
        local at, queue, id = entry:match('^u(%Z*)%z(.*)/(.*)$')
        local item = load_kept_item(R, queue, id)
        if item and time_entry_of(item) == entry then
            remove_item(item)
        else -- the record was lost
            remove_from_index(R, entry)
            remove_from_index(R, 'x' .. queue .. '\0' .. at .. '\0' .. id)
        end
    end
    return #entries == 0 or #entries >= least
end
end

-- An operation: `parse` makes a command of the next words, and loads what it is about; `begin`, if
-- any, is the first that may write; `step` carries a command out. A step without an answer has found
-- more overdue than one call handles. It ends the series, as one that answers BUSY does.
--
-- After a first write that frees memory, a script may write even where memory is full. So as many items
-- as the call has commands are removed before them, and fewer behind them.
local function series(parse, step, begin)
    return function()
        local queue = ARGV[6]
        local R = L.root_of(queue)
        local commands, answer = {}, {}
        while words_at <= #ARGV[7] do
            commands[#commands + 1] = parse(R, queue)
        end
        local is_forgotten = operation == 'take' or forget_over(R, #commands, #commands)
        if begin then
            begin(commands)
        end
        if not L.sweep() then
            return nil
        end
        for i, command in ipairs(commands) do
            answer[i] = step(R, queue, command)
            if not answer[i] or answer[i][1] == BUSY then
                is_forgotten = operation ~= 'take' -- claims that find nothing have the time
                break
            end
        end
        if not is_forgotten then
            forget_over(R, #commands, 1)
        end
        return answer[1] and {answer[1][1], now, unpack(answer)}
    end
end

-- ---- workers that sleep until there is work ----

-- Notifies one worker that waits for this queue: an item is ready, or may be free. `base`: how the
-- keys of the queue's root begin.
function L.notify_worker(base, queue)
    local key = base .. 's:' .. queue
    for _ = 1, 8 do
        local sleeper = redis.pcall('ZPOPMIN', key)[1] -- workers also query from time to time
        if not sleeper or L.publish(sleeper, 'q' .. queue) > 0 then
            return
        end
    end
end

local function notify_worker(R, queue)
    L.notify_worker(R.base, queue)
end

-- Notifies workers that found a lock on the queue or on an item: the request may have blocked them.
-- groups.lua has those that found only items whose needs are not free.
function L.notify_workers(r)
    for _, R in ipairs(r.roots) do
        if R.sleepers > now then
            for _, sleeper in ipairs(call('ZRANGE', R.base .. 's', 0, -1)) do
                local where, queue = sleeper:match('^(%Z*)%z(.*)$')
                L.messages[#L.messages + 1] = {where, 'q' .. queue}
            end
            call('DEL', R.base .. 's')
            if R.sleepers ~= BLOCKING then
                R.sleepers = 0
                R.dirty = true
            end
        end
    end
end

-- A worker that does not wait itself (another one of its pool does) has no channel.
local function sleep_on_queue(R, queue, by_locks)
    if channel == '' then
        return
    end
    local key = R.base .. 's' .. (by_locks and '' or ':' .. queue)
    call('ZADD', key, now, by_locks and channel .. '\0' .. queue or channel)
    call('PEXPIRE', key, 30000)
    if by_locks then
        R.sleepers = math.max(R.sleepers, now + 30000000)
        R.dirty = true
    end
end

-- A worker that has an item is not woken in place of one that waits.
local function leave_sleepers(R, queue)
    if channel ~= '' then
        call('ZREM', R.base .. 's:' .. queue, channel)
    end
end

local function set_value(item, value)
    set_item_field(item.root, 'v' .. item.path, value ~= '' and value)
end

-- ---- push ----

do -- its names are its own
local function parse_push()
    local push = {id = word(), value = word(), delay = number(), priority = number(), kind = number(),
        keep = number(), needs = {}}
    for i = 1, number() do
        push.needs[i] = {path = word(), limit = number(), units = number()}
    end
    return push
end

local PUSH_REPLACE, PUSH_AGAIN = @LK_PUSH_REPLACE@, @LK_PUSH_AGAIN@
local LEFT, ADDED, CHANGED = 0, 1, 2 -- what a push answers

-- What the push says takes the place of what the item was. A claimed one follows its claim.
local function replace(item, push, was)
    local follows = is_claimed(item)
    local stays_ready = was == 'ready' and push.delay == 0 -- since when it was
    leave_index(item)
    L.end_head(item)
    if follows and was ~= 'again' then
        item.sequence = L.draw({item.root})
    end
    item.needs, item.priority, item.keep = push.needs, push.priority, push.keep
    item.state = follows and 'again' or push.delay > 0 and 'delayed' or 'ready'
    item.due = stays_ready and item.due or now + push.delay * 1000
    item.attempts = follows and item.attempts or 0
    add_item(item)
    set_value(item, push.value)
    if not follows then
        notify_worker(item.root, item.queue)
    end
end

-- A push of an item that the queue has.
local function push_over(item, push)
    local was = item.state == 'delayed' and item.due <= now and 'ready' or item.state
    local waits = was == 'ready' or was == 'delayed' or was == 'again'
    local is_changed = push.kind == PUSH_AGAIN or push.kind == PUSH_REPLACE and waits
    local is_another_run = is_changed and (was == 'claimed' or was == 'cancelled')
    add_count(item.root, item.queue, is_another_run and PUSHED or DUPLICATES)
    if is_changed then
        replace(item, push, was)
    end
    return {OK, now, '', is_changed and CHANGED or LEFT, was}
end

L.operations.push = series(parse_push, function(R, queue, push)
    local present = load_kept_item(R, queue, push.id)
    if present and not is_over(present) then
        return push_over(present, push)
    elseif present then
        remove_item(present)
    end
    local is_delayed = push.delay > 0
    local item = {root = R, queue = queue, id = push.id, path = queue .. '/' .. push.id,
        sequence = L.draw({R}), state = is_delayed and 'delayed' or 'ready',
        due = is_delayed and now + push.delay * 1000 or 0, attempts = 0, was_lost = 0,
        max_attempts = 0, ask_number = '0', owner = '', needs = push.needs,
        priority = push.priority, keep = push.keep, progress = ''}
    add_item(item)
    if push.value ~= '' then
        set_value(item, push.value)
    end
    add_count(R, queue, PUSHED)
    notify_worker(R, queue)
    return {OK, now, '', ADDED, ''}
end)
end

-- ---- the end of a claim ----

-- Makes an item ready again, at once or after a delay; or parks it, if the claimant says so, or after
-- too many attempts, unless the last one does not count. One that is cancelled is removed; one that
-- was pushed again is what that push has made of it. Returns what the item is now.
local function give_back(item, due, is_uncounted, parks)
    if item.state == 'cancelled' then
        remove_item(item)
        return 'gone'
    end
    local is_parked = parks or not is_uncounted and item.max_attempts ~= 0
        and item.attempts >= item.max_attempts
    if item.state == 'again' then
        is_parked, due, item.attempts = false, math.max(item.due, math.min(due, now)), 0
    elseif is_uncounted then
        item.attempts = math.max(item.attempts - 1, 0)
    end
    local is_delayed = not is_parked and due > now
    change_state(item, is_parked and 'parked' or is_delayed and 'delayed' or 'ready',
        is_parked and 0 or due)
    if item.ask_number ~= '0' then
        set_item_field(item.root, number_field(item), false)
    end
    if not is_parked and not is_delayed then
        notify_worker(item.root, item.queue)
    end
    return item.state
end

local LOST_CLAIM =
    '@LK_TEXT_CLAIM_LOST@'

function L.lose_claim(r)
    local first = (r.whole or r.parts)[1]
    local queue, id = first.path:match('^(.*)/([^/]*)$')
    local item = load_item(first.root, queue, id)
    if item then
        item.was_lost = 1
        if give_back(item, math.min(r.deadline, now)) == 'parked' then
            add_count(item.root, queue, PARKED)
            set_item_field(item.root, 'e' .. item.path, pack(false, LOST_CLAIM))
        end
    end
end

local function find_claim_of(item)
    return item and is_claimed(item) and L.request(item.root, '\1' .. item.path) or nil
end

do -- its names are its own
local FINISH_DONE, FINISH_PROGRESS = @LK_FINISH_DONE@, @LK_FINISH_PROGRESS@

local function parse_finish(R, queue)
    local finish = {root = R, id = word(), owner = word(), token = number(), kind = number(),
        delay = number(), has_exit = word() == '1', exit = number(), text = word(),
        is_uncounted = word() == '1', parks = word() == '1', result = word(),
        keep = number(), progress = word()}
    finish.item = load_item(R, queue, finish.id)
    find_claim_of(finish.item) -- loads the roots of its needs
    return finish
end

-- How long the item is kept if it is done now; 0: it is not.
local function keep_of(item, finish)
    return finish.kind == FINISH_DONE and item.state == 'claimed' and math.max(item.keep, finish.keep)
        or 0
end

-- Claims end even where memory is full (closing.lua), unless they leave something to be kept.
local function begin_finish(commands)
    for _, finish in ipairs(commands) do
        if finish.item and keep_of(finish.item, finish) > 0 or finish.progress ~= '' then
            call('ZADD', finish.root.base .. 'q', 'XX', 0, '') -- adds nothing, but needs memory
            return
        end
    end
    call('HDEL', H, '')
end

-- The result takes the place of the value, for a time.
local function finish_kept(item, result, keep)
    leave_index(item)
    L.end_head(item)
    item.state, item.due = 'done', now + keep * 1000
    item.needs, item.progress = {}, ''
    add_item(item)
    set_value(item, result)
    set_item_field(item.root, number_field(item), false)
end

local function end_claim(item, finish)
    if finish.kind == FINISH_DONE then
        local keep = keep_of(item, finish)
        if item.state == 'again' then
            give_back(item, now)
        elseif keep > 0 then
            finish_kept(item, finish.result, keep)
        else
            remove_item(item)
        end
        add_count(item.root, item.queue, DONE)
        return
    end
    if finish.has_exit or finish.text ~= '' then
        set_item_field(item.root, 'e' .. item.path,
            pack(finish.has_exit and finish.exit, finish.text))
    end
    item.was_lost = 0
    local state = give_back(item, now + finish.delay * 1000, finish.is_uncounted, finish.parks)
    if state == 'parked' then
        add_count(item.root, item.queue, RETRIED, PARKED)
    elseif state ~= 'gone' then
        add_count(item.root, item.queue, RETRIED)
    end
end

L.operations.finish = series(parse_finish, function(R, queue, finish)
    local item = load_item(R, queue, finish.id)
    local r = find_claim_of(item)
    local is_progress = finish.kind == FINISH_PROGRESS
    local identity = finish.owner .. '\0' .. queue .. '/' .. finish.id
    if not r or r.owner ~= finish.owner or finish.token ~= 0 and r.token ~= finish.token then
        if not is_progress and recalls_ended(R, finish.token, identity) then
            return {OK, now, ''}
        end
        return {LOST, now, '@LK_TEXT_NOT_CLAIMED@'}
    end
    if is_progress then
        item.progress = finish.progress
        save_item(item)
        return {OK, now, ''}
    end
    if finish.token ~= 0 then
        remember_ended(R, finish.token, identity)
    end
    L.leave(r)
    end_claim(item, finish)
    L.notify_workers(r)
    L.grant_waiters(r.parts, nil, now)
    return {OK, now, ''}
end, begin_finish)
end

-- ---- without a claim ----

L.operations.unpark = series(function()
    return {id = word()}
end, function(R, queue, unpark)
    local item = load_item(R, queue, unpark.id)
    if not item or item.state ~= 'parked' then
        return {LOST, now, '@LK_TEXT_NOT_PARKED@'}
    end
    item.attempts, item.was_lost = 0, 0
    change_state(item, 'ready', now)
    notify_worker(R, queue)
    return {OK, now, ''}
end)

L.operations.drop = series(function()
    return {id = word(), only_parked = word() == '1'}
end, function(R, queue, drop)
    local item = load_item(R, queue, drop.id)
    if not item or is_claimed(item) or drop.only_parked and item.state ~= 'parked' then
        return {LOST, now, drop.only_parked and '@LK_TEXT_NOT_PARKED@'
            or '@LK_TEXT_NO_ITEM@'}
    end
    remove_item(item)
    return {OK, now, ''}
end)

-- ---- cancelling ----

-- Removes the item at this path. One that is claimed is removed when its claim ends, which is broken:
-- break_one() does so, and keep() keeps it on record. Returns the answer of the break.
function L.cancel(R, path, at_once, break_one, keep)
    local queue, id = path:match('^(.*)/([^/]*)$')
    local item, r, known
    repeat -- as in a break
        if not L.sweep() then
            return nil
        end
        known = #L.loaded
        item = id and load_item(R, queue, id)
        r = find_claim_of(item)
    until #L.loaded == known
    if not item then
        return {LOST, now, '@LK_TEXT_NOT_THERE@'}
    end
    if not r then
        remove_item(item)
        keep(R, {owner = '', note = '', ticket = 0}, path)
        return {OK, now, 0}
    end
    local released, is_new = {}, item.state ~= 'cancelled'
    if is_new then
        change_state(item, 'cancelled')
    end
    if break_one(r, at_once, released) or is_new then
        keep(R, r, path)
    end
    L.grant_waiters(released, nil, now)
    return {OK, now, 1}
end
