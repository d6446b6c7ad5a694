#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Results and progress (R16): lk push --keep and --wait, lk done --result, lk result, lk progress, and
# what CMD of lk work tells of them.
. "${0%/*}/harness.sh"

# A text of so many bytes.
bytes() {
    head -c "$1" /dev/zero | tr '\0' x
}

scenario 'a result is there for the time that the push has named'
lk push q 1 in --keep 1h
lk result q 1
failure 75 'lk: TIMEOUT: q/1 is not done: it is ready'
lk claim q --owner ben --ttl 1h --json
expect .value '"in"'
lk progress q 1 '3 of 10' --owner ben
expect_code 0
expect_out ''
lk progress q 1 '4 of 10' --owner cem
failure 78 'lk: LOST: the item is not claimed by this owner (any more) (R16)'
lk result q 1
failure 75 'lk: TIMEOUT: q/1 is not done: it is claimed (3 of 10)'
lk items q
grep -q '^1 .*claimed .*ben .*3 of 10' "$work/out" || complain "$(cat "$work/out")"
lk 'done' q 1 --owner ben --result 'out 1'
expect_code 0
lk result q 1
expect_code 0
expect_out 'out 1'
lk result q 1 --json
expect '[.state, .value, .due_in_ms > 3500000, .progress]' '["done","out 1",true,null]'
lk stats q --json
expect '[.done, .done_now, .ready_now]' '[1,1,0]'
lk stats q
grep -qx 'now ready 0, delayed 0, claimed 0, parked 0, done and kept 1' "$work/out" || complain 'stats'
lk drop q 1
lk result q 1
expect_code 1
grep -q '^lk: NONE: there is no item q/1: ' "$work/err" || complain "$(cat "$work/err")"

scenario 'a done without a time, and one that names it'
lk push q 1
lk push q 2
lk claim q --owner ben --ttl 1h
lk claim q --owner ben --ttl 1h
lk 'done' q 1 --owner ben --result 'dropped'
lk 'done' q 2 --owner ben --result 'kept' --keep 1h
lk items q --json
expect '[.id, .state, .value]' '["2","done","kept"]'
printf 'of\nlines\n' >"$work/text"
lk push q 3 --keep 1h
lk claim q --owner ben --ttl 1h
"$LK_PROGRAM" 'done' q 3 --owner ben --result - <"$work/text" || complain 'done by stdin'
lk result q 3
expect_out 'of
lines'
bytes 65537 >"$work/big"
lk push q 4 --keep 1h
lk claim q --owner ben --ttl 1h
"$LK_PROGRAM" 'done' q 4 --owner ben --result - <"$work/big" >"$work/out" 2>"$work/err"
[ $? -eq 64 ] || complain 'a result of 65537 bytes was taken'
lk items q --json
expect 'select(.id == "4") | .state' '"claimed"'
lk 'done' q 4 --owner ben --keep 367d
failure 64 'lk: INVALID: *'

scenario 'a push waits for the result'
lk push q 1 --wait 1ms
failure 75 'lk: TIMEOUT: q/1 is not done: it is ready'
"$LK_PROGRAM" work q --drain -- sh -c '"$LK_PROGRAM" report done --result "of $LK_ITEM_ID"' 2>/dev/null
lk push q 1 --wait 1m
expect_code 0
expect_out 'of 1'
lk push q 2 --delay 300ms --wait 1ms
expect_code 75
"$LK_PROGRAM" work q --drain -- sh -c '"$LK_PROGRAM" report done --result "of $LK_ITEM_ID"' 2>/dev/null &
lk push q 2 --wait 1m --json
expect_code 0
expect '[.id, .state, .value]' '["2","done","of 2"]'
wait
lk push q - --wait 1s
failure 64 'lk: INVALID: --wait is for one item; see: lk result'
lk push q 3 --wait 1m --keep 1s
failure 64 'lk: INVALID: --wait: the result is kept for less than 2 s (--keep)'

scenario 'one that is parked, dropped or cancelled meanwhile has no result'
lk push q 1 --keep 1h
lk work q --drain --max-attempts 1 -- sh -c 'echo too large >&2; exit 3'
lk result q 1 --wait 1m
expect_code 1
expect_err 'lk: q/1 was parked (attempt 1): exit 3: too large'
lk result q 1 --json
expect_code 1
expect '[.state, .last_exit]' '["parked",3]'
lk push q 2 --keep 1h
(sleep 0.3; exec "$LK_PROGRAM" drop q 2 >/dev/null) &
lk result q 2 --wait 1m
expect_code 1
wait

scenario 'CMD of lk work tells the result and the progress of each item'
lk push q 1 --keep 1h
lk push q 2
lk push q 3 --keep 1h
lk work q --drain --batch 3 -- sh -c '
    "$LK_PROGRAM" report progress 1 --note half
    until [ "$("$LK_PROGRAM" items q --json | jq -r "select(.id == \"1\") | .progress")" = half ]; do sleep 0.05; done
    echo "{\"id\": 1, \"done\": true, \"result_base64\": \"/w==\"}" >&"$LK_REPORT"
    "$LK_PROGRAM" report done 2 --result two --keep 1h'
expect_code 0
grep -qx 'lk: PROGRESS: q/1: half' "$work/err" || complain 'no progress'
lk items q --json
expect '[.id, .state, .value, .value_base64]' '["1","done",null,"/w=="]
["2","done","two",null]
["3","done",null,null]'

scenario 'a line with a wrong result settles nothing'
lk push q 1 --keep 1h
bytes 65537 >"$work/big"
export work
lk work q --drain --max-attempts 1 -- sh -c '
    echo "{\"done\": true, \"result\": 5}" >&"$LK_REPORT"
    echo "{\"done\": true, \"result\": \"$(cat "$work/big")\"}" >&"$LK_REPORT"
    echo "{\"done\": true, \"keep_ms\": -1}" >&"$LK_REPORT"
    "$LK_PROGRAM" report retry --result no
    exit 4'
expect_code 1
grep -q '^lk: REPORT: q: a line of CMD is passed over: "result" must be a text' "$work/err" ||
    complain "$(cat "$work/err")"
lk items q --json
expect '[.state, .last_exit]' '["parked",4]'
lk unpark q 1
lk work q --drain -- sh -c 'head -c 65536 "$work/big" >"$work/most"
    "$LK_PROGRAM" report done --result - <"$work/most"'
expect_code 0
[ "$("$LK_PROGRAM" result q 1 | wc -c)" -eq 65537 ] || complain 'not all of the result'

scenario 'many items with a time'
input '{"id": 1, "keep": "1h"}\n{"id": 2, "keep": 3600}\n{"id": 3}\n{"id": 4, "keep": true}\n'
lk push q -
failure 64 'lk: INVALID: line 4: "keep" is a duration, or a number of seconds; *'
lk work q --drain -- true
lk items q --json
expect '[.id, .state]' '["1","done"]
["2","done"]'

finish
