#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: events.sh LK STORE
#
# While many ask at once, in many roots: a watch (R21) receives all events, numbered without gaps
# in the order in which they happened; and a limit (R22) admits as many as it says. Prints TAP.
. "${0%/*}/../tap.sh"
lk=${1:?the program under test}
LK_STORE=${2:?a store that is empty}
export LK_STORE
unset LK_OWNER LK_TOKEN NO_COLOR

children=''
# shellcheck disable=SC2317 # called by the trap
stop() {
    for child in $children; do
        kill "$child" 2>/dev/null
    done
    rm -rf "$work"
}
trap stop EXIT

until_true() { # COMMAND...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || return 1
        sleep 0.05
    done
}

# shellcheck disable=SC2317 # called by until_true
is_watched() { "$lk" doctor | grep -q '; watched now$'; }
# shellcheck disable=SC2317
has_last() { grep -q '"path":"last/one"' "$work/events"; }

says() { # JQ TITLE: true of the events, as an array
    jq -s "$1" "$work/events" >"$work/out" 2>&1
    [ "$(cat "$work/out")" = true ]
    report $? "$2"
}

# ---- events ----

"$lk" limits >"$work/out" 2>&1 # makes the store: a watch would wait for it
"$lk" watch --json >"$work/events" 2>"$work/out" &
watcher=$!
children=$watcher
until_true is_watched
report $? 'a client watches'
benches=''
for pattern in many one; do
    "$lk" bench --pattern "$pattern" --clients 4 --seconds 3 -q >"$work/bench-$pattern" 2>&1 &
    benches="$benches $!"
    children="$children $!"
done
for bench in $benches; do
    wait "$bench" || cat "$work"/bench-* >>"$work/out"
done
"$lk" acquire --owner last last/one >"$work/out" 2>&1
until_true has_last
report $? 'the watcher gets the last event'
kill "$watcher"
wait "$watcher"
says 'all(.event != "gap") and length > 20' 'nothing has gone by unseen'
# shellcheck disable=SC2016 # jq's
says '[.[].sequence] as $n | all(range(1; $n | length); $n[.] == $n[. - 1] + 1)' \
    'the numbers have no gaps'
# shellcheck disable=SC2016
says 'map(select(.token and (.event == "granted" or .event == "released" or .event == "perished")))
      | group_by(.path)
      | all(map(.event == "granted") as $is_grant
            | all(range(0; $is_grant | length); $is_grant[.] == (. % 2 == 0)))' \
    'at each path an end follows each grant'
says '[.[] | select(.token)] | group_by(.path) | all([.[].token] | . == sort)' \
    'and later grants have greater tokens'

# ---- bounds ----

"$lk" release --owner last last/one >"$work/out" 2>&1
"$lk" limits live=5 >"$work/out" 2>&1
report $? 'a bound is set'
askers=''
# Twelve at once may be more than a busy machine serves in the time of one call; it is asked again then.
ask() {
    code=69
    while [ "$code" -eq 69 ]; do
        "$lk" acquire --wait 60s --owner "asker-$1" "root-$1/x" >"$work/ask-$1" 2>&1
        code=$?
    done
    return "$code"
}
for number in $(seq 12); do
    ask "$number" &
    askers="$askers $!"
done
granted=0 full=0
for asker in $askers; do
    wait "$asker"
    case $? in
    0) granted=$((granted + 1)) ;;
    73) full=$((full + 1)) ;;
    esac
done
cat "$work"/ask-* >"$work/out"
[ "$granted" -eq 5 ] && [ "$full" -eq 7 ]
report $? "of twelve at once it lets in five ($granted, and $full were answered FULL)"

finish
