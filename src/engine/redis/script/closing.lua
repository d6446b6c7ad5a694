-- SPDX-License-Identifier: Apache-2.0
-- The closing of the script: what was asked for, and the writing back. Requests under roots that were
-- loaded on the way (those of waiting batches, of needs) may be overdue, too: they perish at the end,
-- and the grants that follow take place.
if operation == 'release' or operation == 'renew' or operation == 'finish'
    or operation == 'break' then
    call('HDEL', H, '') -- where memory is full, what follows such a write may pass
end
local is_done, answer = pcall(function()
    local answer = L.operations[operation]()
    L.sweep()
    L.flush()
    return answer or {AGAIN, now}
end)
if not is_done then
    L.take_back()
    error(answer, 0)
end
return answer
end

return rules()
