-- SPDX-License-Identifier: Apache-2.0
-- usage: agent.lua: makes the calls that ../conformance.py asks for, by the functions of the binding.
local lk = require "lockkeeper"

local store

-- ---- requests and answers -------------------------------------------------------------------------

local function unquoted(text)
    return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function quoted(value)
    if type(value) == "boolean" then return value and "yes" or "no" end
    return (tostring(value):gsub("[^%w/._-]", function(one) return ("%%%02x"):format(one:byte()) end))
end

-- The verb, and lists of texts by name.
local function read(line)
    local verb, rest = line:match("^(%S+)(.*)$")
    local given = {}
    for name, value in rest:gmatch("([%w_]+)=(%S*)") do
        given[name] = given[name] or {}
        table.insert(given[name], unquoted(value))
    end
    return verb, given
end

local function text(given, name) return given[name] and given[name][1] end
local function number(given, name) return given[name] and math.tointeger(given[name][1]) end
local function seconds(given, name) return given[name] and tonumber(given[name][1]) / 1000 end
local function flag(given, name) return text(given, name) == "yes" end

local function ms(time) return time and math.floor(time * 1000 + 0.5) end

-- Prints a line of fields, {name, value} each; what is nil is left out, and each of a list said.
local function say(word, fields)
    local words = {word}
    for _, field in ipairs(fields or {}) do
        local name, value = field[1], field[2]
        for _, one in ipairs(type(value) == "table" and value or {value}) do
            words[#words + 1] = name .. "=" .. quoted(one)
        end
    end
    print(table.concat(words, " "))
end

local function say_blockers(blockers)
    for _, one in ipairs(blockers or {}) do
        say("blocker", {{"path", one.path}, {"owner", one.owner}, {"note", one.note}, {"held", one.held}})
    end
end

local function say_answer(answer)
    say(answer.outcome, {
        {"path", answer.paths}, {"owner", answer.owner}, {"ticket", answer.ticket}, {"token", answer.token},
        {"ttl", ms(answer.ttl)}, {"expires_in", ms(answer.expires_in)}, {"in_use", answer.in_use},
        {"position", answer.position}, {"created", answer.created}, {"fixed", answer.fixed}})
    say_blockers(answer.blockers)
    for _, path in ipairs(answer.values and answer.paths or {}) do
        say("value", {{"value", answer.values[path]}, {"in_doubt", answer.doubts[path]}})
    end
end

local function say_entries(entries)
    say("ok")
    for _, one in ipairs(entries) do
        say("entry", {
            {"path", one.path}, {"owner", one.owner}, {"note", one.note}, {"ticket", one.ticket},
            {"token", one.token}, {"held", one.held}, {"shared", one.shared}, {"revoked", one.revoked},
            {"limit", one.limit}, {"units", one.units}, {"ttl", ms(one.ttl)},
            {"expires_in", ms(one.expires_in)}, {"age", ms(one.age)}, {"position", one.position}})
        say_blockers(one.blockers)
    end
end

-- ---- calls ----------------------------------------------------------------------------------------

local calls = {}

function calls.open(given)
    store = lk.open(text(given, "url"))
    say("ok")
end

function calls.close()
    store:close()
    say("ok")
end

function calls.ask(given)
    say_answer(store:ask(given.part, {
        style = text(given, "style"), owner = text(given, "owner"), note = text(given, "note"),
        shared = flag(given, "shared"), value = flag(given, "value"), limit = number(given, "limit"),
        units = number(given, "units"), wait = seconds(given, "wait"), ttl = seconds(given, "ttl"),
        ["until"] = seconds(given, "until")}))
end

function calls.renew(given)
    say_answer(store:renew(given.part, {
        owner = text(given, "owner"), token = number(given, "token"), ttl = seconds(given, "ttl")}))
end

function calls.release(given)
    local put = given.put and {}
    for i, path in ipairs(given.put_path or {}) do put[path] = given.put[i] end
    say_answer(store:release(given.part, {
        owner = text(given, "owner"), token = number(given, "token"), put = put}))
end

calls["break"] = function(given)
    say("ok", {{"count", store:break_(text(given, "path"), {
        reason = text(given, "reason"), by = text(given, "by"), owner = text(given, "owner"),
        at_once = flag(given, "now")})}})
end

function calls.put(given)
    store:put(text(given, "path"), text(given, "value"),
              {owner = text(given, "owner"), token = number(given, "token")})
    say("ok")
end

function calls.delete(given)
    store:delete(text(given, "path"), {owner = text(given, "owner"), token = number(given, "token")})
    say("ok")
end

function calls.read(given)
    local value, in_doubt = store:get(text(given, "path"))
    say(value and "ok" or "none")
    if value then say("value", {{"value", value}, {"in_doubt", in_doubt}}) end
end

function calls.push(given)
    local added, changed, was = store:push(text(given, "queue"), text(given, "id"), text(given, "value"), {
        delay = seconds(given, "delay"), priority = number(given, "priority"), needs = given.need,
        again = flag(given, "again"), replace = flag(given, "replace"), keep = seconds(given, "keep")})
    say("ok", {{"added", added}, {"changed", changed or false}, {"was", was}})
end

function calls.push_many(given)
    local items = {}
    for i, id in ipairs(given.id) do items[i] = {id, text(given, "value")} end
    local added, _, changed = store:push_many(text(given, "queue"), items, {
        again = flag(given, "again"), replace = flag(given, "replace"), keep = seconds(given, "keep")})
    say("ok", {{"count", added}, {"changed", changed}})
end

function calls.claim(given)
    local queue, most = text(given, "queue"), number(given, "max")
    local options = {
        owner = text(given, "owner"), note = text(given, "note"), ttl = seconds(given, "ttl"),
        wait = seconds(given, "wait") or 0, max_attempts = number(given, "attempts")}
    local claims
    if most then
        claims = store:claim_many(queue, most, options) or {}
    else
        claims = {(store:claim(queue, options))}
    end
    say(#claims == 0 and "none" or "granted")
    for _, one in ipairs(claims) do
        say("claim", {
            {"id", one.id}, {"owner", one.owner}, {"value", one.value}, {"token", one.token},
            {"attempt", one.attempt}, {"stolen", one.is_stolen}, {"ttl", ms(one.ttl)},
            {"expires_in", ms(one.expires_in)}})
    end
end

-- A claim as done(), progress() and retry() take it.
local function claim_of(given)
    return {queue = text(given, "queue"), id = text(given, "id"), owner = text(given, "owner"),
            token = number(given, "token") or "any"}
end

function calls.done(given)
    store:done(claim_of(given), text(given, "result"), {keep = seconds(given, "keep")})
    say("ok")
end

function calls.progress(given)
    store:progress(claim_of(given), text(given, "put"))
    say("ok")
end

function calls.done_many(given)
    say("ok", {{"count", store:done_many(text(given, "queue"), given.id, {
        owner = text(given, "owner"), token = number(given, "token")})}})
end

function calls.retry(given)
    store:retry(claim_of(given), text(given, "error"), {
        delay = seconds(given, "delay"), exit_code = number(given, "exit"),
        uncounted = flag(given, "uncounted"), park = flag(given, "park")})
    say("ok")
end

function calls.unpark(given)
    say("ok", {{"count", store:unpark(text(given, "queue"), text(given, "id"))}})
end

function calls.drop(given)
    say("ok", {{"count", store:drop(text(given, "queue"), given.id)}})
end

function calls.cancel(given)
    local is_claimed = store:cancel(text(given, "queue"), text(given, "id"), {
        reason = text(given, "reason"), by = text(given, "by"), at_once = flag(given, "now")})
    say("ok", {{"count", is_claimed and 1 or 0}})
end

function calls.stats(given)
    local fields = {}
    for name, count in pairs(store:stats(text(given, "queue"))) do fields[#fields + 1] = {name, count} end
    say("ok", fields)
end

function calls.bound(given)
    local bounds = {}
    for name in pairs(given) do bounds[name] = number(given, name) end
    store:set_limits(bounds)
    say("ok")
end

function calls.list(given) say_entries(store:list(text(given, "prefix"))) end

function calls.show(given) say_entries(store:show(text(given, "path"))) end

function calls.items(given)
    local items = store:items(text(given, "queue"))
    say("ok")
    for _, one in ipairs(items) do
        say("item", {
            {"id", one.id}, {"state", one.state}, {"owner", one.owner}, {"value", one.value},
            {"attempts", one.attempts}, {"due_in", ms(one.due_in)}, {"expires_in", ms(one.expires_in)},
            {"need", one.needs}, {"priority", one.priority}, {"exit", one.last_exit},
            {"error", one.last_error}, {"progress", one.progress}})
    end
end

for line in io.lines() do
    local verb, given = read(line)
    local is_good, raised = pcall(calls[verb], given)
    if not is_good and type(raised) == "table" then
        say(raised.outcome, {{"says", raised.message}, {"cycle", raised.cycle}})
        say_blockers(raised.blockers)
    elseif not is_good then -- the binding itself refuses, or this program is wrong
        say(raised:find("must ") and "invalid" or "raised", {{"says", raised}, {"refused", true}})
    end
    print()
    io.stdout:flush()
end
