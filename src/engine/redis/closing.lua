-- SPDX-License-Identifier: Apache-2.0
-- The closing of the script: what was asked for, and the writing back.
local answer = L.operations[operation]()
L.flush()
return answer or {AGAIN, now}
end

return rules()
