-- SPDX-License-Identifier: Apache-2.0
-- The closing of the script: what was asked for, and the writing back.
if operation == 'release' or operation == 'renew' or operation == 'finish'
    or operation == 'break' then
    call('HDEL', H, '') -- where memory is full, what follows such a write may pass
end
local answer = L.operations[operation]()
L.flush()
return answer or {AGAIN, now}
end

return rules()
