-- SPDX-License-Identifier: Apache-2.0
-- Work (R16): items are pushed into queues, claimed by a lease, and done, given back, or lost with
-- their claim; src/model/work.c. {root}:lk:i has the fields i, an item by its path; v, its value;
-- c, the counts of a queue; n, the item that an ask number got. {root}:lk:q has the items by age:
--     r queue 0 sequence 0 id    ready
--     y queue 0 due 0 id         delayed
--     z queue 0 sequence 0 id    claimed or parked

local TAKE_CHECKS_MAX = 10000 -- items that one take checks

local function item_keys(R)
    return R.base .. 'i', R.base .. 'q'
end

local function member_of_item(item)
    if item.state == 'delayed' then
        return 'y' .. item.queue .. '\0' .. digits(item.due) .. '\0' .. item.id
    end
    return (item.state == 'ready' and 'r' or 'z') .. item.queue .. '\0' .. digits(item.sequence)
        .. '\0' .. item.id
end

local function save_item(item)
    local I, Q = item_keys(item.root)
    local f = {item.sequence, item.state, item.due, item.attempts, item.was_lost, item.max_attempts,
        item.ask_number, item.owner, #item.needs}
    for i, need in ipairs(item.needs) do
        f[7 + 3 * i], f[8 + 3 * i], f[9 + 3 * i] = need.path, need.limit, need.units
    end
    call('ZADD', Q, 0, member_of_item(item)) -- may fail (another type): comes first
    call('HSET', I, 'i' .. item.path, pack(unpack(f)))
end

local function load_item(R, queue, id)
    local path = queue .. '/' .. id
    local packed = call('HGET', R.base .. 'i', 'i' .. path)
    if not packed then
        return nil
    end
    local f = {open(packed)}
    local item = {root = R, queue = queue, id = id, path = path, sequence = f[1], state = f[2],
        due = f[3], attempts = f[4], was_lost = f[5], max_attempts = f[6], ask_number = f[7],
        owner = f[8], needs = {}}
    for i = 1, f[9] do
        item.needs[i] = {path = f[7 + 3 * i], limit = f[8 + 3 * i], units = f[9 + 3 * i]}
    end
    return item
end

local function change_state(item, state, due)
    call('ZREM', item.root.base .. 'q', member_of_item(item))
    item.state, item.due = state, due or 0
    save_item(item)
end

-- pushed, duplicates, claims, steals, done, retried, parked
local function add_count(R, queue, ...)
    local I, counts = R.base .. 'i', {0, 0, 0, 0, 0, 0, 0}
    local packed = call('HGET', I, 'c' .. queue)
    if packed then
        counts = {open(packed)}
    end
    for _, which in ipairs({...}) do
        counts[which] = counts[which] + 1
    end
    call('HSET', I, 'c' .. queue, pack(unpack(counts)))
end
local PUSHED, DUPLICATES, CLAIMS, STEALS, DONE, RETRIED, PARKED = 1, 2, 3, 4, 5, 6, 7

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

function L.operations.push()
    local queue, id, delay = ARGV[6], ARGV[7], tonumber(ARGV[9])
    local R = L.root_of(queue)
    if not L.sweep() then
        return nil
    end
    if load_item(R, queue, id) then
        add_count(R, queue, DUPLICATES)
        return {OK, now, '', 0}
    end
    local item = {root = R, queue = queue, id = id, path = queue .. '/' .. id,
        sequence = L.draw({R}), state = delay > 0 and 'delayed' or 'ready',
        due = delay > 0 and now + delay * 1000 or 0, attempts = 0, was_lost = 0, max_attempts = 0,
        ask_number = '0', owner = '', needs = {}}
    for i = 1, tonumber(ARGV[10]) do
        item.needs[i] = {path = ARGV[8 + 3 * i], limit = tonumber(ARGV[9 + 3 * i]),
            units = tonumber(ARGV[10 + 3 * i])}
    end
    save_item(item)
    if ARGV[8] ~= '' then
        call('HSET', R.base .. 'i', 'v' .. item.path, ARGV[8])
    end
    add_count(R, queue, PUSHED)
    notify_worker(R, queue)
    return {OK, now, '', 1}
end

-- ---- take ----

local function claimed_answer(item, r, stolen)
    return {GRANTED, now, item.id, call('HGET', item.root.base .. 'i', 'v' .. item.path) or '',
        r.token, item.attempts, stolen, r.ttl, r.deadline}
end

local function number_field(take)
    return 'n' .. take.queue .. '\0' .. take.owner .. '\0' .. take.ask_number
end

-- R3: the claim that this ask has already got; extends its deadline.
local function take_again(R, take)
    local id = take.ask_number ~= '0' and call('HGET', R.base .. 'i', number_field(take))
    local item = id and load_item(R, take.queue, id)
    local r = item and item.state == 'claimed' and L.find({R}, '\1' .. item.path)
    if not r then
        return nil
    end
    if not r.revoked then
        r.ttl = take.ttl
        L.set_deadline(r, now + r.ttl * 1000)
    end
    return claimed_answer(item, r, 0)
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
        change_state(load_item(R, queue, first:match('^y%Z*%z%Z*%z(.*)$')), 'ready')
    end
end

local function claim_item(R, take, item, parts)
    local roots = L.roots_of(parts)
    local ticket = L.next_draw(roots)
    local r = {identity = '\1' .. item.path, owner = take.owner, ticket = ticket, token = ticket,
        ttl = take.ttl, note = take.note, id = ticket, channel = '', parts = parts, roots = roots,
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
        call('HSET', R.base .. 'i', number_field(take), item.id)
    end
    if stolen == 1 then
        add_count(R, take.queue, CLAIMS, STEALS)
    else
        add_count(R, take.queue, CLAIMS)
    end
    return claimed_answer(item, r, stolen)
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
    return claim_item(R, take, item, parts)
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

function L.operations.take()
    local take = {queue = ARGV[6], owner = ARGV[7], ttl = tonumber(ARGV[8]),
        max_attempts = tonumber(ARGV[9]), ask_number = ARGV[10], note = ARGV[11]}
    local R = L.root_of(take.queue)
    if not L.sweep() then
        return nil
    end
    if call('HEXISTS', R.base .. 'i', 'c' .. take.queue) == 0 then
        return take_nothing(R, take, 'R16: there is no item in this queue', false)
    end
    local again = take_again(R, take)
    if again then
        return again
    end
    ready_due_items(R, take.queue)
    -- What blocks one new item blocks all of them.
    local any = L.make_part(take.queue .. '/\127', 0, 0)
    if L.check({owner = take.owner, ticket = NEWEST, parts = {any}, is_item = true}) then
        return take_nothing(R, take,
            'R16: a lock on the queue, held or waiting, pauses all claiming', true)
    end
    local from, checked = '[r' .. take.queue .. '\0', 0
    while checked < TAKE_CHECKS_MAX do
        local found = call('ZRANGEBYLEX', R.base .. 'q', from, '(r' .. take.queue .. '\1',
            'LIMIT', 0, checked == 0 and 1 or 50)
        for _, member in ipairs(found) do
            checked = checked + 1
            local answer, is_more_due = try_item(R, take, member:match('^r%Z*%z%Z*%z(.*)$'))
            if answer or is_more_due then
                return answer
            end
            from = '(' .. member
        end
        if #found == 0 then
            break
        end
    end
    return take_nothing(R, take, 'R16: there is nothing to claim now', checked > 0)
end

-- ---- the end of a claim ----

-- Makes an item ready again, at once or after a delay; or parks it, after too many attempts.
local function give_back(item, due)
    local is_parked = item.max_attempts ~= 0 and item.attempts >= item.max_attempts
    local is_delayed = not is_parked and due > now
    change_state(item, is_parked and 'parked' or is_delayed and 'delayed' or 'ready',
        is_delayed and due or 0)
    if item.ask_number ~= '0' then
        call('HDEL', item.root.base .. 'i', number_field(item))
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

local function finish_done(item)
    local I, Q = item_keys(item.root)
    call('ZREM', Q, member_of_item(item))
    call('HDEL', I, 'i' .. item.path, 'v' .. item.path, number_field(item))
    add_count(item.root, item.queue, DONE)
end

function L.operations.finish()
    local queue, id, owner, token = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
    local R = L.root_of(queue)
    local identity = owner .. '\0' .. queue .. '/' .. id
    if not L.sweep() then
        return nil
    end
    local item = load_item(R, queue, id)
    local r = item and item.state == 'claimed' and L.request(R, '\1' .. item.path)
    if not L.sweep() then -- the roots of its needs
        return nil
    end
    if not r or r.owner ~= owner or token ~= 0 and r.token ~= token then
        if recalls_ended(R, token, identity) then
            return {OK, now, ''}
        end
        return {LOST, now, 'R16: the item is not claimed by this owner (any more)'}
    end
    if token ~= 0 then
        remember_ended(R, token, identity)
    end
    L.leave(r)
    if ARGV[10] == 'done' then
        finish_done(item)
    else
        item.was_lost = 0
        if give_back(item, now + tonumber(ARGV[11]) * 1000) then
            add_count(R, queue, RETRIED, PARKED)
        else
            add_count(R, queue, RETRIED)
        end
    end
    L.notify_workers(r)
    L.grant_waiters(r.parts, nil, now)
    return {OK, now, ''}
end

function L.operations.unpark()
    local queue, id = ARGV[6], ARGV[7]
    local R = L.root_of(queue)
    if not L.sweep() then
        return nil
    end
    local item = load_item(R, queue, id)
    if not item or item.state ~= 'parked' then
        return {LOST, now, 'R16: there is no such parked item'}
    end
    item.attempts, item.was_lost = 0, 0
    change_state(item, 'ready')
    notify_worker(R, queue)
    return {OK, now, ''}
end

-- ---- queries ----

function L.operations.items()
    local queue = ARGV[6]
    local R = L.root_of(queue)
    local answer = {OK, now}
    if not L.sweep() then
        return nil
    end
    for _, kind in ipairs({'r', 'y', 'z'}) do
        local found = call('ZRANGEBYLEX', R.base .. 'q', '[' .. kind .. queue .. '\0',
            '(' .. kind .. queue .. '\1')
        for _, member in ipairs(found) do
            local item = load_item(R, queue, member:match('^.%Z*%z%Z*%z(.*)$'))
            local r = item.state == 'claimed' and L.request(R, '\1' .. item.path)
            local needs = {}
            for i, need in ipairs(item.needs) do
                needs[3 * i - 2], needs[3 * i - 1], needs[3 * i] = need.path, need.limit, need.units
            end
            if item.state == 'delayed' and item.due <= now then
                item.state = 'ready' -- no take has noticed yet
            end
            answer[#answer + 1] = {item.id, item.state, item.sequence, item.due, item.attempts,
                call('HGET', R.base .. 'i', 'v' .. item.path) or '', r and r.owner or false,
                r and r.deadline or 0, needs}
        end
    end
    return answer
end

function L.operations.stats()
    local queue = ARGV[6]
    local R = L.root_of(queue)
    local answer = {OK, now, 0, 0, 0, 0, 0, 0, 0}
    if not L.sweep() then
        return nil
    end
    local packed = call('HGET', R.base .. 'i', 'c' .. queue)
    if packed then
        answer = {OK, now, open(packed)}
    end
    local Q, delayed = R.base .. 'q', 'y' .. queue .. '\0'
    local due = call('ZLEXCOUNT', Q, '[' .. delayed, '(' .. delayed .. digits(now + 1))
    answer[10] = due + call('ZLEXCOUNT', Q, '[r' .. queue .. '\0', '(r' .. queue .. '\1')
    answer[11] = call('ZLEXCOUNT', Q, '[' .. delayed, '(y' .. queue .. '\1') - due
    local claimed, parked = 0, 0
    for _, member in ipairs(call('ZRANGEBYLEX', R.base .. 'q', '[z' .. queue .. '\0',
        '(z' .. queue .. '\1')) do
        local state = load_item(R, queue, member:match('^.%Z*%z%Z*%z(.*)$')).state
        claimed = claimed + (state == 'claimed' and 1 or 0)
        parked = parked + (state == 'parked' and 1 or 0)
    end
    answer[12], answer[13] = claimed, parked
    return answer
end
