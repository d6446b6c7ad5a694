-- SPDX-License-Identifier: Apache-2.0
-- usage: docs.lua FOLDER LK LUA VERSION: each Lua example of the binding's page, run as it is printed,
-- and the rock's description beside what it describes. FOLDER: bindings/lua.
local folder, lk, lua, version = ...

-- For each example in the page's order: what it prints, as a pattern.
local PRINTED = {
    "token\t%d+\n",
    "backs up\ntrue\nnot granted within the time given: mydatabase/mytest is held by test.-\ttest\n",
    "makes reports\n",
    "",
    "18\tfalse\n",
    "sends\t4711\tto: ana\n",
    "false\ttrue\tready\n",
    "sends\t4711\tto: ana\n",
    "7\n",
    "sends\t1\nsends\t3\n",
    "granted\treleased\nnil\n",
}

local count, failed = 0, 0

local function report(name, is_good, trouble)
    count = count + 1
    print((is_good and "ok " or "not ok ") .. count .. " - " .. name)
    if not is_good then
        failed = failed + 1
        print("# " .. tostring(trouble):gsub("\n", "\n# "))
    end
end

local function output(command)
    local pipe = assert(io.popen(command .. " 2>&1"))
    local said = pipe:read("a")
    return pipe:close(), said
end

local _, place = output("mktemp -d")
place = place:gsub("\n", "")
local env = ("LK_STORE=sqlite:'%s'/locks.db "):format(place)
local run = ("cd '%s' && %s"):format(place, env)
output(run .. [[sqlite3 app.db 'CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER);
    INSERT INTO orders VALUES (1, 0), (2, 1), (3, 0)']])

local page <close> = assert(io.open(folder .. "/README.md"))
local examples = {}
for example in page:read("a"):gmatch("\n```lua\n(.-)\n```\n") do examples[#examples + 1] = example end
report("the page has as many examples as are listed here", #examples == #PRINTED, #examples)
for i, example in ipairs(examples) do
    local file = assert(io.open(place .. "/example.lua", "w"))
    file:write(example)
    file:close()
    local in_the_way = example:find("host/reset", 1, true) ~= nil -- a test, for the reset
    if in_the_way then output(env .. lk .. " acquire mydatabase/mytest --owner test") end
    local is_good, said = output(run .. lua .. " example.lua")
    if in_the_way then output(env .. lk .. " release mydatabase/mytest --owner test") end
    report("example " .. i, is_good and said:find("^" .. (PRINTED[i] or "?") .. "$"), said)
end

local rock = {}
assert(loadfile(folder .. ("/lockkeeper-%s-1.rockspec"):format(version), "t", rock))()
report("the rock has the version of the library", rock.version == version .. "-1", rock.version)
local _, there = output(("cd '%s' && ls src/*.c"):format(folder))
report("the rock is made of what is there",
       there == table.concat(rock.build.modules.lockkeeper.sources, "\n") .. "\n", there)

output("rm -rf '" .. place .. "'")
print("1.." .. count)
os.exit(failed == 0)
