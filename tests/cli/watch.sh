#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk watch and lk limits: events as they happen (R21), and bounds (R22).
. "${0%/*}/harness.sh"

watcher=

# Begins `lk watch ARGS...`; what it prints goes to $work/events.
begin_watch() {
    : >"$work/events"
    "$LK_PROGRAM" limits >"$work/limits" # makes the store
    # A shell starts what is in the background with SIGINT ignored.
    env --default-signal=INT "$LK_PROGRAM" watch "$@" >"$work/events" 2>"$work/watch.err" &
    watcher=$!
    until_true is_watched
}
is_watched() { "$LK_PROGRAM" doctor | grep -q '; watched now$'; }

has_lines() { [ "$(wc -l <"$work/events")" -ge "$1" ]; }

# Waits for N lines, interrupts the watch, and makes the lines what expect looks at.
end_watch() {
    until_true has_lines "$1"
    kill -s "${2:-INT}" "$watcher"
    wait "$watcher"
    code=$? command='lk watch'
    cp "$work/events" "$work/out"
    cp "$work/watch.err" "$work/err"
}

scenario 'a watch waits for a store that does not exist yet'
rm -f "${LK_STORE#sqlite:}"
: >"$work/events"
env --default-signal=INT "$LK_PROGRAM" watch >"$work/events" 2>"$work/watch.err" &
watcher=$!
lk acquire db --owner ana
until_true is_watched
lk release db --owner ana
until_true grep -q 'released  *db' "$work/events"
end_watch 1
expect_code 130

scenario 'events come as they happen, with nothing set up'
begin_watch --json
lk acquire db/t1 --owner ana --note nightly
lk acquire db -n --owner ben
lk acquire --queue db/t1 'pool?limit=3' --owner cia
lk release db/t1 --owner ana
lk put config on --owner ana
lk del config --owner ana
end_watch 7
expect_code 130
expect_err ''
jq -s . "$work/out" >"$work/all" && mv "$work/all" "$work/out"
expect 'map(.event)' '["granted","refused","queued","released","granted","value_written","value_written"]'
expect '.[0] | keys_unsorted | join(" ")' \
    '"event at_ms sequence path paths parts owner note ticket token"'
expect '.[0] | [.path, .paths, .owner, .note]' '["db/t1",["db/t1"],"ana","nightly"]'
expect '.[1] | [.refusal, .path, .owner, .token]' '["busy","db","ben",null]'
expect '.[2].parts' '["db/t1","pool?limit=3"]'
expect '.[4] | [.path, .owner, .paths]' '["db/t1","cia",["db/t1","pool"]]'
expect '.[5:] | map([.path, .deleted])' '[["config",false],["config",true]]'
expect '[.[].sequence] | . == sort' true
expect '[.[].at_ms] | (min > 1600000000000) and (. == sort)' true

scenario 'events of work have queue and id'
begin_watch q --json
lk push q 1 value
lk claim q --owner ann
lk retry q 1 --owner ann
lk claim q --owner ann
lk "done" q 1 --owner ann
lk acquire elsewhere
end_watch 5 TERM
expect_code 143
jq -s . "$work/out" >"$work/all" && mv "$work/all" "$work/out"
expect 'map(.event)' '["pushed","claimed","retried","claimed","done"]'
expect 'map([.queue, .id, .path]) | unique' '[["q","1","q/1"]]'
expect '.[1:] | map([.attempt, .owner])' '[[1,"ann"],[1,"ann"],[2,"ann"],[2,"ann"]]'

scenario 'a break says by whom, and why'
begin_watch --json
lk acquire x --owner ana --note nightly --ttl 60s
lk "break" x --reason 'stuck since noon'
lk release x --owner ana
end_watch 3
jq -s . "$work/out" >"$work/all" && mv "$work/all" "$work/out"
expect 'map(.event)' '["granted","broken","released"]'
expect '.[1] | keys_unsorted | join(" ")' \
    '"event at_ms sequence path paths parts owner note ticket token by reason"'
expect '.[1] | [.owner, .reason]' '["ana","stuck since noon"]'
expect '.[1] | .by | length > 0' true
expect '.[] | select(.event != "broken") | [has("by"), has("reason")] | any' 'false
false'
by=$(jq -r '.[1].by' "$work/out")
lk audit --json
expect .by "\"$by\""

scenario 'a break says by whom, and why, to people'
begin_watch
lk acquire x --owner ana --note nightly
lk "break" x --now --reason "burnt
down"
end_watch 2
grep -qE "  broken         x  by ana  token [0-9]+  broken by $by: burnt\\\\x0adown  # nightly\$" \
    "$work/out" || complain 'stdout: not such a line'

