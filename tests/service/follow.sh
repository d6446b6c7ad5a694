#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Events (R21) and bounds (R22) of a service: through its restarts, and in its file.
. "${0%/*}/harness.sh"

serve_at() {
    directory=$work/$1
    shift
    serve --unix "$work/s" --http none --dir "$directory" "$@"
    LK_STORE=lk+unix:$work/s
}

# Follows in the background; its lines are in $work/events, its process in $follower.
follow() {
    : >"$work/events" # here: the shell in the background is late to empty it
    "$LK_PROGRAM" watch --json "$@" >"$work/events" 2>"$work/events.err" &
    follower=$!
}

printed() {
    jq -r '[.event, .path // "-"] | join(" ")' "$work/events"
}

has_printed() {
    printed | grep -qx "$1"
}

ends() {
    kill -TERM "$follower"
    wait "$follower"
}

# A follower has begun once it prints what happens.
begun() {
    "$LK_PROGRAM" put beginning "$1" && has_printed 'value_written beginning'
}

expect_printed() {
    printed | grep -v ' beginning$' >"$work/printed"
    printf '%s\n' "$@" | cmp -s - "$work/printed" || complain "printed: $(cat "$work/printed")"
}

numbers_rise() {
    jq -s -e '[.[].sequence] | . == (sort | unique)' "$work/events" >/dev/null ||
        complain "the numbers: $(jq -c .sequence "$work/events" | tr '\n' ' ')"
}

scenario 'a follower misses nothing through kills and an end of the service'
serve_at d
follow
until_true begun 1
lk acquire a --owner ana
restart
lk acquire b --owner ben --ttl 10m
restart
stop TERM
serve_at d
lk release b --owner ben
until_true has_printed 'released b'
ends
expect_printed 'granted a' 'granted b' 'released b'
numbers_rise
[ ! -s "$work/events.err" ] || complain "$(cat "$work/events.err")"
stop

scenario 'a watch that returns continues after its last event'
serve_at d2
follow
until_true begun 1
lk acquire a --owner ana
until_true has_printed 'granted a'
ends
last=$(tail -1 "$work/events" | jq .sequence)
lk acquire b --owner ben
restart
lk acquire c --owner cem
follow --after "$last"
until_true has_printed 'granted c'
ends
expect_printed 'granted b' 'granted c'
follow b --after "$last"
until_true has_printed 'granted b'
lk release c --owner cem
lk release b --owner ben
until_true has_printed 'released b'
ends
expect_printed 'granted b' 'released b'
stop

scenario 'retained events are sent to a later watch, and the rest is a gap'
serve_at d3
lk limits events=3 --json
expect '[.status, .events]' '["ok",3]'
for number in 1 2 3 4 5; do
    lk put "v$number" x
done
restart
lk put v6 x
follow --after 1
until_true has_printed 'value_written v6'
ends
expect_printed 'gap -' 'value_written v4' 'value_written v5' 'value_written v6'
# The file has the same, and a service that is gone leaves them to the embedded store.
stop
LK_STORE=sqlite:$work/d3/locks.db
follow --after 1
until_true has_printed 'value_written v6'
lk put v7 x
until_true has_printed 'value_written v7'
ends
expect_printed 'gap -' 'value_written v4' 'value_written v5' 'value_written v6' \
    'value_written v7'
# ... whose events in turn the service has.
serve_at d3
follow --after 1
until_true has_printed 'value_written v7'
ends
expect_printed 'gap -' 'value_written v5' 'value_written v6' 'value_written v7'
stop

scenario 'who broke a lease, and why, outlives the service'
serve_at broken
lk limits events=9
lk acquire x --owner ana --ttl 60s
lk "break" x --now --reason 'stuck since noon'
restart
follow --after 1
until_true has_printed 'broken x'
ends
jq -c 'select(.event == "broken") | [.owner, .reason, (.by | length > 0)]' "$work/events" >"$work/out"
expect_out '["ana","stuck since noon",true]'
stop

scenario 'events that were not retained, without a watch, are a gap'
serve_at d4
follow
until_true begun 1
ends
last=$(tail -1 "$work/events" | jq .sequence)
stop
# The service is down for longer than the mark lasts; another program changes the file meanwhile.
sqlite3 "$work/d4/locks.db" 'UPDATE lk_meta SET watched_until_us = 1'
lk -S "sqlite:$work/d4/locks.db" acquire a --owner ana
serve_at d4
follow --after "$last"
until_true has_printed 'gap -'
ends
stop

scenario 'a service that was killed leaves no mark behind that others do not take off'
serve_at d5
follow
until_true begun 1
ends
last=$(tail -1 "$work/events" | jq .sequence)
stop KILL
sqlite3 "$work/d5/locks.db" 'UPDATE lk_meta SET watched_until_us = 1'
lk -S "sqlite:$work/d5/locks.db" acquire a --owner ana
serve_at d5
follow --after "$last"
until_true has_printed 'gap -'
ends
stop

scenario 'bounds are set through the service, kept in its file, and hold after a kill'
serve_at d6
lk limits live=2 --json
expect '[.live, .live_per_owner, .events]' '[2,0,0]'
restart
lk acquire a
lk acquire b
lk acquire c
failure 73 'lk: FULL: *'
lk -S "sqlite:$work/d6/locks.db" limits --json
expect .live 2
lk -S "sqlite:$work/d6/locks.db" limits live=3
failure 77 'lk: DENIED: *'
stop
lk -S "sqlite:$work/d6/locks.db" acquire c
failure 73 'lk: FULL: *'

scenario 'a bound that the service was started with is its own'
serve_at d6 --bound live=1
lk limits --json
expect .live 1
lk limits live=5
failure 77 'lk: DENIED: *--bound live*'
lk limits live-per-owner=7 --json
expect '[.live, .live_per_owner]' '[1,7]'
stop
lk -S "sqlite:$work/d6/locks.db" limits --json
expect '[.live, .live_per_owner]' '[2,7]'

finish
