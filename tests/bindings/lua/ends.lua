-- SPDX-License-Identifier: Apache-2.0
-- usage: ends.lua PATTERN LK: signals, hooks, fork(), the garbage collector, the end of a state.
local lk, system = require "lockkeeper", require "system"
local support = assert(loadfile(package.searchpath("support", package.path)))(...)
local case, equal, raises, refuses, until_ =
    support.case, support.equal, support.raises, support.refuses, support.until_
local SIGINT, SIGUSR1 = 2, 10

-- `lua` says where it was interrupted if that was in a function of Lua.
local function plain(said) return (said:gsub("%(command line%):%d+: ", "")) end

-- Runs the source while "t" is held, and sends the signal once it waits.
local function interrupted(store, url, number, source)
    local held <close> = store:lock("t", {owner = "ana"})
    local program = support.program(url, source)
    until_(function() return support.waits(store, "ben") end)
    program:signal(number)
    local code, said = program:ends()
    equal(support.waits(store, "ben"), false)
    equal({held:lost(), #store:list()}, {false, 1})
    return code, plain(said)
end

case("SIGINT ends a wait, which leaves no request", function(store, url)
    equal({interrupted(store, url, SIGINT, 'print(pcall(store.lock, store, "t", {owner = "ben"}))')},
          {0, "false\tinterrupted!"})
    equal({interrupted(store, url, SIGINT,
                       'print(pcall(store.ask, store, "t", {owner = "ben", style = "wait"}))')},
          {0, "false\tinterrupted!"})
end)

case("SIGINT ends the try that a wait begins with", function(_, url, path)
    if url:find("^sqlite:") then
        return -- the test cannot stop it
    end
    local service = support.serve(path .. ".own")
    local program <close> = support.program(url .. ".own", [[
        local held = store:lock("t")
        print("held")
        io.read()
        print(pcall(function()
            print("asks")
            store:lock("u", {patience = 600})
        end))]])
    equal(program:heard(), "held")
    support.stopped(service)
    program:say("")
    equal(program:heard(), "asks")
    system.sleep(300) -- so that it most probably does
    program:signal(SIGINT)
    until_(function() -- while nothing answers
        local file <close> = assert(io.open("/proc/" .. program.id .. "/stat"))
        return file:read("a"):match("%) (%a)") == "Z"
    end, "the interrupt")
    local code, said = program:ends()
    equal({code, plain(said)}, {0, "false\tinterrupted!"})
end)

case("SIGINT ends a wait in another coroutine", function(store, url)
    equal({interrupted(store, url, SIGINT, [[
        local thread = coroutine.create(function() store:lock("t", {owner = "ben"}) end)
        print(pcall(function()
            local _, why = coroutine.resume(thread)
            print(why.outcome)
        end))]])}, {0, "false\tinterrupted!"})
end)

case("a handler may run while the wait goes on, or end it", function(store, url)
    local source = [[
        system.handle(10, function() print("handled") %s end)
        local is_good, why = pcall(store.lock, store, "t", {owner = "ben", ttl = 0.5})
        print(is_good, not is_good and why or "")]]
    local held = store:lock("t")
    local program <close> = support.program(url, source:format(""))
    until_(function() return support.waits(store, "ben") end)
    program:signal(SIGUSR1)
    equal(program:heard(), "handled")
    equal(support.waits(store, "ben"), true)
    held:release()
    equal({program:ends()}, {0, "true\t"})
    equal({interrupted(store, url, SIGUSR1, source:format("error('enough', 0)"))},
          {0, "handled\nfalse\tenough"})
    equal({interrupted(store, url, SIGUSR1, source:format(
        "print(pcall(store.close, store)) print(store:get('v')) error('enough', 0)"))},
        {0, "handled\nfalse\tthe store cannot be closed while a call waits for it\nnil\nfalse\tenough"})
end)

case("a handler may end the process", function(store, url)
    local held <close> = store:lock("t")
    local program <close> = support.program(url, [[
        system.handle(10, function() os.exit(7, true) end)
        store:lock("t", {owner = "ben", ttl = 1})]])
    until_(function() return support.waits(store, "ben") end)
    program:signal(SIGUSR1)
    equal(program:ends(), 7)
end)

case("SIGINT ends loops over work and events", function(store, url)
    local program <close> = support.program(url, [[
        local watch = store:watch()
        print("watching")
        local last
        print(pcall(function() for event in watch do last = event.sequence print(event.kind) end end))
        print(watch:position() == last)]])
    equal(program:heard(), "watching")
    store:put("v", "")
    equal(program:heard(), "value_written")
    program:signal(SIGINT)
    local code, said = program:ends()
    equal({code, plain(said)}, {0, "false\tinterrupted!\ntrue"})
    store:push("mails", "1")
    local worker <close> = support.program(url, [[
        print(pcall(function() for item in store:work("mails") do print(item.id) end end))]])
    equal(worker:heard(), "1")
    until_(function() return #store:items("mails") == 0 end) -- it asks for the next one
    worker:signal(SIGINT)
    code, said = worker:ends()
    equal({code, plain(said)}, {0, "false\tinterrupted!"})
end)

case("a child of fork() gets errors", function(store, url)
    store:push("mails", "1")
    local lease <close> = store:lock("t", {owner = "ana"})
    local work <close> = store:work("mails")
    local item = work:next()
    local child = system.fork()
    if child == 0 then
        local is_good, why = pcall(function()
            for _, call in ipairs{
                function() store:lock("a") end, function() store:get("a") end,
                function() lease:release() end, function() work:next() end,
                function() item:done() end, function() item:lost() end} do
                assert(tostring(raises("internal", call)):find("fork"))
            end
            assert(lease:lost())
            work:close()
            store:close()
            local mine <close> = lk.open(url)
            assert(mine:try_lock("t") == nil)
            local other <close> = mine:lock("u", {wait = 60})
            collectgarbage()
        end)
        if not is_good then io.stderr:write(tostring(why), "\n") end
        system.exit(is_good and 0 or 1)
    end
    equal(system.wait(child), 0)
    lease:check()
    item:done()
    equal(store:items("mails"), {})
end)

case("whatever is collected, in any order", function(store, url)
    store:push("mails", "1")
    for i = 1, 20 do
        local other = lk.open(url)
        local things = {other, other:lock("t" .. i, {ttl = 0.3}), other:watch(), other:work("mails")}
        things[#things + 1] = i % 2 == 0 and other:work("mails", {retry_min = 0.001}):next() or nil
        things[#things + 1] = things
        if i % 3 == 0 then other:close() end
        other, things = nil, nil
        collectgarbage()
    end
    until_(function() return #store:list() == 0 end)
    equal(store:items("mails")[1].state, "ready")
    equal(store:stats("mails").done, 0)
end)

case("no thread and no file stays", function(store, url)
    local function entries(what)
        local pipe <close> = io.popen("ls /proc/" .. system.pid() .. "/" .. what .. " | wc -l")
        return tonumber(pipe:read("a"))
    end
    local function use()
        local other <close> = lk.open(url)
        local lease <close> = other:lock("t")
        other:push("mails", "1")
        for _ in other:work("mails", {drain = true}) do end
        local watch <close> = other:watch()
    end
    local function is_quiet() return entries("task") <= 2 end -- this one, and one that renews
    use()
    until_(is_quiet) -- also what the cases before have left is closed
    local files = entries("fd")
    for _ = 1, 10 do use() end
    until_(is_quiet)
    assert(entries("fd") < files + 5) -- SQLite may close a file later, not each time
end)

case("a state ends with leases held and work begun", function(store, url)
    for i, source in ipairs{
        'lease = store:lock("t1", {ttl = 0.5})',
        'store:lock("t2", {ttl = 0.5}) store = nil',
        'lease = store:lock("t3", {ttl = 0.5}) error("wanted", 0)',
        'lease = store:lock("t4", {ttl = 0.5}) os.exit(5, true)',
        'lease = store:lock("t5", {ttl = 0.5}) os.exit(5)',
        'store:push("q", "1") work = store:work("q") item = work:next()',
        'store:push("q", "2") work = store:work("q") item = work:next() store:close() item = nil',
        'watch = store:watch()'} do
        local program <close> = support.program(url, source)
        equal({i, program:ends()}, {i, (i == 3 and 1) or ((i == 4 or i == 5) and 5) or 0, ""})
    end
    until_(function() return #store:list() == 0 end)
end)

case("a store that goes away, and comes back", function()
    local _, path = support.fresh()
    path = path .. ".away"
    local service = support.serve(path)
    local store <close> = lk.open("lk+unix:" .. path)
    local lease = store:lock("t", {ttl = 0.5})
    local waits <close> = support.program("lk+unix:" .. path, [[
        print(io.read()) io.read() store:lock("u") print("held") io.read()]])
    waits:say("opened")
    equal(waits:heard(), "opened")
    service:signal(9)
    equal((service:ends()), -9)
    raises("unavailable", store.lock, store, "u", {wait = 0, patience = 0.05})
    raises("unavailable", store.claim, store, "mails", {wait = 0, patience = 0.05})
    until_(function() return store:away() > 0 end, "that it is away")
    until_(function() return lease:lost() end, "the loss") -- without any answer
    waits:say("now")
    support.serve(path)
    equal(waits:heard(), "held") -- as long as it takes
    store:lock("w"):release()
    store:put("v", "as ever")
    until_(function() return store:away() == 0 end, "that it is back")
    equal(store:get("v"), "as ever")
    raises("lost", lease.release, lease, {put = "x"})
end)

support.main()
