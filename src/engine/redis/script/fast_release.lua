-- SPDX-License-Identifier: Apache-2.0
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