scenario 'a line for people'
begin_watch
lk acquire 'db?shared' --owner "an
a" --note nightly
end_watch 1
expect_code 130
grep -qxE '20[0-9-]+ [0-9:]+\.[0-9]{3}  granted        db\?shared  by an\\x0aa  token [0-9]+  # nightly' \
    "$work/out" || complain 'stdout: not such a line'

scenario 'a watch goes on behind another'
begin_watch --json
lk acquire x --owner ana
end_watch 1
seen=$(field .sequence)
lk release x --owner ana
begin_watch --json --after "$seen"
end_watch 1
expect '[.event, .path]' '["released","x"]'
begin_watch --json --after 1
end_watch 2
jq -s . "$work/out" >"$work/all" && mv "$work/all" "$work/out"
expect 'map(.event)' '["granted","released"]'

scenario 'what is not known any more is a gap'
lk limits events=2
lk acquire a --owner ana
lk acquire b --owner ana
lk acquire c --owner ana
begin_watch --json --after 1
end_watch 3
jq -s . "$work/out" >"$work/all" && mv "$work/all" "$work/out"
expect 'map([.event, .path])' '[["gap",null],["granted","b"],["granted","c"]]'
expect '.[0] | keys_unsorted | join(" ")' '"event at_ms sequence"'

scenario 'a reader that goes ends it quietly'
lk limits events=9
lk acquire a --owner ana
lk acquire b --owner ana
{
    "$LK_PROGRAM" watch --json --after 1 2>"$work/watch.err"
    echo $? >"$work/code"
} | head -n 1 >"$work/events"
code=$(cat "$work/code") command='lk watch | head -n 1'
cp "$work/events" "$work/out"
cp "$work/watch.err" "$work/err"
expect_code 0
expect_err ''
expect .event '"granted"'

scenario 'a watch of no path'
lk watch 'a b'
failure 64 'lk: INVALID: *(R1)'
lk watch --after 0
failure 64 'lk: INVALID: *'
lk watch a b
failure 64 'lk: INVALID: *'

scenario 'watch and work are refused on a store in the memory of one process'
lk -S mem: watch
failure 79 'lk: UNSUPPORTED: mem:*'
lk -S mem: watch --json
expect_code 79
expect .status '"unsupported"'
lk -S mem: work q -- true
failure 79 'lk: UNSUPPORTED: mem:*'

scenario 'bounds are none until they are set'
lk limits
expect_code 0
expect_err ''
grep -qx 'live 0 (no bound)' "$work/out" || complain 'stdout: no such line'
lk limits --json
expect_keys 'status live live_per_owner live_per_root waiters_per_path events'
expect '[.live, .live_per_owner, .live_per_root, .waiters_per_path, .events]' '[0,0,0,0,0]'

scenario 'bounds are set together, and the others stay'
lk limits live=5 waiters-per-path=2 --json
expect '[.live, .live_per_owner, .live_per_root, .waiters_per_path, .events]' '[5,0,0,2,0]'
lk limits live-per-owner=3 live-per-root=4 events=10 --json
expect '[.live, .live_per_owner, .live_per_root, .waiters_per_path, .events]' '[5,3,4,2,10]'
lk limits live=0 -q
expect_code 0
expect_out ''
lk doctor --json
expect '.report.bounds' '"live-per-owner 3, live-per-root 4, waiters-per-path 2"'
expect '.report.events | startswith("the last 10 are kept")' true

scenario 'past a bound the answer is FULL'
lk limits live=2 live-per-owner=1
lk acquire x --owner ana
lk acquire y --owner ana -n
failure 73 'lk: FULL: the store'\''s bound on live requests of one owner is reached (R22)'
lk acquire y --owner ben
lk acquire z --owner cia -n --json
expect_code 73
expect .status '"full"'
lk push q 1
lk claim q
failure 73 'lk: FULL: *in all*'
lk run z -- true
failure 73 'lk: FULL: *'
lk limits live-per-root=1 live=0
lk acquire x/1 --owner dan -n
expect_code 75
lk acquire y/1 --owner ben
failure 73 'lk: FULL: *'

scenario 'waiters at one path'
lk limits waiters-per-path=1
lk acquire x --owner ana
lk acquire x --owner ben --queue
expect_code 75
lk acquire x --owner cia --queue
failure 73 'lk: FULL: *waiting at one path*'

scenario 'bounds that are none'
for word in live live= live=x live=-1 live=2147483648 events=1000001 lives=1 =1; do
    lk limits "$word"
    failure 64 'lk: INVALID: *'
done
lk limits live=1 live=2
failure 64 'lk: INVALID: "live" is set twice'

finish
