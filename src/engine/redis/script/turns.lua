-- SPDX-License-Identifier: Apache-2.0
-- Turns (R16, "Strict order"): an item that has been claimed has the turn of its strict needs until it
-- is gone or is replaced; of all of them, or of none. A field of {root}:lk:i, `t queue 0 path`, has
-- its id. Groups of which another item has the turn are in a list of that turn (groups.lua). No
-- request blocks that list, so nothing is noted of it under a root.
do -- its names are its own
local function turn_field(queue, path)
    return 't' .. queue .. '\0' .. path
end

-- The id of the item that has the turn of the first strict need of this one; nil: it has none.
function L.turn_holder(item)
    for _, need in ipairs(item.needs) do
        if need.units == STRICT then
            return item_field(item.root, turn_field(item.queue, need.path))
        end
    end
end

local function has_turn(item)
    return L.turn_holder(item) == item.id
end

-- The list of a turn that another item has; nil: there is none.
function L.turn_of_other(item)
    for _, need in ipairs(item.needs) do
        local holder = need.units == STRICT
            and item_field(item.root, turn_field(item.queue, need.path))
        if holder and holder ~= item.id then
            return list_of(TURN_MARK .. need.path, TURN)
        end
    end
end

function L.is_turn_taken(R, queue, list)
    return item_field(R, turn_field(queue, list.path:sub(2))) ~= false
end

function L.take_turn(item)
    for _, need in ipairs(has_turn(item) and {} or item.needs) do
        if need.units == STRICT then
            set_item_field(item.root, turn_field(item.queue, need.path), item.id)
        end
    end
end

-- The groups of the list may be free. Returns whether there is such a list.
local function open_list(R, queue, list)
    if state_of_list(R, queue, list.name) == nil then
        return false
    end
    if not open_short_list(R, queue, list) then
        set_list(R, queue, list.name, '', position_in_list(R, queue, list.name))
    end
    return true
end

-- The item, which has left the index, has no turn any more. A worker may sleep because it had.
function L.give_turn(item)
    local R, queue, has_opened = item.root, item.queue, false
    for _, need in ipairs(has_turn(item) and item.needs or {}) do
        if need.units == STRICT then
            set_item_field(R, turn_field(queue, need.path), false)
            has_opened = open_list(R, queue, list_of(TURN_MARK .. need.path, TURN)) or has_opened
        end
    end
    if has_opened then
        L.notify_worker(R.base, queue)
    end
end
end
