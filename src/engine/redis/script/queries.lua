-- SPDX-License-Identifier: Apache-2.0
-- Queries (R20): the live requests under a path, and the audit of broken ones.

local function describe(r, blockers_max)
    local parts, position, named = {}, 0, {}
    for i, part in ipairs(r.parts) do
        parts[3 * i - 2], parts[3 * i - 1], parts[3 * i] = part.path, part.limit, part.units
    end
    if blockers_max > 0 and not r.held then
        for _, part in ipairs(r.parts) do
            L.fetch(part.root, part.chain)
        end
        position, named = L.explain(L.probe_of(r), blockers_max)
    end
    return {r.identity, r.owner, r.note, (r.held and 1 or 0) + (r.revoked and 2 or 0)
        + (r.fixed and 4 or 0), r.ticket, r.token, r.ttl, r.deadline, parts, position, named, r.id}
end

-- ---- pages ----

-- A listing comes in pages, so that no call takes long. The entries of a segment (those at a path, or
-- below it) are read in one order: by path; at a path those that wait, by ticket, then those that
-- hold, by owner and ticket. A page has all kinds of entries between two positions. So a request
-- that lives throughout is met: conversions leave it where it is, or move it ahead, as grants do. It
-- may be met twice. A page ends between two paths, unless one path has more entries than a page.
--
-- A position is `- path`, before all that is there; `0 path 0 ticket`, after this waiting request; or
-- `1 path 0 owner 0 ticket`, after this held one. The cursor of a page is the number of a segment
-- and the position reached there, or empty.
local KINDS = {{'a', '0', '^.(%Z*%z%Z*)', read_waiting}, {'b', '0', '^.(%Z*%z%Z*)', read_waiting},
    {'X', '1', '^.(%Z*%z%Z*%z%Z*)', read_held}, {'S', '1', '^.(%Z*%z%Z*%z%Z*)', read_held}}

local function path_of(position)
    return position:match('^.(%Z*)')
end

-- The position among the entries of one kind.
local function bound_of(kind, position)
    local mark = position:sub(1, 1)
    if mark == kind[2] then
        return kind[1] .. position:sub(2) .. '\1'
    end
    return kind[1] .. path_of(position) .. (mark == '1' and '\1' or '\0')
end

local function precedes(a, b)
    local left, right = path_of(a), path_of(b)
    if left ~= right then
        return is_before(left .. '\0', right .. '\0')
    end
    return is_before(a, b)
end

-- Up to `max` entries of each kind, and the position that all kinds have reached; nil: the end.
local function read_kinds(R, starts, segment, max)
    local found, reached = {}, nil
    for i, kind in ipairs(KINDS) do
        found[i] = call('ZRANGEBYLEX', R.P, starts[i], '(' .. kind[1] .. segment[2], 'LIMIT', 0,
            max)
        if #found[i] == max then
            local last = kind[2] .. found[i][max]:match(kind[3])
            reached = (not reached or precedes(last, reached)) and last or reached
        end
    end
    return found, reached
end

-- How many of the entries that were read are before the position, of each kind and in all.
local function count_before(R, starts, found, position)
    local counts, sum = {}, 0
    for i, kind in ipairs(KINDS) do
        counts[i] = #found[i]
        if position and counts[i] > 0 then
            counts[i] = call('ZLEXCOUNT', R.P, starts[i], '(' .. bound_of(kind, position))
        end
        sum = sum + counts[i]
    end
    return counts, sum
end

