-- SPDX-License-Identifier: Apache-2.0
-- How items and queues (R16) are kept. {root}:lk:i, a hash, is the record:
--     i path                     an item: state, claim, needs, priority; how long it is kept once it is
--                                done; its progress
--     v path, e path             its value or result; why it was given back: exit code or false, and a
--                                text
--     c queue                    the counts of a queue
--     n queue 0 owner 0 number   the item that an ask number got
--     t queue 0 path             the head of a strict need (heads.lua)
--     g, l, b                    groups of items (groups.lua)
-- Its fields are read once, and written by L.flush(). {root}:lk:q, a sorted set, is the index, in
-- byte order. It is written at once, so that it can be searched, and undone if the call fails:
--     r queue 0 rank sequence 0 id    ready without needs, in the order of claims: by priority, then
--                                     by age. groups.lua has those with needs
--     o queue 0 since 0 id            ready, once more: since when
--     y queue 0 due 0 id              delayed
--     z queue 0 sequence 0 id         claimed, also if it is cancelled
--     p queue 0 sequence 0 id         parked
--     x queue 0 until 0 id            done, and kept until then
--     u until 0 path                  done, once more: of all queues of the root
--     c queue                         a queue

-- ---- the record ----

local records = {} -- by root: what was read, and which of it was set

local function record_of(R)
    records[R] = records[R] or {fields = {}, set = {}}
    return records[R]
end

local function item_field(R, field)
    local fields = record_of(R).fields
    if fields[field] == nil then
        fields[field] = call('HGET', R.base .. 'i', field)
    end
    return fields[field]
end

-- false removes the field; so does nil.
local function set_item_field(R, field, value)
    local record = record_of(R)
    record.fields[field], record.set[field] = value or false, true
end

