-- SPDX-License-Identifier: Apache-2.0
-- The plain calls that single.lua has not answered: their arguments, and the fields of their paths.
-- In the short form the fourth argument combines several: whether there is a single server, and of
-- an ask the style, whether there is a note, how many blockers to name, the channel.
local pack, open = cmsgpack.pack, cmsgpack.unpack
local OK, GRANTED, WAITING, BUSY = @LK_OK@, @LK_GRANTED@, @LK_WAITING@, @LK_BUSY@
local LOST, DEADLOCK, INVALID = @LK_LOST@, @LK_DEADLOCK@, @LK_INVALID@
local UNSUPPORTED, NONE, AGAIN = @LK_UNSUPPORTED@, @LK_NONE@, @LK_REDIS_AGAIN@
local LONG = 3600000000 -- an empty root is not kept for longer

-- A request: held, flags, how many parts; ticket, token, ttl, deadline, id; owner, note, channel;
-- and for each part its path, limit and units.
local REQUEST, PART = '<BBBdddddsss', 'sI4I4'
local REQUEST_OF_ONE = REQUEST .. PART

-- The counts of a path that a single request holds exclusively, and of the paths above it.
local ALONE_HERE = '\1\0\0\1\0\0\0\0\0\0\0\0'
local ALONE_BELOW = '\0\0\0\1\0\0\0\0\0\0\0\0'

