-- SPDX-License-Identifier: Apache-2.0
-- What blocks a group of items (groups.lua): the list that it belongs to.

-- A list: path, class, root, and the part that the class is about.
local function list_of(path, class)
    local limit, units = class:match('^l(%d+),(%d+)$')
    local part = L.make_part(path, tonumber(limit or 0), tonumber(units or 0))
    return {path = path, class = class, root = part.root, part = part, name = path .. '\0' .. class}
end

do -- its names are its own
local function class_of_request(is_exclusive)
    return is_exclusive and 'x' or 's'
end

-- The owner of the first foreign request that is held (kinds X, S) or waits (a, b) at exactly the
-- path.
local function foreign_at(R, kind, path, owner)
    local found
    local read_entry = (kind == 'X' or kind == 'S') and read_held or read_waiting
    L.each_at(R, kind, path, function(member)
        local other = read_entry(member)
        found = other ~= owner and other
        return found
    end)
    return found or nil
end

-- Whether what the class names still blocks this probe; by whom. A limit blocks each owner.
function L.blocker_in(list, probe)
    local R, path, part = list.root, list.path, list.part
    L.fetch(R, part.chain)
    local node = L.node(R, path)
    if list.class == 'x' then
        return node.held_x > 0 and foreign_at(R, 'X', path, probe.owner)
            or node.wait_x > 0 and foreign_at(R, 'a', path, probe.owner) or nil
    elseif list.class == 's' then
        return node.held_s > 0 and foreign_at(R, 'S', path, probe.owner)
            or node.wait_s > 0 and foreign_at(R, 'b', path, probe.owner) or nil
    end
    return not L.fits(probe, part) and '' or nil
end

-- The path at which the request of this identity has a part at or below the path, of this mode.
local function path_below(R, identity, path, is_exclusive)
    local r = L.request(R, identity)
    for _, part in ipairs(r and r.parts or {}) do
        if contains(path, part.path) and (part.units == 0) == is_exclusive then
            return part.path
        end
    end
end

-- Path and owner of a foreign request of this mode that is held or waits at or below the path.
local function conflict_below(part, owner, held, behind, suffix, is_exclusive)
    local R, node = part.root, L.node(part.root, part.path)
    local at, found
    if node['below' .. suffix] > 0 and L.each_below(R, held, part.path, function(member)
            local other, _, _, path = read_held(member)
            at, found = path, other
            return other ~= owner
        end) then
        return at, found
    end
    if node['behind' .. suffix] > 0 and L.each_at(R, behind, part.path, function(member)
            local other, _, identity = read_waiting(member)
            at = other ~= owner and path_below(R, identity, part.path, is_exclusive)
            found = other
            return at
        end) then
        return at, found
    end
end

-- The same for one that is in the way of the part (R7a, R7b), also above it.
local function conflict_of(part, owner, is_exclusive)
    local held, waiting, behind, suffix = 'X', 'a', 'c', '_x'
    if not is_exclusive then
        held, waiting, behind, suffix = 'S', 'b', 'd', '_s'
    end
    local at, found = conflict_below(part, owner, held, behind, suffix, is_exclusive)
    if at then
        return at, found
    end
    for i = 2, #part.chain do
        local path = part.chain[i]
        local node = L.node(part.root, path)
        local other = node['held' .. suffix] > 0 and foreign_at(part.root, held, path, owner)
            or node['wait' .. suffix] > 0 and foreign_at(part.root, waiting, path, owner)
        if other then
            return path, other
        end
    end
end

-- The list for groups that are blocked by what blocks this probe at the part; and by whom.
function L.find_blocker(probe, part, verdict)
    if verdict == 'limit' then
        return list_of(part.path, string.format('l%.0f,%.0f', part.limit, part.units)), ''
    end
    for _, is_exclusive in ipairs(part.units == 0 and {true, false} or {true}) do
        local path, owner = conflict_of(part, probe.owner, is_exclusive)
        if path then
            return list_of(path, class_of_request(is_exclusive)), owner
        end
    end
end
end
