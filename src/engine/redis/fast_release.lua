-- SPDX-License-Identifier: Apache-2.0
-- The release of one path that nobody waits for. Whatever is not as plain as that is left to
-- rules().
if operation == 'release' and ARGV[10] == '1' and ARGV[8] == '0' and ARGV[12] == '' then
    local H, owner, path = KEYS[1], ARGV[6], ARGV[11]
    local identity = owner .. '\0' .. path
    local fields = {'x', 'r' .. identity, 'o' .. owner, 'n' .. path}
    local at = path:find('/', 1, true)
    while at do
        fields[#fields + 1] = 'n' .. path:sub(1, at - 1)
        at = path:find('/', at + 1, true)
    end
    local got = call('HMGET', H, unpack(fields))
    if got[1] and got[2] and got[3] == '1' then
        local draw, first, expiry, kept, live, sleepers, known = read(ROOT, got[1])
        local held, flags, _, ticket, token, _, _, _, _, _, _, _, _, units =
            read(REQUEST_OF_ONE, got[2])
        local named = tonumber(ARGV[7])
        local exclusive = units == 0
        local plain = known == boot and first > now and sleepers <= now and held == 1 and flags < 2
            and (named == 0 or named == token)
            and (live > 1 or expiry ~= 0 and expiry < now + 3600000000)
        local gone = {'HDEL', H, 'r' .. identity, 'o' .. owner}
        local written = {'HSET', H, 'x', ''}
        for i = 4, #fields do
            local packed = got[i]
            if not plain then
                break
            elseif packed == (i == 4 and ALONE_HERE or ALONE_BELOW) and exclusive then
                gone[#gone + 1] = fields[i]
            else
                local hx, hs, u, bx, bs, wx, ws, wu, cx, cs, lc, lw = open(packed)
                if i == 4 then
                    plain = cx == 0 and cs == 0
                    hx, hs = hx - (exclusive and 1 or 0), hs - (exclusive and 0 or 1)
                    u = u - units
                else
                    plain = wx == 0 and ws == 0
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
        if plain then
            written[4] = write(ROOT, draw, first, expiry, kept, live - 1, sleepers, known)
            if named ~= 0 then -- R3
                written[#written + 1] = 'z' .. named % 4096
                written[#written + 1] = write('<dd', named, now) .. identity
            end
            call(unpack(written))
            call(unpack(gone))
            local base = H:sub(1, -2)
            call('ZREM', base .. 't', identity)
            -- A token that was drawn with the grant is the ticket in writing.
            local place = named == ticket and ARGV[7] or string.format('%016.0f', ticket)
            call('ZREM', base .. 'p', (exclusive and 'X' or 'S') .. path .. '\0' .. owner .. '\0'
                .. place .. '\0')
            return {OK, now}
        end
    end
end