-- Adds requests of the segment, from the position on, to the page; returns the position reached, or
-- nil: the end.
local function read_segment(R, segment, from, max, page)
    local starts = {}
    for i, kind in ipairs(KINDS) do
        starts[i] = '[' .. (from and bound_of(kind, from) or kind[1] .. segment[1])
    end
    local found, reached = read_kinds(R, starts, segment, max)
    local position = reached and '-' .. path_of(reached)
    local counts, sum = count_before(R, starts, found, position)
    if sum == 0 and reached then
        position = reached
        counts = count_before(R, starts, found, position)
    end
    for i, kind in ipairs(KINDS) do
        for at = 1, counts[i] do
            local _, _, identity = kind[4](found[i][at])
            if not page[identity] then
                page[identity] = true
                page[#page + 1] = L.request(R, identity)
            end
        end
    end
    return position
end

-- list: requests with a part at or below the path. show: with one related to it, and blockers.
local function query(above, blockers_max, page_max)
    local path = ARGV[6]
    local number, position = ARGV[7]:match('^(%d+):(.*)$')
    local R = L.root_of(path)
    if not L.sweep() then
        return nil
    end
    local segments = {{path .. '\0', path .. '\1'}, {path .. '/', path .. '0'}}
    for _, at in ipairs(above and {unpack(L.chain(path), 2)} or {}) do
        segments[#segments + 1] = {at .. '\0', at .. '\1'}
    end
    local page = {}
    number, position = tonumber(number or 1), position ~= '' and position or nil
    while number <= #segments and #page < page_max do
        position = read_segment(R, segments[number], position, page_max - #page, page)
        if position then
            break
        end
        number = number + 1
    end
    local answer = {OK, now, number <= #segments and number .. ':' .. (position or '') or ''}
    for i, r in ipairs(page) do
        answer[3 + i] = describe(r, blockers_max)
    end
    return answer
end

function L.operations.list()
    return query(false, 0, 250)
end

-- Each request that waits is explained, so that a page of them takes as long as a larger one of list.
function L.operations.show()
    return query(true, 16, 25)
end

function L.operations.audit()
    local answer = {OK, now, ''}
    for _, entry in ipairs(call('LRANGE', L.prefix_of(ARGV[6]) .. ':lk:a', 0, -1)) do
        answer[#answer + 1] = {open(entry)}
    end
    return answer
end

-- Queries about work (R16): the items of a queue, and counts.

-- id, state, sequence, due, attempts; value; owner and deadline of the claim; needs; priority; why it
-- was given back: whether there is an exit code, the code, and a text; progress.
local function describe_item(R, queue, id)
    local item = load_item(R, queue, id)
    local r = is_claimed(item) and L.request(R, '\1' .. item.path)
    local needs = {}
    for i, need in ipairs(item.needs) do
        needs[3 * i - 2], needs[3 * i - 1], needs[3 * i] = need.path, need.limit, need.units
    end
    if item.state == 'delayed' and item.due <= now then
        item.state = 'ready' -- no take has noticed yet
    end
    local exit, text
    local failure = item_field(R, 'e' .. item.path)
    if failure then
        exit, text = open(failure)
    end
    return {item.id, item.state, item.sequence, item.due, item.attempts,
        item_field(R, 'v' .. item.path) or '', r and r.owner or false, r and r.deadline or 0, needs,
        item.priority, exit and 1 or 0, exit or 0, text or '', item.progress}
end

-- Up to `max` entries of one kind among the queue's items, from `from` on.
local function entries_of(R, kind, queue, from, max)
    local of_queue = kind .. queue
    return call('ZRANGEBYLEX', R.base .. 'q', '[' .. of_queue .. '\0' .. from, '(' .. of_queue .. '\1',
        'LIMIT', 0, max)
end

-- The items of a queue, or the one with this id.
function L.operations.items()
    local queue, id = ARGV[6], ARGV[7]
    local R = L.root_of(queue)
    local answer = {OK, now}
    if not L.sweep() then
        return nil
    end
    if id ~= '' then
        answer[3] = load_item(R, queue, id) and describe_item(R, queue, id)
        return answer
    end
    for _, kind in ipairs({'r', 's', 'y', 'z', 'p', 'x'}) do
        local from = kind == 'x' and digits(now + 1) or ''
        for _, entry in ipairs(entries_of(R, kind, queue, from, -1)) do
            id = kind == 's' and entry:match('^.%Z*%z%Z*%z%Z*%z(.*)$') or id_of_entry(entry)
            answer[#answer + 1] = describe_item(R, queue, id)
        end
    end
    return answer
end

-- Up to `max` parked items with a greater sequence, by sequence.
function L.operations.parked()
    local queue, behind, max = ARGV[6], tonumber(ARGV[7]), ARGV[8]
    local R = L.root_of(queue)
    local answer = {OK, now}
    if not L.sweep() then
        return nil
    end
    for i, entry in ipairs(entries_of(R, 'p', queue, digits(behind + 1), max)) do
        answer[2 + i] = describe_item(R, queue, id_of_entry(entry))
    end
    return answer
end

-- ---- counts ----

-- The first entry of the queue's items of a kind by time, before `to`: its time, or NEVER.
local function first_time(R, kind, queue, to)
    local first = call('ZRANGEBYLEX', R.base .. 'q', '[' .. kind .. queue .. '\0', '(' .. kind .. queue
        .. to, 'LIMIT', 0, 1)[1]
    return first and tonumber(first:match('^.%Z*%z(%Z*)%z')) or NEVER, first
end

-- Since when the oldest of the ready items is so; 0: there is none. Entries without such an item, as
-- after a loss of the record, are removed, some in a call.
local function oldest_ready(R, queue)
    local due = first_time(R, 'y', queue, '\0' .. digits(now + 1))
    local since, entry
    for _ = 1, 100 do
        since, entry = first_time(R, 'o', queue, '\1')
        local item = entry and load_item(R, queue, id_of_entry(entry))
        if not entry or item and item.state == 'ready' and time_entry_of(item) == entry then
            break
        end
        remove_from_index(R, entry)
    end
    local oldest = math.min(due, since)
    return oldest < NEVER and oldest or 0
end

-- What was counted, how many are ready, delayed, claimed, parked, and done and kept; and since when the
-- oldest ready one is so.
local function numbers_of(R, queue)
    local Q, numbers = R.base .. 'q', counts_of(R, queue)
    local function count(kind, from)
        return call('ZLEXCOUNT', Q, '[' .. kind .. queue .. '\0' .. (from or ''),
            '(' .. kind .. queue .. '\1')
    end
    local after = digits(now + 1)
    local delayed = count('y', after)
    numbers[8] = count('y') - delayed + count('r') + count('s')
    numbers[9], numbers[10], numbers[11], numbers[12] = delayed, count('z'), count('p'),
        count('x', after)
    numbers[13] = oldest_ready(R, queue)
    return numbers
end

function L.operations.stats()
    local R = L.root_of(ARGV[6])
    if not L.sweep() then
        return nil
    end
    return {OK, now, unpack(numbers_of(R, ARGV[6]))}
end

-- Up to `max` queues at or below the path whose paths follow `behind`, by path, with their counts.
function L.operations.queues()
    local path, behind, max = ARGV[6], ARGV[7], tonumber(ARGV[8])
    local R = L.root_of(path)
    local answer = {OK, now}
    local Q, after = R.base .. 'q', '(c' .. behind
    local function add(queue)
        answer[#answer + 1] = {queue, unpack(numbers_of(R, queue))}
    end
    if not L.sweep() then
        return nil
    end
    if max > 0 and is_before(behind, path) and call('ZSCORE', Q, 'c' .. path) then
        add(path)
    end
    local from = '[c' .. path .. '/'
    if not is_before(behind, path .. '/') then
        from = after
    end
    for _, entry in ipairs(call('ZRANGEBYLEX', Q, from, '(c' .. path .. '0', 'LIMIT', 0,
        max - #answer + 2)) do
        add(entry:sub(2))
    end
    return answer
end
