-- SPDX-License-Identifier: Apache-2.0
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