-- Writes what was set. A write that changes nothing checks the permissions first.
function L.write_items()
    for R, record in pairs(records) do
        if next(record.set) then
            call('HDEL', R.base .. 'i', '')
        end
    end
    for R, record in pairs(records) do
        local fields, gone = {}, {}
        for field in pairs(record.set) do
            if record.fields[field] then
                fields[#fields + 1] = field
                fields[#fields + 1] = record.fields[field]
            else
                gone[#gone + 1] = field
            end
        end
        L.write_fields(R.base .. 'i', fields, gone)
    end
end

-- ---- the index ----

local function add_to_index(R, entry)
    call('ZADD', R.base .. 'q', 0, entry)
    L.undo[#L.undo + 1] = {'ZREM', R.base .. 'q', entry}
end

local function remove_from_index(R, entry)
    local removed = call('ZREM', R.base .. 'q', entry) == 1
    if removed then
        L.undo[#L.undo + 1] = {'ZADD', R.base .. 'q', 0, entry}
    end
    return removed
end

-- Higher priorities come first: + precedes all digits, and : follows them. Items of priority 0 have
-- no rank.
local function rank_of(priority)
    if priority == 0 then
        return ''
    end
    return priority > 0 and string.format('+%05d', @LK_PRIORITY_MAX@ - priority)
        or string.format(':%05d', -priority)
end

local KIND_OF_ENTRY = {ready = 'r', delayed = 'y', claimed = 'z', cancelled = 'z', again = 'z',
    parked = 'p', done = 'x'}

local function entry_of(item)
    local has_due = item.state == 'delayed' or item.state == 'done'
    local at = digits(has_due and item.due or item.sequence)
    if item.state == 'ready' then
        at = rank_of(item.priority) .. at
    end
    return KIND_OF_ENTRY[item.state] .. item.queue .. '\0' .. at .. '\0' .. item.id
end

-- The second entry of an item, if it has one. A ready item's due tells since when it is ready; 0:
-- since it was pushed.
local function time_entry_of(item)
    if item.state == 'ready' then
        local since = item.due > 0 and item.due or item.sequence
        return 'o' .. item.queue .. '\0' .. digits(since) .. '\0' .. item.id
    end
    return item.state == 'done' and 'u' .. digits(item.due) .. '\0' .. item.path
end

local function id_of_entry(entry)
    return entry:match('^.%Z*%z%Z*%z(.*)$')
end

-- One that is cancelled is claimed, too, and removed when its claim ends; so is one that was pushed
-- again, which is then ready, or due at its time.
local function is_claimed(item)
    return item.state == 'claimed' or item.state == 'cancelled' or item.state == 'again'
end

local function is_grouped(item)
    return item.state == 'ready' and #item.needs > 0
end

-- A ready item without needs is in a group if it has been locked itself (L.isolate()).
local function remove_entry_of(item)
    if is_grouped(item)
        or not remove_from_index(item.root, entry_of(item)) and item.state == 'ready' then
        L.leave_group(item)
    end
end

-- ---- items ----

local STRICT = -1 -- in place of a need's units: it is exclusive, and strict

local function save_item(item)
    local f = {item.sequence, item.state, item.due, item.attempts, item.was_lost, item.max_attempts,
        item.ask_number, item.owner, #item.needs}
    for _, need in ipairs(item.needs) do
        f[#f + 1], f[#f + 2], f[#f + 3] = need.path, need.limit, need.units
    end
    f[#f + 1] = item.priority
    if item.keep > 0 or item.progress ~= '' then
        f[#f + 1], f[#f + 2] = item.keep, item.progress
    end
    set_item_field(item.root, 'i' .. item.path, pack(unpack(f)))
end

local function load_kept_item(R, queue, id)
    local path = queue .. '/' .. id
    local packed = item_field(R, 'i' .. path)
    if not packed then
        return nil
    end
    local f = {open(packed)}
    local item = {root = R, queue = queue, id = id, path = path, sequence = f[1], state = f[2],
        due = f[3], attempts = f[4], was_lost = f[5], max_attempts = f[6], ask_number = f[7],
        owner = f[8], needs = {}, priority = f[10 + 3 * f[9]],
        keep = f[11 + 3 * f[9]] or 0, progress = f[12 + 3 * f[9]] or ''}
    for i = 1, f[9] do
        item.needs[i] = {path = f[7 + 3 * i], limit = f[8 + 3 * i], units = f[9 + 3 * i]}
    end
    return item
end

local function is_over(item)
    return item.state == 'done' and item.due <= now
end

-- One that is done does not exist any more once its time is over, also before it is removed.
local function load_item(R, queue, id)
    local item = load_kept_item(R, queue, id)
    return item and not is_over(item) and item or nil
end

local function add_item(item)
    if is_grouped(item) then
        L.enter_group(item)
    else
        add_to_index(item.root, entry_of(item)) -- may fail (another type): comes first
    end
    local entry = time_entry_of(item)
    if entry then
        add_to_index(item.root, entry)
    end
    save_item(item)
end

local function leave_index(item)
    local entry = time_entry_of(item)
    if entry then
        remove_from_index(item.root, entry)
    end
    remove_entry_of(item)
end

-- `due`: from when on it is delayed or ready; or until when it is done.
local function change_state(item, state, due)
    leave_index(item)
    item.state, item.due = state, due or 0
    add_item(item)
end

local function number_field(take)
    return 'n' .. take.queue .. '\0' .. take.owner .. '\0' .. take.ask_number
end

local function remove_item(item)
    leave_index(item)
    L.end_head(item)
    for _, kind in ipairs({'i', 'v', 'e'}) do
        set_item_field(item.root, kind .. item.path, false)
    end
    if is_claimed(item) then
        set_item_field(item.root, number_field(item), false)
    end
end

-- ---- queues ----

local PUSHED, DUPLICATES, CLAIMS, STEALS, DONE, RETRIED, PARKED = 1, 2, 3, 4, 5, 6, 7

local function counts_of(R, queue)
    local packed = item_field(R, 'c' .. queue)
    return packed and {open(packed)} or {0, 0, 0, 0, 0, 0, 0}
end

local function has_queue(R, queue)
    return item_field(R, 'c' .. queue) ~= false
end

local function add_count(R, queue, ...)
    local counts = counts_of(R, queue)
    if not has_queue(R, queue) then
        add_to_index(R, 'c' .. queue)
    end
    for _, which in ipairs({...}) do
        counts[which] = counts[which] + 1
    end
    set_item_field(R, 'c' .. queue, pack(unpack(counts)))
end
