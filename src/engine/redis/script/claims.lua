-- SPDX-License-Identifier: Apache-2.0
-- One claim (R16): its token, and whether an item can be claimed now. take.lua has the walk over
-- items.
do -- its names are its own
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

function L.share_token(token)
    if not shared_token then
        shared_token, shared_by = token, 0
    end
end

local function answer_claimed(item, r, stolen)
    L.share_token(r.token)
    return {GRANTED, now, item.id, item_field(item.root, 'v' .. item.path) or '', r.token,
        item.attempts, stolen, r.ttl, r.deadline}
end

-- R3: the claim that this ask has already got; extends its deadline.
function L.take_again(R, take)
    local id = take.ask_number ~= '0' and item_field(R, number_field(take))
    local item = id and load_item(R, take.queue, id)
    local r = item and is_claimed(item) and L.find({R}, '\1' .. item.path)
    if not r then
        return nil
    end
    if not r.revoked then
        r.ttl = take.ttl
        L.set_deadline(r, now + r.ttl * 1000)
    end
    return answer_claimed(item, r, 0)
end

local function claim_item(take, item, parts)
    local roots = L.roots_of(parts)
    local ticket, id = draw_of_claim(roots)
    if not ticket then
        return {BUSY, now, '@LK_TEXT_TOKEN_TAKEN@', now}
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
    item.owner, item.progress = take.owner, ''
    change_state(item, 'claimed')
    L.become_head(item)
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

-- Lets what is overdue take effect under roots that the call has just loaded: why this may be another
-- state now than what the walk began with.
function L.sweep_loaded()
    local left = perish_left
    if not L.sweep() then
        return 'more'
    end
    return perish_left ~= left and 'ended' or nil
end

-- The answer, or nil and why the item cannot be claimed now:
--     'more'     more is overdue, under roots that its needs have loaded, than one call handles
--     'ended'    something has ended there: other items may have become free
--     'item'     its own path is locked: the list, and the owner whose request blocks it
--     'cycle'    a claim would close a cycle (R13), by what it needs
--     'needs'    what it needs is not free: the same
--     'head'     another item is the head of a strict need: the list
function L.try_item(take, item)
    local list = L.list_of_other_head(item)
    if list then
        return nil, 'head', list
    end
    local parts = {L.make_part(item.path, 0, 0)}
    for _, need in ipairs(item.needs) do
        parts[#parts + 1] = L.make_part(need.path, need.limit, math.max(need.units, 0))
    end
    local changed = L.sweep_loaded()
    if changed then
        return nil, changed
    end
    local probe = {owner = take.owner, ticket = NEWEST, parts = parts, is_item = true}
    local verdict, part = L.check(probe)
    if not verdict then
        local answer = claim_item(take, item, parts)
        return answer, not answer and 'cycle'
    end
    local list, owner = L.find_blocker(probe, part, verdict)
    return nil, part == parts[1] and 'item' or 'needs', list, owner
end
end