local ARGV = ARGV
local channel, alone = ARGV[4], ARGV[5] == '1'
local plain, identity, owner, path, fields
if operation == 'a' or operation == 'r' or operation == 'n' then
    plain, identity = operation, ARGV[6]
    owner = identity:match('^%Z*')
    path = identity:sub(#owner + 2)
    fields = {'r' .. identity, 'o' .. owner, 'n' .. path}
    local at = path:find('/', 1, true)
    while at do
        fields[#fields + 1] = 'n' .. path:sub(1, at - 1)
        at = path:find('/', at + 1, true)
    end
end

-- Whether other requests live there, and nothing is due: the next files answer these calls.
local has_others = plain and known == boot and first > now and mark == ROOT_MARK
    and (live > 0 or crowded > now)

-- The ask for one path that nothing blocks, under a root with other live requests: four calls of
-- the server, and no function. Every other case is left to rules(). The counts of a path are those
-- of nodes.lua, in the same order.
if has_others and plain == 'a' then
    local got = call('HMGET', H, unpack(fields))
    if not got[1] and not got[2] then
        local flags, ttl, limit, units = read('<BdI4I4', ARGV[5])
        local exclusive = units == 0
        local deadline = now + ttl * 1000
        local free = expiry == 0 or expiry >= deadline + MARGIN
        local written = {'HSET', H, 'x', '', fields[1], '', fields[2], '1'}
        local in_use = units
        for i = 3, #fields do
            local packed = got[i]
            if not free then
                break
            elseif not packed and exclusive then
                packed = i == 3 and ALONE_HERE or ALONE_BELOW
            else
                local hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0
                if packed then
                    hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = open(packed)
                end
                if i == 3 then -- R7 at the path and below; waiting requests may be overtaken (R13)
                    free = bx == 0 and cx == 0 and cs == 0 and (not exclusive or bs == 0)
                        and (limit == 0 or u + units <= limit)
                    hx, hs = hx + (exclusive and 1 or 0), hs + (exclusive and 0 or 1)
                    u = u + units
                    in_use = u
                else -- and above
                    free = hx == 0 and wx == 0 and (not exclusive or hs == 0 and ws == 0)
                end
                bx, bs = bx + (exclusive and 1 or 0), bs + (exclusive and 0 or 1)
                packed = pack(hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw)
            end
            written[#written + 1] = fields[i]
            written[#written + 1] = packed
        end
        if free then
            if deadline < first then
                first = deadline
            end
            written[4] = write(ROOT, ROOT_MARK, ticket, first, expiry, kept, live + 1, sleepers,
                crowded, ended, boot)
            written[6] = write(REQUEST_OF_ONE, 1, flags, 1, ticket, ticket, ttl, deadline, ticket,
                owner, ARGV[7], '', path, limit, units)
            local base, ticket_digits, due = H:sub(1, -2), nil, deadline
            if ARGV[3] == '0' and ticket == now then
                -- Formatting numbers is slow: these are joined from the texts that TIME returned.
                local second, fraction = time[1], ('00000' .. time[2]):sub(-6)
                ticket_digits = second .. fraction
                due = ttl % 1000 == 0 and second + ttl / 1000 .. fraction or deadline
            else
                ticket_digits = string.format('%016.0f', ticket)
            end
            -- The first two can fail (another type, a missing permission); after them the third
            -- cannot.
            call('ZADD', base .. 't', due, identity)
            local added = redis.pcall('ZADD', base .. 'p', '0', (exclusive and 'X' or 'S') .. path
                .. '\0' .. owner .. '\0' .. ticket_digits .. '\0')
            if type(added) == 'table' then
                call('ZREM', base .. 't', identity)
                return added
            end
            call(unpack(written))
            return ticket == now and in_use == units and now or {GRANTED, now, ticket, in_use}
        end
    end
end

-- The release of one path that no request waits for, under a root with other live requests. Every
-- other case is left to rules().
if has_others and plain == 'r' then
    local got = call('HMGET', H, unpack(fields))
    if got[1] and got[2] == '1' then
        local held, flags, _, ticket, token, _, deadline, _, _, _, _, _, _, units =
            read(REQUEST_OF_ONE, got[1])
        local named = tonumber(ARGV[5])
        local exclusive = units == 0
        local simple = sleepers <= now and held == 1 and flags < 2
            and (named == 0 or named == token)
            and (live > 1 or expiry ~= 0 and expiry < now + LONG)
        local gone = {'HDEL', H, fields[1], fields[2]}
        local written = {'HSET', H, 'x', ''}
        for i = 3, #fields do
            local packed = got[i]
            if not simple then
                break
            elseif packed == (i == 3 and ALONE_HERE or ALONE_BELOW) and exclusive then
                gone[#gone + 1] = fields[i]
            else
                local hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = open(packed)
                if i == 3 then
                    simple = cx == 0 and cs == 0
                    hx, hs = hx - (exclusive and 1 or 0), hs - (exclusive and 0 or 1)
                    u = u - units
                else
                    simple = wx == 0 and ws == 0
                end
                bx, bs = bx - (exclusive and 1 or 0), bs - (exclusive and 0 or 1)
                if bx == 0 and bs == 0 and cx == 0 and cs == 0 then
                    gone[#gone + 1] = fields[i]
                else
                    written[#written + 1] = fields[i]
                    written[#written + 1] = pack(hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw)
                end
            end
        end
        if simple then
            local base = H:sub(1, -2)
            -- A token that was drawn with the grant has the digits of the ticket.
            local ticket_digits = named == ticket and ARGV[5] or string.format('%016.0f', ticket)
            -- Only these two can fail, so they come first. After such a write, a script may write
            -- even where memory is full.
            call('ZREM', base .. 't', identity)
            local removed = redis.pcall('ZREM', base .. 'p', (exclusive and 'X' or 'S') .. path
                .. '\0' .. owner .. '\0' .. ticket_digits .. '\0')
            if type(removed) == 'table' then
                call('ZADD', base .. 't', deadline, identity)
                return removed
            end
            call(unpack(gone))
            if named ~= 0 then -- R3
                if is_used_block then
                    call('DEL', ended_key)
                end
                if redis.pcall('HSET', ended_key, ARGV[5], identity) == 1 then
                    ended = ended_next
                    if is_new_block then
                        call('PEXPIRE', ended_key, SPAN_KEPT_MS)
                    end
                end
            end
            written[4] = write(ROOT, ROOT_MARK, draw, first, expiry, kept, live - 1, sleepers,
                crowded, ended, boot)
            call(unpack(written))
            return now
        end
    end
end
