-- SPDX-License-Identifier: Apache-2.0
-- Heads of strict needs (R16, "Strict order"): an item that has been claimed is the head of its strict
-- needs until it is gone or is replaced; of all of them, or of none. A field of {root}:lk:i,
-- `t queue 0 path`, has its id. Groups behind the head of another group are in a list of their own
-- (groups.lua). No request blocks that list, so nothing is noted of it under a root.
do -- its names are its own
local function head_field(queue, path)
    return 't' .. queue .. '\0' .. path
end

-- The id of the head of the first strict need of this item; nil: it has no strict need.
function L.head_of(item)
    for _, need in ipairs(item.needs) do
        if need.units == STRICT then
            return item_field(item.root, head_field(item.queue, need.path))
        end
    end
end

local function is_head(item)
    return L.head_of(item) == item.id
end

-- The list of the groups behind another item, which is the head of a need of this one; nil: none is.
function L.list_of_other_head(item)
    for _, need in ipairs(item.needs) do
        local holder = need.units == STRICT
            and item_field(item.root, head_field(item.queue, need.path))
        if holder and holder ~= item.id then
            return list_of(HEAD_MARK .. need.path, HEAD)
        end
    end
end

function L.has_head(R, queue, list)
    return item_field(R, head_field(queue, list.path:sub(2))) ~= false
end

function L.become_head(item)
    for _, need in ipairs(is_head(item) and {} or item.needs) do
        if need.units == STRICT then
            set_item_field(item.root, head_field(item.queue, need.path), item.id)
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

-- The item, which has left the index, is no head any more. A worker may sleep because it was.
function L.end_head(item)
    local R, queue, has_opened = item.root, item.queue, false
    for _, need in ipairs(is_head(item) and item.needs or {}) do
        if need.units == STRICT then
            set_item_field(R, head_field(queue, need.path), false)
            has_opened = open_list(R, queue, list_of(HEAD_MARK .. need.path, HEAD)) or has_opened
        end
    end
    if has_opened then
        L.notify_worker(R.base, queue)
    end
end
end
