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
