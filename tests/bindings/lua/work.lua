-- SPDX-License-Identifier: Apache-2.0
-- usage: work.lua PATTERN LK: queues of work, work over a table, and events.
local lk, system = require "lockkeeper", require "system"
local support = assert(loadfile(package.searchpath("support", package.path)))(...)
local case, equal, raises, refuses, until_ =
    support.case, support.equal, support.raises, support.refuses, support.until_
local pattern = ...

local function fast(options)
    options = options or {}
    options.retry_min, options.retry_max = 0.001, 0.002
    return options
end

local function states(store)
    local found = {}
    for _, item in ipairs(store:items("mails")) do found[item.id] = item.state end
    return found
end

case("pushes, and wrong ones", function(store)
    store:push("mails", "1", "a\0b")
    store:push("mails", "2")
    equal(store:items("mails")[1].value, "a\0b")
    equal({store:drop("mails", "2"), store:queues()["mails"].ready_now}, {1, 1})
    raises("lost", store.drop, store, "mails", "2")
    refuses("priority", store.push, store, "mails", "3", nil, {priority = 2 ^ 40})
    raises("invalid", store.push, store, "mails", "3", nil, {priority = 40000})
    refuses("string", store.push, store, "mails", "3", 5)
    refuses("needs", store.push, store, "mails", "3", nil, {needs = {5}})
    refuses("boolean", store.push, store, "mails", "3", nil, {again = 1})
    raises("invalid", store.push, store, "mails", "3", nil, {again = true, replace = true})
end)

case("an item that is there is left or replaced", function(store)
    equal({store:push("mails", "1", "old")}, {true})
    equal({store:push("mails", "1", "new")}, {false, false, "ready"})
    equal({store:push("mails", "1", "new", {delay = 1000, replace = true})}, {false, true, "ready"})
    local item = store:items("mails")[1]
    equal({item.state, item.value}, {"delayed", "new"})
    equal({store:push_many("mails", {{"1", "newer"}, {"2"}}, {replace = true})}, {1, 1, 1})
    equal(store:items("mails")[1].value, "newer")
end)

