-- SPDX-License-Identifier: Apache-2.0
-- The ask of one path that nobody is in the way of: four calls, and no function. Whatever is not
-- as plain as that is left to rules(). The numbers of a path are those of nodes.lua, in its order.
if operation == 'ask' and ARGV[14] == '1' and ARGV[13] == '0' and ARGV[9] == '0'
    and ARGV[18] == '' then
    local H, owner, path = KEYS[1], ARGV[6], ARGV[15]
    local identity = owner .. '\0' .. path
    local fields = {'x', 'r' .. identity, 'o' .. owner, 'n' .. path}
    local at = path:find('/', 1, true)
    while at do
        fields[#fields + 1] = 'n' .. path:sub(1, at - 1)
        at = path:find('/', at + 1, true)
    end
    local got = call('HMGET', H, unpack(fields))
    if got[1] and not got[2] and not got[3] then
        local draw, first, expiry, kept, live, sleepers, known = read(ROOT, got[1])
        local limit, units = tonumber(ARGV[16]), tonumber(ARGV[17])
        local exclusive = units == 0
        local ttl = tonumber(ARGV[8])
        ttl = ttl == 0 and 60000 or ttl
        local deadline = now + ttl * 1000
        local free = known == boot and first > now
            and (expiry == 0 or expiry >= deadline + MARGIN)
        local written = {'HSET', H, 'x', '', 'r' .. identity, '', 'o' .. owner, '1'}
        local in_use = units
        for i = 4, #fields do
            local packed = got[i]
            if not free then
                break
            elseif not packed and exclusive then
                packed = i == 4 and ALONE_HERE or ALONE_BELOW
            else
                local hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0
                if packed then
                    hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = open(packed)
                end
                if i == 4 then -- R7 at the path and below it; those who wait may be passed (R13)
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
            local ticket = draw + 1 > now and draw + 1 or now -- R4
            local flags = ARGV[7] == '2' and 1 or 0
            if deadline < first then
                first = deadline
            end
            written[4] = write(ROOT, ticket, first, expiry, kept, live + 1, sleepers, known)
            written[6] = write(REQUEST_OF_ONE, 1, flags, 1, ticket, ticket, ttl, deadline, ticket,
                owner, ARGV[11], '', path, limit, units)
            call(unpack(written))
            local base, place, due = H:sub(1, -2), nil, deadline
            if is_plain_time and ticket == now then
                place = second .. fraction
                due = ttl % 1000 == 0 and second + ttl / 1000 .. fraction or deadline
            else
                place = string.format('%016.0f', ticket)
            end
            call('ZADD', base .. 't', due, identity)
            call('ZADD', base .. 'p', '0', (exclusive and 'X' or 'S') .. path .. '\0' .. owner
                .. '\0' .. place .. '\0')
            return {GRANTED, now, ticket, ttl, deadline, in_use}
        end
    end
end
