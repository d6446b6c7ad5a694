-- SPDX-License-Identifier: Apache-2.0
-- usage: locks.lua PATTERN LK: locks, leases, requests without keep-alive, values, wrong arguments.
local lk, system = require "lockkeeper", require "system"
local support = assert(loadfile(package.searchpath("support", package.path)))(...)
local case, equal, raises, refuses, until_ =
    support.case, support.equal, support.raises, support.refuses, support.until_
local YEAR_S = 366 * 86400
local STRETCH = support.STRETCH

case("a lease is held in its scope and free behind it", function(store)
    local kept
    do
        local lease <close> = store:lock("db/t1", {owner = "ana", note = "a test", ttl = 20})
        kept = lease
        equal({lease.owner, lease.paths, lease:lost()}, {"ana", {"db/t1"}, false})
        assert(lease.token > 0 and lease:remaining() > 0 and lease:remaining() <= 20)
        lease:check()
        local entry = store:list("db")[1]
        equal({entry.path, entry.note, entry.held, entry.token}, {"db/t1", "a test", true, lease.token})
        local none, why = store:try_lock("db/t1")
        equal({none, why.outcome, #why.blockers}, {nil, "busy", 1})
    end
    equal({store:list(), kept:lost(), kept:remaining()}, {{}, false, 0})
    kept:release() -- again: nothing
    raises("lost", kept.check, kept)
    assert(tostring(kept):find("db/t1 .*ended"))
end)

case("a lease that was quick stays for its least time", function(store)
    local function left() return store:list()[1].expires_in > 600 end
    do
        local lease <close> = store:lock("t", {ttl = 10, at_least = 3600})
    end
    assert(left() and store:try_lock("t") == nil)
    store:break_("t", {reason = "a test", by = "a test", at_once = true})
    store:lock("t", {at_least = 3600}):release{now = true}
    equal(store:list(), {})
    local lease = store:try_lock("t", {at_least = 3600})
    lease:convert{shared = true}
    raises("invalid", lease.release, lease, {put = "1"})
    lease:check()
    lease:release()
    assert(left())
    raises("invalid", store.lock, store, "u", {at_least = 0.01})
    raises("invalid", store.lock, store, "u", {at_least = 1, value = true})
end)

case("with() releases also behind an error, and returns what the body does", function(store)
    equal({store:with("t", function(lease) return lease.token > 0, 5 end)}, {true, 5})
    refuses("of the body", store.with, store, {"t", "u"}, {wait = 1}, function(lease)
        equal(lease.paths, {"t", "u"})
        error("of the body")
    end)
    equal(store:list(), {})
end)

case("a wait ends by its time, and is granted in order", function(store, url)
    local holder = store:lock("t", {owner = "ana"})
    local late = raises("timeout", store.lock, store, "t", {wait = 0.03})
    equal({late.blockers[1].owner, late.blockers[1].held}, {"ana", true})
    local source = 'local lease = store:lock("t", {owner = "%s"}) print(lease.token) '
        .. "io.read() lease:release()"
    local second <close> = support.program(url, source:format("ben"))
    until_(function() return support.waits(store, "ben") end)
    local third <close> = support.program(url, source:format("cem"))
    until_(function() return support.waits(store, "cem") end)
    holder:release()
    assert(tonumber(second:heard()) > holder.token)
    assert(support.waits(store, "cem"))
    equal(second:ends(), 0)
    equal(third:ends(), 0)
end)

case("a deadlock names its cycle", function(store, url)
    local mine <close> = store:lock("b", {owner = "ben"})
    local other <close> = support.program(url, [[
        local a = store:lock("a", {owner = "ana"})
        print("held")
        local b = store:lock("b", {owner = "ana"})]])
    equal(other:heard(), "held")
    until_(function() return support.waits(store, "ana") end)
    equal(raises("deadlock", store.lock, store, "a", {owner = "ben"}).cycle, {"ben", "ana"})
    mine:release()
    equal(other:ends(), 0)
end)

case("a lease that has ended is no scope", function(store)
    local kept
    do
        local lease <close> = store:lock("t")
        kept = lease
    end
    local entered = false
    refuses("non%-closable", function()
        local lease <close> = kept
        entered = true
    end)
    equal({entered, kept:lost(), #store:list()}, {false, false, 0})
    kept:release() -- its methods are there: again, nothing
    do
        local lease <close> = store:lock("t")
        lease:release() -- within its scope
    end
    equal(store:list(), {})
    refuses("lease", kept.release, store)
end)

case("a release that is not answered is asked for again", function(store, url)
    if not url:find("^sqlite:") then
        return -- there it takes the ten seconds for which an unreachable store is asked
    end
    local path = url:sub(#"sqlite:" + 1)
    local move = support.move
    local first, putting = store:lock("t"), store:lock{"u", "v"}
    local ok, why = pcall(function()
        local lease <close> = store:lock("w")
        move(path, path .. ".away")
    end)
    equal({ok, why.outcome}, {false, "unavailable"})
    for _ = 1, 2 do
        raises("unavailable", first.release, first)
        raises("unavailable", putting.release, putting, {put = {u = "one", v = "two"}})
    end
    move(path .. ".away", path)
    local other <close> = lk.open(url)
    equal(#other:list(), 4)
    raises("invalid", first.release, first, {put = "x"}) -- that would not be the same release
    raises("invalid", putting.release, putting, {put = {u = "one", v = "three"}})
    first:release()
    raises("invalid", putting.release, putting, {put = ("x"):rep(65537)})
    putting:release{put = {u = "one", v = "two"}}
    equal({#other:list(), (other:get("v"))}, {1, "two"})
    first:release() -- again: nothing
    raises("lost", putting.release, putting, {put = "x"})
end)

case("a state that would wait for itself is told", function(store, url)
    local lease <close> = store:lock{"t", "u?shared"}
    for _, parts in ipairs{{"t"}, {"t/below"}, {"free", "u"}} do
        local error = raises("deadlock", store.lock, store, parts)
        equal({error.cycle[#error.cycle], error.blockers[1].owner}, {lease.owner, lease.owner})
    end
    equal(raises("deadlock", store.lock, store, "t", {owner = "ben"}).cycle, {"ben", lease.owner})
    local same <close> = lk.open(url)
    raises("deadlock", same.lock, same, "t")
    raises("timeout", store.lock, store, "t", {wait = 0.01})
    store:lock("free"):release()
    store:lock("t/below", {owner = lease.owner}):release() -- covered (R8)
    local other <close> = support.program(url, [[
        local held, waits = store:lock("o"), false
        print("held")
        while not waits do
            system.sleep(5)
            for _, one in ipairs(store:list("o")) do waits = waits or one.owner == "ben" end
        end
        held:release()]])
    equal(other:heard(), "held")
    store:lock("o", {owner = "ben"}):release() -- another process holds it
    equal(other:ends(), 0)
end)

case("a state is told only of what lasts as long as itself", function(store, url)
    local other <close> = support.program(url, [[
        local held, waits = store:lock{"sem?limit=2", "s?shared", "wide?limit=4"}, false
        print("held")
        while not waits do
            system.sleep(5)
            for _, one in ipairs(store:list("sem")) do waits = waits or one.owner == "ben" end
        end
        held:release()]])
    equal(other:heard(), "held")
    local lease <close> = store:lock{"sem?limit=2", "s?shared", "wide?limit=4&units=2"}
    for _, parts in ipairs{{"s"}, {"wide?limit=4&units=3"}, {"free", "wide?limit=2"}, {"sem"},
                           {"sem?limit=1"}} do
        equal(raises("deadlock", store.lock, store, parts).cycle, {lease.owner})
    end
    do
        local more <close> = store:lock("wide?limit=4")
        raises("deadlock", store.lock, store, "wide", {limit = 4, units = 2})
    end
    lease:convert{"sem?limit=2", "s?shared", "wide?limit=4"} -- with fewer units
    store:lock({"sem?limit=2", "wide?limit=4&units=3"}, {owner = "ben"}):release()
    equal(other:ends(), 0)
    local fixed = store:lock("fixed", {["until"] = os.time() + 3 * STRETCH})
    store:lock("fixed"):release()
    raises("lost", fixed.release, fixed)
end)

case("the library renews; a fixed end is a loss", function(store)
    local lease = store:lock("fixed", {["until"] = os.time() + 6 * STRETCH})
    do
        local kept <close> = store:lock("t", {ttl = 4 * STRETCH})
        until_(function() return lease:lost() end) -- after more than the ttl
        equal({kept:lost(), support.holds(store, kept.owner)}, {false, true})
    end
    until_(function() return #store:list() == 0 end) -- the library's clock is ahead of the store's
    raises("lost", lease.release, lease)
end)

case("conversion keeps or draws the token", function(store)
    local lease <close> = store:lock("t", {ttl = 30, owner = "ana"})
    local first = lease.token
    lease:convert{shared = true}
    equal(lease.token, first)
    do
        local other <close> = store:lock("t", {shared = true})
        raises("busy", lease.convert, lease)
        equal({lease:lost(), lease.token}, {false, first})
    end
    lease:convert("t")
    assert(lease.token > first and not lease:lost())
    local entry = store:list()[1]
    equal({entry.shared, entry.token, entry.ttl}, {false, lease.token, 30.0})
    lease:convert{shared = true}
    store:release("t", {owner = "ana"}) -- by another handle
    raises("lost", lease.convert, lease)
    equal({store:list(), lease:lost()}, {{}, true})
    raises("lost", lease.put, lease, "x")
end)

case("a loss ends the scope with an error", function(store)
    local function break_now() store:break_("t", {reason = "a test", by = "a test", at_once = true}) end
    raises("lost", function()
        local lease <close> = store:lock("t", {ttl = 0.2 * STRETCH})
        break_now()
        until_(function() return lease:lost() end)
        raises("lost", lease.check, lease)
    end)
    refuses("of the scope", function() -- an error of the scope is not hidden
        local lease <close> = store:lock("t")
        break_now()
        error("of the scope")
    end)
    equal(store:break_("t", {reason = "again", by = "cem"}), 0)
end)

case("holders that are killed or stopped", function(store, url)
    local source = [[
        local is_good, why = pcall(function()
            local lease <close> = store:lock("%s", {ttl = %d, value = true})
            print("held")
            io.read()
            print(lease:lost())
        end)
        print(is_good or why.outcome)]]
    store:put("v", "before")
    local killed <close> = support.program(url, source:format("v", 4 * STRETCH))
    local stopped <close> = support.program(url, source:format("t", 4 * STRETCH))
    equal({killed:heard(), stopped:heard()}, {"held", "held"})
    support.stopped(stopped)
    killed:signal(9)
    equal(store:try_lock("v"), nil)
    do
        local lease <close> = store:lock("v", {value = true, wait = 60 * STRETCH})
        equal({lease.value, lease.in_doubt}, {"before", true})
        local other <close> = store:lock("t", {wait = 60 * STRETCH})
        stopped:say("go on")
        stopped:signal(18)
        equal({stopped:ends()}, {0, "true\nlost"})
    end
    equal(killed:ends(), -9)
end)

case("values", function(store)
    equal(store:get("v"), nil)
    store:put("v", "a\0b\255")
    equal(store:get("v"), "a\0b\255")
    store:delete("v")
    store:lock("v", {value = true}):release{put = "first"}
    local lease = store:lock({"v", "w"}, {value = true})
    equal({lease.value, lease.in_doubt, lease.values}, {"first", false, {v = "first"}})
    lease:put("two", "v/below")
    for _, wrong in ipairs{("x"):rep(65537), {other = ""}} do
        raises("invalid", lease.release, lease, {put = wrong})
        lease:check()
    end
    refuses("put must be a string", lease.release, lease, {put = 1})
    refuses("put must be a string", lease.release, lease, {put = {v = 1}})
    lease:release{put = {w = "second", v = "\0"}}
    equal({(store:get("v")), (store:get("w")), (store:get("v/below"))}, {"\0", "second", "two"})
    raises("lost", lease.release, lease, {put = "too late"})
end)

case("wrong arguments are errors, and nothing is done", function(store, url)
    raises("invalid", store.lock, store, ("a"):rep(600), {wait = 0})
    local many = {}
    for i = 1, 17 do many[i] = "a" .. i end
    raises("invalid", store.lock, store, many, {wait = 0})
    raises("invalid", store.lock, store, {}, {wait = 0})
    for _, name in ipairs{"lock", "try_lock", "ask", "get", "show", "list", "push", "work", "watch"} do
        refuses("NUL", store[name], store, "a\0b", "x")
        refuses("string", store[name], store, 1)
        refuses("lockkeeper.store", store[name], {}, "a")
        refuses("lockkeeper.store", store[name])
    end
    for _, wrong in ipairs{-1, -0.001, 0 / 0, 1e300, "1", true, {}} do
        refuses("wait", store.lock, store, "a", {wait = wrong})
        refuses("ttl", store.lock, store, "a", {ttl = wrong, wait = 0})
    end
    for _, wrong in ipairs{0, -1, 2 ^ 32, 1.5, "1", true} do
        refuses("limit", store.lock, store, "a", {limit = wrong, wait = 0})
    end
    refuses("ttl", store.lock, store, "a", {ttl = 0, wait = 0})
    refuses("no option 'shraed'", store.lock, store, "a", {shraed = true})
    refuses("no option '1'", store.lock, store, "a", {"b"})
    refuses("no option 'wait'", store.try_lock, store, "a", {wait = 1})
    refuses("owner must not contain a NUL", store.lock, store, "a", {owner = "x\0", wait = 0})
    refuses("shared must be a boolean", store.lock, store, "a", {shared = 1, wait = 0})
    refuses("style", store.ask, store, "a", {style = "hurry"})
    raises("invalid", store.lock, store, "a", {note = ("n"):rep(256), wait = 0})
    raises("invalid", store.lock, store, "a", {ttl = 1.5 * YEAR_S, wait = 0})
    raises("invalid", store.lock, store, "a", {limit = 2, units = 3, wait = 0})
    raises("invalid", store.renew, store, "a")
    refuses("string expected", store.put, store, "v", 1)
    refuses("reason", store.break_, store, "a", {})
    refuses("bound", store.set_limits, store, {live = -1})
    refuses("bound", store.set_limits, store, {other = 1})
    raises("invalid", lk.open, "nonsense")
    raises("unsupported", lk.open, "ftp://host/x")
    raises("unavailable", lk.open, "lk+unix:/nonexistent/lk.sock")
    equal(store:list(), {})
    do
        local lease <close> = store:lock("a", {ttl = YEAR_S, wait = math.huge})
        assert(lease:remaining() > 0.99 * YEAR_S)
        refuses("attempt to index", function() lease.token = 1 end)
        assert(getmetatable(lease) ~= nil and type(getmetatable(lease)) == "string")
    end
    store:set_limits{live = 7}
    equal(store:limits().live, 7)
end)

case("memory that is used up leaves no lock", function(store)
    store:put("t", "a value")
    local function lock() return store:lock("t", {wait = 5, value = true}) end
    local function convert(lease) lease:convert{shared = true} return true end
    local granted, converted = 0, 0
    for n = 0, 60 do
        local lease = system.call_short(n, lock)
        if lease then
            granted = granted + 1
            lease:release()
        end
        equal(store:list(), {})
        lease = store:lock("t", {value = true})
        converted = converted + (system.call_short(n, convert, lease) and 1 or 0)
        pcall(lease.release, lease)
        equal(store:list(), {})
    end
    assert(granted > 0 and granted < 60 and converted > 0 and converted < 60)
    for n = 0, 40 do
        system.call_short(n, store.list, store)
        system.call_short(n, store.get, store, "t")
    end
end)

case("a closed store refuses", function(store, url)
    local lease = store:lock("t")
    local watch = store:watch()
    assert(#store:examine() > 0 and store:away() == 0)
    store:close()
    store:close()
    assert(store:closed() and tostring(store):find("closed"))
    for _, name in ipairs{"lock", "get", "list", "examine", "away", "work", "push", "watch"} do
        refuses("closed", store[name], store, "a", "b")
    end
    refuses("closed", lease.put, lease, "")
    refuses("closed", lease.convert, lease)
    equal(watch:next(), nil)
    raises("unavailable", lease.release, lease)
    equal(lease:remaining(), 0)
end)

support.main()