case("an item that is pushed again while it is worked on", function(store)
    store:push("mails", "1", "old")
    local seen = {}
    for item in store:work("mails", {drain = true, ttl = 20}) do
        seen[#seen + 1] = item.value .. item.attempt
        if #seen == 1 then
            equal({store:push("mails", "1", "new", {again = true})}, {false, true, "claimed"})
            equal(states(store), {["1"] = "again"})
            equal({store:push("mails", "1")}, {false, false, "again"})
        end
    end
    equal({seen, states(store)}, {{"old1", "new1"}, {}})
end)

case("many items are pushed in one call", function(store)
    equal({store:push_many("mails", {})}, {0, 0, 0})
    store:push_many("mails", {{"1", "one"}, {"2"}, {"3", "a\0b"}})
    local items = store:items("mails")
    equal({items[1].value, items[2].value, items[3].value}, {"one", nil, "a\0b"})
    local crowd = {}
    for i = 1, 2500 do crowd[i] = {tostring(i)} end
    equal({store:push_many("crowd", crowd)}, {2500, 0, 0})
    equal({store:push_many("crowd", crowd)}, {0, 2500, 0})
    equal({store:push_many("crowd", crowd, {again = true})}, {0, 2500, 2500})
    equal(store:stats("crowd").ready_now, 2500)
    equal(store:stats("crowd").oldest_ready >= 0, true)
    raises("invalid", store.push_many, store, "mails", {{"4"}, {"5/6"}})
    raises("invalid", store.push_many, store, ("p"):rep(600), {{"4"}})
    refuses("table", store.push_many, store, "mails", nil)
    refuses("no option", store.push_many, store, "mails", {{"4"}}, {delay = 1})
    raises("invalid", store.push_many, store, "mails", {{"4"}}, {again = true, replace = true})
    refuses("NUL", store.push_many, store, "mails", {{"4"}, {"5\0"}})
    refuses("each id must be a string", store.push_many, store, "mails", {{"4"}, {5}})
    refuses("each value must be a string", store.push_many, store, "mails", {{"4", 4}})
    refuses("each item must be a table", store.push_many, store, "mails", {"4"})
    equal(#store:items("mails"), 3) -- nothing of what was refused
end)

case("claims by hand", function(store)
    local claim, why = store:claim("mails", {wait = 0})
    equal({claim, why.outcome}, {nil, "busy"})
    claim, why = store:claim("mails", {wait = 0.02})
    equal({claim, why.outcome}, {nil, "timeout"})
    store:push_many("mails", {{"1", "a\0b"}, {"2"}})
    claim = store:claim("mails", {wait = 0, owner = "ana", ttl = 20, note = "by hand"})
    equal({claim.queue, claim.id, claim.owner, claim.value, claim.attempt, claim.is_stolen, claim.ttl},
          {"mails", "1", "ana", "a\0b", 1, false, 20})
    assert(claim.expires_in > 0 and claim.expires_in <= 20)
    local entry = store:list("mails")[1]
    equal({entry.owner, entry.token, entry.note}, {"ana", claim.token, "by hand"})
    local renewed = store:renew("mails/1", {owner = claim.owner, token = claim.token, ttl = 60})
    equal({renewed.token, renewed.ttl}, {claim.token, 60})
    store:retry(claim, "disk full", {exit_code = 3, delay = 3600})
    local kept = store:items("mails")[1]
    equal({kept.state, kept.last_error, kept.last_exit}, {"delayed", "disk full", 3})
    local second = store:claim("mails") -- a fresh owner
    assert(second.owner ~= "ana" and second.token > claim.token)
    store:done(second)
    store:done(second) -- repeated with its token
    equal(states(store), {["1"] = "delayed"})
end)

case("an item that is done by hand is kept with its result", function(store)
    store:push("sums", "1", "in", {keep = 60})
    store:push_many("sums", {{"2"}}, {keep = 60})
    store:push("sums", "3")
    raises("timeout", store.result, store, "sums", "1", {wait = 0})
    raises("timeout", store.result, store, "sums", "1", {wait = 0.02})
    equal(store:item("sums", "4"), nil)
    raises("none", store.result, store, "sums", "4")
    local claims = store:claim_many("sums", 3)
    store:progress(claims[1], "ha\0lf")
    equal(store:item("sums", "1").progress, "ha\0lf")
    store:progress(claims[1])
    equal(store:item("sums", "1").progress, nil)
    store:done(claims[1], "o\0ut")
    store:done(claims[2])
    raises("invalid", store.done, store, claims[3], ("x"):rep(65537))
    raises("invalid", store.done, store, claims[3], "out", {keep = 400 * 86400})
    raises("invalid", store.progress, store, claims[3], ("x"):rep(1025))
    refuses("string", store.done, store, claims[3], 5)
    refuses("string", store.progress, store, claims[3], 5)
    refuses("longer than 0", store.done, store, claims[3], "out", {keep = 0})
    refuses("no option", store.done, store, claims[3], "out", {wait = 1})
    refuses("no option", store.result, store, "sums", "1", {keep = 1})
    refuses("NUL", store.result, store, "sums", "1\0")
    equal(store:item("sums", "3").state, "claimed") -- nothing was done
    store:done(claims[3], "three", {keep = 60})
    equal({store:result("sums", "1"), store:result("sums", "2", {wait = 0}), store:result("sums", "3")},
          {"o\0ut", nil, "three"})
    raises("lost", store.progress, store, claims[1], "late")
    local kept = store:item("sums", "1")
    equal({kept.state, kept.value, kept.due_in > 0}, {"done", "o\0ut", true})
    equal({store:stats("sums").done_now, store:queues()["sums"].done_now}, {3, 3})
end)

case("a result is awaited, or its item is parked", function(store, url)
    store:push_many("sums", {{"1"}, {"2"}, {"3"}}, {keep = 60})
    local works <close> = support.program(url, [[
        for i = 1, 2 do
            local claim = store:claim("sums")
            print(claim.id)
            io.read()
            system.sleep(20)
            if i == 1 then store:done(claim, "out") else store:retry(claim, "no such sum", {exit_code = 4, park = true}) end
        end]])
    equal(works:heard(), "1")
    works:say("go")
    equal(store:result("sums", "1", {wait = 60}), "out")
    equal(works:heard(), "2")
    works:say("go")
    local problem = raises("parked", store.result, store, "sums", "2")
    equal({tostring(problem), problem.item.id, problem.item.last_exit},
          {"the item is parked: exit 4, no such sum", "2", 4})
    equal(works:ends(), 0)
    store:retry(store:claim("sums"), nil, {park = true})
    equal(tostring(raises("parked", store.result, store, "sums", "3")), "the item is parked")
    store:push("sums", "5", nil, {keep = 60})
    local waits <close> = support.program(url, [[
        print(pcall(function() print("waits") io.stdout:flush() store:result("sums", "5") end))]])
    equal(waits:heard(), "waits")
    system.sleep(20) -- it is interrupted before the wait or in it
    waits:signal(2)
    local code, said = waits:ends()
    equal({code, said:find("interrupted!", 1, true) ~= nil}, {0, true})
    store:close()
    refuses("closed", store.result, store, "sums", "1")
    refuses("closed", store.item, store, "sums", "1")
end)

case("a claim by hand that waits, and wrong ones", function(store, url)
    local pushes <close> = support.program(url, 'system.sleep(50) store:push("mails", "1")')
    local claim = store:claim("mails", {wait = 60})
    equal(claim.id, "1")
    store:break_("mails/1", {reason = "a test", by = "a test", at_once = true})
    raises("lost", store.done, store, claim)
    store:drop("mails", "1")
    local waits <close> = support.program(url, [[
        print(pcall(function() print("waits") io.stdout:flush() store:claim("mails") end))]])
    equal(waits:heard(), "waits")
    system.sleep(20) -- it is interrupted before the wait or in it
    waits:signal(2)
    local code, said = waits:ends()
    equal({code, said:find("interrupted!", 1, true) ~= nil}, {0, true})
    store:push("mails", "2")
    equal(states(store), {["2"] = "ready"})
    raises("invalid", store.claim, store, "mails", {wait = 0, ttl = 550 * 86400})
    raises("invalid", store.claim, store, ("p"):rep(600), {wait = 0})
    raises("invalid", store.claim, store, "mails", {wait = 0, max_attempts = 2000000})
    refuses("NUL", store.claim, store, "mails\0", {wait = 0})
    refuses("string", store.claim, store, nil)
    refuses("no option", store.claim, store, "mails", {shared = true})
    refuses("negative", store.claim, store, "mails", {wait = -1})
    refuses("table", store.done, store, "2")
    refuses("queue must be a string", store.done, store, {})
    refuses("no token", store.done, store, {queue = "mails", id = "2", owner = "ana"})
    refuses("no token", store.done, store, {queue = "mails", id = "2", owner = "ana", token = 1.5})
    refuses("no token", store.retry, store, {queue = "mails", id = "2", owner = "ana", token = "all"})
    refuses("must be 1 to 256", store.claim_many, store, "mails", 0)
    refuses("number expected", store.claim_many, store, "mails", {wait = 0})
    refuses("'owner'", store.done_many, store, "mails", {"2"})
    refuses("each id must be a string", store.done_many, store, "mails", {2}, {owner = "ana"})
    refuses("each id must be a string", store.drop, store, "mails", {"2", {}})
    claim = store:claim("mails")
    raises("invalid", store.retry, store, claim, nil, {delay = 550 * 86400})
    raises("invalid", store.retry, store, claim, ("x"):rep(1025))
    refuses("string", store.retry, store, claim, {})
    equal(states(store), {["2"] = "claimed"}) -- nothing was done
    store:close()
    refuses("closed", store.claim, store, "mails")
    refuses("closed", store.done, store, claim)
    refuses("closed", store.retry, store, claim)
    refuses("closed", store.push_many, store, "mails", {})
end)

case("a loop that is stopped decides on its item; one that is interrupted gives it back", function(store, url)
    store:push_many("mails", {{"1"}, {"2"}})
    local work <close> = store:work("mails")
    for item in work do
        work:stop()
        equal({item.id, states(store)}, {"1", {["1"] = "claimed", ["2"] = "ready"}})
    end
    equal({work:counts().done, states(store)}, {1, {["2"] = "ready"}})
    local never <close> = store:work("mails")
    never:stop()
    equal(never:next(), nil)
    for _, why in ipairs{"x.lua:1: interrupted!", setmetatable({outcome = "cancelled"}, {})} do
        for _, is_stopped in ipairs{true, false} do -- the work itself says so: it has failed
            local work = store:work("mails", {retry_min = 60})
            local is_whole = pcall(function()
                for _ in work, nil, nil, work do
                    if is_stopped then work:stop() end
                    error(why, 0)
                end
            end)
            local item = store:items("mails")[1]
            equal({is_whole, item.state, item.attempts},
                  is_stopped and {false, "ready", 0} or {false, "delayed", 1})
        end
        store:drop("mails", "2")
        store:push("mails", "2")
    end
    for _, wait in ipairs{"while true do end", "coroutine.wrap(wait)()"} do
        local loop <close> = support.program(url, ([[
            local function wait() store:claim("nothing", {wait = 60}) end
            print(pcall(function()
                for _ in store:work("mails", {retry_min = 60}) do
                    print("has it") io.stdout:flush()
                    %s
                end
            end))]]):format(wait))
        equal(loop:heard(), "has it")
        loop:signal(2)
        local code, said = loop:ends()
        local item = store:items("mails")[1]
        equal({code, said:find("interrupted", 1, true) ~= nil, item.state, item.attempts}, {0, true, "ready", 0})
    end
    local other = lk.open(url)
    local item = other:work("mails"):next()
    equal(item:lost(), false)
    other:close()
    equal({item:lost(), states(store)}, {true, {["2"] = "ready"}})
    raises("lost", item.check, item)
end)

case("a loop finishes what it goes on from", function(store)
    store:push("mails", "1", "one")
    store:push("mails", "2")
    local seen, work = {}, store:work("mails", {drain = true, ttl = 20, note = "a test"})
    for item in work do
        seen[#seen + 1] = {item.id, item.value, item.attempt}
        local entry = store:list("mails")[1]
        equal({entry.token, entry.note, item:lost()}, {item.token, "a test", false})
        assert(item:remaining() > 0)
        item:check()
    end
    equal({seen, work:counts().claims, work:counts().done}, {{{"1", "one", 1}, {"2", nil, 1}}, 2, 2})
    equal({states(store), work:next()}, {{}, nil})
end)

case("an item is decided on by its methods", function(store)
    store:push("mails", "1")
    local attempts, work = {}, store:work("mails", fast{drain = true})
    for item in work do
        attempts[#attempts + 1] = item.attempt
        if #attempts == 1 then
            item:retry("no route", {exit_code = 3})
            local kept = store:items("mails")[1]
            equal({kept.last_error, kept.last_exit}, {"no route", 3})
        elseif #attempts == 2 then
            item:give_back()
        else
            item:done()
            equal(states(store), {})
        end
        refuses("decided", item.done, item)
    end
    equal({attempts, work:counts().done, work:counts().retried}, {{1, 2, 2}, 1, 2}) -- what was given back has its attempt back
end)

case("an item of a loop is kept with its result", function(store)
    store:push("sums", "1", "in", {keep = 60})
    store:push("sums", "2")
    store:push("sums", "3", nil, {keep = 60})
    local work = store:work("sums", fast{drain = true})
    for item in work do
        item:progress("ha\0lf")
        equal(store:item("sums", item.id).progress, "ha\0lf")
        if item.id == "1" then
            item:done("o\0ut")
            refuses("decided", item.done, item, "other")
            raises("lost", item.progress, item, "late")
        elseif item.id == "2" then
            item:progress()
            equal(store:item("sums", item.id).progress, nil)
            item:done("two", {keep = 60})
        end
        equal(item:lost(), false)
    end
    equal({work:counts().done, work:counts().lost}, {3, 0})
    equal({store:result("sums", "1"), store:result("sums", "2")}, {"o\0ut", "two"})
    equal({store:result("sums", "3")}, {nil})
    equal(store:stats("sums").done_now, 3)
end)

case("a result that is refused, or whose claim is lost", function(store)
    store:push("sums", "1")
    do
        local work <close> = store:work("sums", fast())
        local item = work:next()
        refuses("string", item.done, item, 5)
        refuses("string", item.progress, item, 5)
        refuses("at most 65536 bytes", item.done, item, ("x"):rep(65537))
        refuses("longer than 0", item.done, item, "out", {keep = 0})
        refuses("no option", item.done, item, "out", {delay = 1})
        raises("invalid", item.progress, item, ("x"):rep(1025))
        equal(store:item("sums", "1").state, "claimed") -- nothing was done
        raises("invalid", item.done, item, "out", {keep = 400 * 86400})
        refuses("decided", item.done, item, "out")
    end
    assert(store:item("sums", "1").last_error:find("366 days"))
    equal(store:stats("sums").done, 0)
    do
        local work <close> = store:work("sums")
        local item = work:next()
        store:break_("sums/1", {reason = "a test", by = "a test", at_once = true})
        raises("lost", item.progress, item, "half")
        raises("lost", item.done, item, "out")
        equal(item:lost(), true)
    end
    local item = store:item("sums", "1")
    equal({item.state, store:stats("sums").done}, {"ready", 0})
end)

case("an item chooses when it is tried again", function(store)
    store:push_many("mails", {{"1"}, {"2"}})
    local work = store:work("mails", {max_attempts = 2})
    for item in work do
        refuses("negative", item.retry, item, "not now", {delay = -1})
        item:retry("not now", {delay = 3600, uncounted = item.id == "1", exit_code = 4})
        if item.id == "2" then work:stop() end
    end
    for i, item in ipairs(store:items("mails")) do
        equal({item.state, item.attempts, item.last_error, item.last_exit}, {"delayed", i - 1, "not now", 4})
        assert(item.due_in > 3000)
    end
end)

case("an end that is not answered is asked for again", function(store, url)
    if not url:find("^sqlite:") then
        return -- there it takes the ten seconds for which an unreachable store is asked
    end
    local path = url:sub(#"sqlite:" + 1)
    local function stopping(work) -- its worker has no more time for a store that is away
        local item = work:next()
        work:stop()
        support.move(path, path .. ".away")
        return item
    end
    for _, turn in ipairs{{"give_back"}, {"park"}, {"retry"}, {"done"}, {"done", "out"}} do
        local call, result = turn[1], turn[2]
        store:push("mails", "1", nil, {keep = result and 60})
        local work <close> = store:work("mails", fast())
        local item = stopping(work)
        for _ = 1, 3 do raises("unavailable", item[call], item, result) end
        support.move(path .. ".away", path)
        equal(store:stats("mails").claimed_now, 1)
        item[call](item, call == "retry" and "no route" or result)
        local left = store:items("mails")[1] or {}
        equal({left.state == "claimed", left.last_error}, {false, call == "retry" and "no route" or nil})
        refuses("decided", item.done, item) -- it is known
        equal({work:next(), work:counts().unknown}, {nil, 1})
        equal(store:unpark("mails"), call == "park" and 1 or 0)
    end
    equal({store:stats("mails").done, store:result("mails", "1")}, {2, "out"})
    store:drop("mails", {"1"})
    store:push("mails", "lost")
    do
        local work <close> = store:work("mails")
        local item = stopping(work)
        raises("unavailable", item.done, item)
        support.move(path .. ".away", path)
        equal(store:break_("mails/lost", {reason = "a test", by = "a test", at_once = true}), 1)
        raises("lost", item.done, item)
        equal(item:lost(), true)
    end
    local work <close> = store:work("mails")
    stopping(work)
    equal({work:next(), work:counts().unknown, work:counts().done}, {nil, 1, 0}) -- the turn says nothing of it
    support.move(path .. ".away", path)
    equal(states(store), {lost = "claimed"})
end)

case("what leaves a loop gives the item back", function(store)
    store:push("mails", "1")
    raises("busy", function()
        for item in store:work("mails", fast()) do
            local lease <close> = store:lock("t")
            store:lock("t", {wait = 0})
        end
    end)
    local kept = store:items("mails")[1]
    equal({kept.attempts, kept.state ~= "claimed"}, {1, true})
    assert(kept.last_error:find("not granted"))
    for item in store:work("mails", fast()) do break end
    equal(states(store), {["1"] = "ready"})
    local thread = coroutine.wrap(function()
        for item in store:work("mails") do coroutine.yield(item) end
    end)
    local item = thread()
    equal(states(store), {["1"] = "claimed"})
    thread = nil -- with the loop inside
    collectgarbage()
    until_(function() return states(store)["1"] == "ready" end)
    refuses("decided", item.done, item)
    equal(store:stats("mails").done, 0)
end)

case("an item that fails is parked", function(store)
    store:push("mails", "1")
    local work = store:work("mails", fast{drain = true, max_attempts = 2})
    for item in work do item:retry() end
    equal({states(store), work:counts().parked}, {{["1"] = "parked"}, 1})
    equal(store:unpark("mails", "1"), 1)
    raises("lost", store.unpark, store, "mails", "1")
    equal({states(store), store:unpark("mails"), store:drop("mails")}, {{["1"] = "ready"}, 0, 0})
end)

case("an item that cannot succeed is parked", function(store)
    store:push_many("mails", {{"1"}, {"2"}})
    local work = store:work("mails", {drain = true, max_attempts = 9})
    for item in work do
        refuses("no option", item.park, item, "no address", {delay = 1})
        item:park("no address", {exit_code = 4})
        refuses("decided", item.park, item)
    end
    equal({work:counts().parked, work:counts().retried}, {2, 2})
    for _, item in ipairs(store:items("mails")) do
        equal({item.state, item.attempts, item.last_error, item.last_exit}, {"parked", 1, "no address", 4})
    end
    equal(store:unpark("mails"), 2)
    local claim = store:claim("mails", {max_attempts = 9})
    raises("invalid", store.retry, store, claim, nil, {delay = 1, park = true})
    refuses("boolean", store.retry, store, claim, nil, {park = 1})
    store:retry(claim, "still none", {park = true})
    equal(states(store), {["1"] = "parked", ["2"] = "ready"})
end)

case("an item that is cancelled", function(store)
    local why = {reason = "a test", by = "ana"}
    store:push_many("mails", {{"1"}, {"2"}})
    equal(store:cancel("mails", "2", why), false)
    raises("lost", store.cancel, store, "mails", "2", why)
    raises("invalid", store.cancel, store, "mails", "1", {reason = "", by = "ana"})
    refuses("'reason' and 'by'", store.cancel, store, "mails", "1")
    refuses("string", store.cancel, store, "mails", 1, why)
    do
        local work <close> = store:work("mails", {ttl = 1})
        local item = work:next()
        equal(store:cancel("mails", "1", why), true)
        local state = states(store)["1"]
        assert(state == "cancelled" or state == nil) -- nil: it was slow
        until_(function() return item:lost() end)
        raises("lost", item.check, item)
    end
    until_(function() return next(states(store)) == nil end) -- with its claim
    store:push("mails", "3")
    local claim = store:claim("mails")
    equal(store:cancel("mails", "3", {reason = "a test", by = "ana", at_once = true}), true)
    equal(states(store), {})
    raises("lost", store.done, store, claim)
end)

case("a claim that is lost, or stolen", function(store, url)
    store:push("mails", "1")
    do
        local work <close> = store:work("mails", {ttl = 0.3})
        local item = work:next()
        store:break_("mails/1", {reason = "a test", by = "a test", at_once = true})
        until_(function() return item:lost() end)
        raises("lost", item.check, item)
        raises("lost", item.done, item)
        equal(item:lost(), true)
    end
    equal(states(store), {["1"] = "ready"})
    local worker <close> = support.program(url, [[
        for item in store:work("mails", {ttl = 1}) do print(item.id) io.read() end]])
    equal(worker:heard(), "1")
    worker:signal(9)
    equal(worker:ends(), -9)
    until_(function() return states(store)["1"] == "ready" end)
    for item in store:work("mails", {drain = true}) do
        equal({item.id, item.attempt > 2, item.is_stolen}, {"1", true, true})
    end
end)

case("a pool over a table", function(store, url, path)
    local table_ = {name = "orders", where = "sent = 0", order = "id DESC",
                    done = "UPDATE orders SET sent = :attempt WHERE id = :id"}
    refuses("queue or a table", store.work, store)
    refuses("table needs a name", store.work, store, nil, {table = {}})
    refuses("where must be a string", store.work, store, nil, {table = {name = "a", where = 1}})
    refuses("table has name", store.work, store, nil, {table = {name = "a", wehre = ""}})
    if pattern:sub(1, 7) ~= "sqlite:" then
        local work = store:work(nil, {table = table_})
        raises("unsupported", work.next, work)
        return
    end
    local function sql(statement)
        local pipe <close> = io.popen(("sqlite3 '%s.app' '%s'"):format(path, statement))
        return pipe:read("l")
    end
    sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER); "
        .. "INSERT INTO orders VALUES (1, 0), (2, 1), (3, 0)")
    local application <close> = lk.open("sqlite:" .. path .. ".app?share=yes")
    local seen = {}
    for item in application:work(nil, {table = table_, drain = true}) do
        seen[#seen + 1] = item.row_id
    end
    equal({seen, sql("SELECT sum(sent) FROM orders")}, {{"3", "1"}, "3"})
    local absent = application:work(nil, {table = {name = "absent"}})
    raises("invalid", absent.next, absent)
end)

case("events come in order and can be resumed", function(store, url)
    local first
    do
        local watch <close> = store:watch("db")
        store:lock("db/t?shared", {owner = "ana", note = "a test"}):release()
        store:lock("other"):release()
        store:push("db/mails", "1")
        first = watch:next()
        equal({first.kind, first.paths, first.parts, first.owner, first.note},
              {"granted", {"db/t"}, {"db/t?shared"}, "ana", "a test"})
        local released, pushed = watch:next(), watch:next()
        equal({released.kind, pushed.kind, pushed.queue, pushed.id},
              {"released", "pushed", "db/mails", "1"})
        equal({watch:next(0), watch:next(0.02)}, {nil, nil})
        assert(watch:position() >= pushed.sequence)
    end
    local kinds = {}
    for event in store:watch("db", {after = first.sequence}) do
        kinds[#kinds + 1] = event.kind
        if #kinds == 2 then break end
    end
    equal(kinds, {"released", "pushed"})
    local watch <close> = store:watch("late")
    local other <close> = support.program(url, 'system.sleep(50) store:lock("late")')
    equal(watch:next(60).kind, "granted")
    watch:close()
    equal(watch:next(), nil)
    refuses("wait", watch.next, watch, -1)
end)

support.main()
