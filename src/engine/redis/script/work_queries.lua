-- SPDX-License-Identifier: Apache-2.0
-- Queries about work (R16): the items of a queue, and counts.

-- id, state, sequence, due, attempts; value; owner and deadline of the claim; needs; priority; why it
-- was given back: whether there is an exit code, the code, and a text.
local function describe_item(R, queue, id)
    local item = load_item(R, queue, id)
    local r = item.state == 'claimed' and L.request(R, '\1' .. item.path)
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
        item.priority, exit and 1 or 0, exit or 0, text or ''}
end

function L.operations.items()
    local queue = ARGV[6]
    local R = L.root_of(queue)
    local answer = {OK, now}
    if not L.sweep() then
        return nil
    end
    for _, kind in ipairs({'r', 's', 'y', 'z', 'p'}) do
        local found = call('ZRANGEBYLEX', R.base .. 'q', '[' .. kind .. queue .. '\0',
            '(' .. kind .. queue .. '\1')
        for _, entry in ipairs(found) do
            local id = kind == 's' and entry:match('^.%Z*%z%Z*%z%Z*%z(.*)$') or id_of_entry(entry)
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
    local of_queue = 'p' .. queue
    local found = call('ZRANGEBYLEX', R.base .. 'q', '[' .. of_queue .. '\0' .. digits(behind + 1),
        '(' .. of_queue .. '\1', 'LIMIT', 0, max)
    for i, entry in ipairs(found) do
        answer[2 + i] = describe_item(R, queue, id_of_entry(entry))
    end
    return answer
end

-- ---- counts ----

-- What was counted, and how many are ready, delayed, claimed and parked.
local function numbers_of(R, queue)
    local Q, numbers = R.base .. 'q', counts_of(R, queue)
    local function count(kind, before)
        local all = kind .. queue .. '\0'
        return call('ZLEXCOUNT', Q, '[' .. all, '(' .. (before and all .. before
            or kind .. queue .. '\1'))
    end
    local due = count('y', digits(now + 1))
    numbers[8], numbers[9] = due + count('r') + count('s'), count('y') - due
    numbers[10], numbers[11] = count('z'), count('p')
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
