-- SPDX-License-Identifier: Apache-2.0
-- A single request: the only live one under its root, held, of one path. It is kept in field x. The
-- other fields and keys are created when a second request comes (L.unfold() in states.lua). So most
-- locks, which are never contended, cost one read and one write. A root that had several requests
-- lately (it is crowded) does not become single. Every other case continues in the next files.
--
-- The plain calls: a, an ask for one path; r, its release; n, its renewal (call.h).
if known == boot and (mark == SINGLE_MARK or live == 0 and crowded <= now) and sleepers <= now then
    if operation == 'a' and (live == 0 or first <= now) then
        local _, ttl = read('<Bd', ARGV[5])
        local deadline = now + ttl * 1000
        local is_short = expiry < deadline + MARGIN
        if is_short then
            expiry = deadline + MARGIN + 60000000
        end
        local packed = write(SINGLE, SINGLE_MARK, ticket, deadline, expiry, ended, boot)
            .. ARGV[5] .. ARGV[6] .. '\0' .. ARGV[7] .. '\0'
        if x then
            call('HSET', H, 'x', packed)
        else
            call('HSET', H, 'x', packed, 'g', ticket)
        end
        if is_short then
            call('PEXPIRE', H, math.ceil((expiry - now) / 1000))
        end
        return ticket == now and now or {1, now, ticket}
    elseif live == 1 and first > now and ARGV[6] then
        local token, identity = ARGV[5], ARGV[6]
        if x:sub(rest + SINGLE_REST, rest + SINGLE_REST + #identity) ~= identity .. '\0'
            or token ~= '0' and tonumber(token) ~= draw then
            -- another owner's, or another lease
        elseif operation == 'r' and expiry <= now + 3600000000 then
            if token ~= '0' then -- R3
                if is_used_block then
                    call('DEL', ended_key)
                end
                if redis.pcall('HSET', ended_key, token, identity) == 1 then
                    ended = ended_next
                    if is_new_block then
                        call('PEXPIRE', ended_key, SPAN_KEPT_MS)
                    end
                end
            end
            local gone = write(EMPTY, EMPTY_MARK, draw, expiry, ended, boot)
            if redis.pcall('HSET', H, 'x', gone) ~= 0 then
                call('HDEL', H, '') -- then the next write passes even where memory is full
                call('HSET', H, 'x', gone)
            end
            return now
        elseif operation == 'n' then
            local flags, ttl, limit, units = read('<BdI4I4', x, rest)
            ttl = ARGV[7] == '0' and ttl or tonumber(ARGV[7])
            local deadline = now + ttl * 1000
            if expiry >= deadline + MARGIN then
                local renewed = write(SINGLE, SINGLE_MARK, draw, deadline, expiry, ended, boot)
                    .. write('<BdI4I4', flags, ttl, limit, units) .. x:sub(rest + SINGLE_REST)
                if redis.pcall('HSET', H, 'x', renewed) ~= 0 then
                    call('HDEL', H, '')
                    call('HSET', H, 'x', renewed)
                end
                return {0, now, draw, ttl}
            end
        end
    end
end
