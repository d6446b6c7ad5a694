-- SPDX-License-Identifier: Apache-2.0
-- The end of the script: runs the operation and writes the changes back. Requests under roots that
-- the operation has loaded (for waiting batches, for needs) may be overdue, too: they perish then,
-- and what they blocked is granted.
if operation == 'release' or operation == 'renew' or operation == 'drop' or operation == 'break'
then -- finish decides by itself
    call('HDEL', H, '') -- after such a write, a script may write even where memory is full
end
local is_done, answer = pcall(function()
    local answer = L.operations[operation]()
    L.sweep()
    L.flush()
    return answer or {AGAIN, now}
end)
if not is_done then
    L.roll_back()
    error(answer, 0)
end
return answer
end

return rules()
