-- SPDX-License-Identifier: Apache-2.0
-- Cases as TAP, stores for them, and other processes that use the binding.
local lk = require "lockkeeper"
local system = require "system"

-- STRETCH: how many times longer than else times are, on a machine that is busy (tests/timed).
local support = {cases = {}, STRETCH = tonumber(os.getenv("LK_TEST_STRETCH") or 1)}
local PATIENCE_S = 50 + 10 * support.STRETCH -- longer than any time that a case waits for
local pattern, program = ...
io.stdout:setvbuf("line")

local place = os.tmpname()
os.remove(place)
os.execute("mkdir -m 700 '" .. place .. "'")

-- ---- other processes ----------------------------------------------------------------------------

local Program = {}
Program.__index = Program

local function spawn(words)
    local id, into, out = system.spawn(words)
    return setmetatable({id = id, into = into, out = out}, Program)
end

function Program:heard() return system.read(self.out) end
function Program:say(line) return system.write(self.into, line .. "\n") end
function Program:signal(number) system.kill(self.id, number) end

-- The exit code, and the rest of what it said.
function Program:ends()
    if self.code == nil then
        system.close(self.into)
        local lines = {}
        for line in function() return system.read(self.out) end do lines[#lines + 1] = line end
        self.code, self.said = system.wait(self.id), table.concat(lines, "\n")
        system.close(self.out)
    end
    return self.code, self.said
end

function Program:__close()
    if self.code == nil then
        system.kill(self.id, 9)
        self:ends()
    end
end

-- Another Lua, with `lk`, `system` and an open `store`.
function support.program(url, source)
    local preamble = 'io.stdout:setvbuf("line") lk, system = require "lockkeeper", require "system" '
        .. string.format("store = lk.open(%q) ", url)
    return spawn{arg[-1], "-e", preamble .. source}
end

function support.until_(condition, what)
    local last = os.time() + PATIENCE_S
    while not condition() do
        if os.time() > last then error((what or "it") .. " has not happened", 2) end
        system.sleep(5)
    end
end

function support.stopped(one)
    one:signal(19)
    support.until_(function()
        local file <close> = assert(io.open("/proc/" .. one.id .. "/stat"))
        return file:read("a"):match("%) (%a)") == "T"
    end, "the stop")
end

-- ---- stores -------------------------------------------------------------------------------------

local count, services = 0, {}

-- A service, which keeps nothing.
function support.serve(path)
    local service = spawn{program, "serve", "--unix", path, "--listen", "none", "--http", "none",
                          "--ephemeral"}
    services[#services + 1] = service
    service:heard() -- its address: it is there
    return service
end

function support.fresh()
    count = count + 1
    local path = place .. "/t" .. count
    if pattern ~= "service" then return (pattern:gsub("{fresh}", path)), path end
    support.serve(path)
    return "lk+unix:" .. path, path
end

function support.holds(store, owner, is_held)
    for _, entry in ipairs(store:list()) do
        if entry.owner == owner and entry.held == (is_held ~= false) then return true end
    end
    return false
end

function support.waits(store, owner) return support.holds(store, owner, false) end

-- The file of a store that is not to answer, or is again.
function support.move(from, to)
    for _, part in ipairs{"", "-wal", "-shm"} do os.rename(from .. part, to .. part) end
end

-- ---- checks -------------------------------------------------------------------------------------

local function shown(value)
    if math.type(value) == "float" and value == value // 1 then return ("%d"):format(value) end
    if type(value) == "string" then return ("%q"):format(value) end
    if type(value) ~= "table" or getmetatable(value) ~= nil then return tostring(value) end
    local parts = {}
    for key, one in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. shown(one) end
    table.sort(parts)
    return "{" .. table.concat(parts, " ") .. "}"
end

function support.equal(found, wanted)
    if shown(found) ~= shown(wanted) then
        error("found " .. shown(found) .. ", wanted " .. shown(wanted), 2)
    end
end

-- An error object with this outcome.
function support.raises(outcome, call, ...)
    local is_good, raised = pcall(call, ...)
    if is_good or type(raised) ~= "table" or raised.outcome ~= outcome
        or tostring(raised) == "" then
        error("found " .. shown(raised) .. ", wanted " .. outcome, 2)
    end
    return raised
end

-- A text with this pattern in it.
function support.refuses(text, call, ...)
    local is_good, raised = pcall(call, ...)
    if is_good or type(raised) ~= "string" or not raised:find(text) then
        error("found " .. shown(raised) .. ", wanted " .. text, 2)
    end
end

function support.case(name, body) support.cases[#support.cases + 1] = {name, body} end

function support.main()
    local failed = 0
    for i, case in ipairs(support.cases) do
        local is_good, trouble = xpcall(function()
            local url, path = support.fresh()
            local store <close> = lk.open(url)
            case[2](store, url, path)
        end, function(raised) return debug.traceback(tostring(raised)) end)
        collectgarbage()
        print((is_good and "ok " or "not ok ") .. i .. " - " .. case[1])
        if not is_good then
            failed = failed + 1
            print((("\n" .. trouble):gsub("\n", "\n# "):sub(2)))
        end
    end
    print("1.." .. #support.cases)
    for _, service in ipairs(services) do service:__close() end
    os.execute("rm -rf '" .. place .. "'")
    os.exit(failed == 0, true)
end

return support
