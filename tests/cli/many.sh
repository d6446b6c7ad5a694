#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk push QUEUE -, push --priority, drop, unpark --all, queues, and why items failed (R16).
. "${0%/*}/harness.sh"

scenario 'many items, as lines of JSON'
LK_STORE=mem:
input '{"id": 1}\n{"id": "b c"}\n'
lk push q -
failure 64 'lk: INVALID: *'
input '{"id": 1}\n\n{"id": "b", "value": "x\\u00e9", "needs": ["p?limit=2"], "delay": "1h"}\n{"id": "1"}'
lk push q - --json
expect_code 0
expect_keys 'status added duplicates changed'
expect '[.status, .added, .duplicates]' '["ok",2,1]'
input '{"id": 1}\n'
lk push q -
expect_code 0
[ "$(cat "$work/out")" = 'added 1
duplicates 0' ] || complain 'the counts'
lk push q - -q
expect_out ''
lk push q - --json
expect '[.added, .duplicates]' '[0,0]'

scenario 'a line that is wrong is named'
LK_STORE=mem:
for line in 'x' '[]' '{}' '{"id": []}' '{"id": 1, "valu": 2}' '{"id": 1, "id": 2}' \
    '{"id": 1, "value": 2}' '{"id": 1, "needs": "p"}' '{"id": 1, "needs": [1]}' \
    '{"id": 1, "delay": "soon"}' '{"id": 1, "delay": []}' '{"id": 1, "priority": 32768}' \
    '{"id": 1, "priority": "1"}' '{"id": 1, "value_base64": "!"}' '{"id": 1, "needs": ["a//b"]}' \
    '{"id": 1, "needs": ["p?limit=0"]}' '{"id": "a/b"}' '{"id": ""}' '{"id": 1, "delay": "400d"}'; do
    input '{"id": "good"}\n%s\n{"id": "unread"}\n' "$line"
    lk push q -
    failure 64 'lk: INVALID: line 2: *; the lines before it are pushed*'
done

scenario 'a message names a line by its number in the input, and a wrong option by its own'
LK_STORE=sqlite:$work/lines.db
input '{"id": 1}\n\n{"id": 2, "needs": ["x"]}\n\n{"id": 3, "needs": ["x", "x"]}\n{"id": 4}\nwrong\n'
lk push q -
failure 64 'lk: INVALID: line 5: *x is named twice; the lines before it are pushed*'
lk stats q --json
expect '[.pushed, .duplicates]' '[2,0]'
input '{"id": 1}\n'
lk push 'q q' -
failure 64 'lk: INVALID: white space is not allowed *'
lk push r - --needs 'x//y'
failure 64 'lk: INVALID: --needs: *'

scenario 'more lines than one transaction has'
seq 1 2500 | sed 's/.*/{"id":&,"value":"of &"}/' >"$work/lines"
stdin=$work/lines
lk push q - --json
expect '[.added, .duplicates]' '[2500,0]'
input '{"id": 2500}\n{"id": 2501}\nwrong\n{"id": 2502}\n'
lk push q -
failure 64 'lk: INVALID: line 3: *'
lk stats q --json
expect '[.pushed, .duplicates, .ready_now]' '[2501,1,2501]'
input '{"id":"bytes","value_base64":"AP8="}\n'
lk push r - --delay 1h --needs p
expect_code 0
lk items r --json
expect '[.value_base64, .state, .needs]' '["AP8=","delayed",["p"]]'

scenario 'what is wrong with drop and unpark'
lk drop q
failure 64 'lk: INVALID: drop needs either an ID or --parked*'
lk drop q 1 --parked
failure 64 'lk: INVALID: drop needs either an ID or --parked*'
lk unpark q
failure 64 'lk: INVALID: unpark needs either an ID or --all*'
lk unpark q 1 --all
failure 64 'lk: INVALID: unpark needs either an ID or --all*'
lk push q 1 --priority 32768
failure 64 'lk: INVALID: --priority: "32768" is greater than 32767'
lk push q 1 --priority -32769
failure 64 'lk: INVALID: --priority: "-32769" is less than -32768'

# The rest only where the store can.
lk push probe 1 --priority 1
if [ "$code" = 79 ]; then
    finish
fi

scenario 'the greatest priority first, and the oldest of one'
lk push q low --priority -5
lk push q first
lk push q high --priority 7 --json
expect .added true
lk push q second
for id in high first second low; do
    lk claim q --json
    expect .id "\"$id\""
done
lk items q --json
expect 'select(.id == "low" or .id == "first") | [.id, .priority]' '["low",-5]
["first",null]'

scenario 'drop: what is not claimed'
for id in 1 2 3 4; do
    lk push q "$id"
done
lk claim q
lk drop q 2 3 --json
expect_code 0
expect_keys 'status dropped'
expect .dropped 2
lk drop q 1 4 5
failure 78 'lk: LOST: *'
lk items q --json
expect .id '"1"'
lk drop q 1
failure 78 'lk: LOST: *'
lk stats q --json
expect '[.done, .claimed_now, .ready_now]' '[0,1,0]'

scenario 'push --again: once more, with what is new'
lk push q 1 'version 1'
lk push q 1 'version 2'
expect_code 0
[ "$(cat "$work/err")" = 'lk: q/1 was there already (ready); nothing was added' ] \
    || complain "$(cat "$work/err")"
lk push q 1 'version 2' --replace --json
expect_keys 'status added changed was'
expect '[.added, .changed, .was]' '[false,true,"ready"]'
lk claim q --ttl 1h --owner ben --json
expect .value '"version 2"'
lk push q 1 'version 3' --replace --json
expect '[.added, .changed, .was]' '[false,false,"claimed"]'
lk push q 1 'version 3' --again
[ "$(cat "$work/err")" = 'lk: q/1 was there already (claimed); it will be worked on once more' ] \
    || complain "$(cat "$work/err")"
lk push q 1 'version 4' --again
[ "$(cat "$work/err")" = 'lk: q/1 was there already (again); it was changed' ] \
    || complain "$(cat "$work/err")"
lk items q --json
expect '[.state, .owner, .value, .attempts]' '["again","ben","version 4",1]'
lk 'done' q 1 --owner ben
expect_code 0
lk items q --json
expect '[.state, .value, .attempts]' '["ready","version 4",0]'
lk push q 1 --again --replace
failure 64 'lk: INVALID: a push is again or replaces, not both (R16)'
lk push q 1 --again --delay 1h --json
expect '[.added, .changed, .was]' '[false,true,"ready"]'
lk push q 2 --again --json
expect_keys 'status added'
input '{"id": 1, "again": true}\n{"id": 2, "replace": true, "value": "x"}\n{"id": 2}\n{"id": 3}\n'
lk push q -
expect_code 0
[ "$(cat "$work/out")" = 'added 1
duplicates 3
changed 2' ] || complain 'the counts'
input '{"id": 1, "again": "yes"}\n'
lk push q -
failure 64 'lk: INVALID: line 1: "again" is true or false; *'
lk items q --json
expect '[.id, .state, .value]' '["1","ready",null]
["2","ready","x"]
["3","ready",null]'

scenario 'cancel: an item in any state, on record'
for id in 1 2 3; do
    lk push q "$id"
done
lk cancel q 1
failure 64 'lk: INVALID: cancel needs --reason TEXT*'
lk cancel q 1 --reason 'not needed'
expect_code 0
expect_out 'cancelled q/1'
lk cancel q 1 --reason 'not needed'
failure 78 'lk: LOST: there is no such item (R16)'
lk cancel q 2 --reason 'not needed' --json
expect_keys 'status claimed'
expect .claimed false
lk claim q --ttl 1h --owner ben
lk cancel q 3 --reason 'hangs'
expect_code 0
case $(cat "$work/out") in
    'cancelled q/3: its worker has it until '*'; --now ends the claim at once, if the worker is dead') ;;
    *) complain "$(cat "$work/out")" ;;
esac
lk items q --json
expect '[.id, .state, .owner]' '["3","cancelled","ben"]'
lk drop q 3
failure 78 'lk: LOST: *'
lk retry q 3 --owner ben
expect_code 0
lk items q --json
expect_out ''
lk push q 4
lk claim q --ttl 1h --owner ben
lk cancel q 4 --reason 'dead' --now
expect_out 'cancelled q/4: its claim has ended'
lk audit q --json
expect '[.path, .owner, .reason]' '["q/1","","not needed"]
["q/2","","not needed"]
["q/3","ben","hangs"]
["q/4","ben","dead"]'

scenario 'retry --park: aside, whatever the attempts'
lk push q 1
lk claim q --owner ben
lk retry q 1 --owner ben --park --delay 1s
failure 64 'lk: INVALID: an item that is parked has no delay (R16)'
lk retry q 1 --owner ben --park --reason 'no such address'
expect_code 0
lk items q --json
expect '[.state, .attempts, .last_error]' '["parked",1,"no such address"]'

scenario 'parked items are dropped or unparked, all of them'
seq 1 12 | sed 's/.*/{"id":&}/' >"$work/lines"
stdin=$work/lines
lk push q -
lk work q --drain --max-attempts 1 -q -- sh -c '[ "$LK_ITEM_ID" -gt 10 ]'
expect_code 1
lk unpark q --all --json
expect '[.status, .unparked]' '["ok",10]'
lk unpark q --all
expect_out 'unparked 0'
lk work q --drain --max-attempts 1 -q -- false
lk push q ready
lk drop q --parked
expect_code 0
expect_out 'dropped 10'
lk items q --json
expect .id '"ready"'

scenario 'queues: all, or those at or below a path'
for queue in app/mails app/orders apples; do
    lk push "$queue" 1
done
lk claim app/mails
lk queues --json
expect '[.queue, .ready_now, .claimed_now, .pushed]' '["app/mails",0,1,1]
["app/orders",1,0,1]
["apples",1,0,1]'
lk queues app --json
expect .queue '"app/mails"
"app/orders"'
lk queues app/mails
expect_code 0
[ "$(wc -l <"$work/out")" -eq 2 ] || complain 'expected two lines'
grep -qE '^app/mails +0 +0 +1 +0 +0 +0 +0 *$' "$work/out" || complain 'the row'
lk queues none
expect_code 0
expect_out ''

scenario 'why an item failed is kept with it'
lk push q 1
lk work q --drain --max-attempts 1 -q -- sh -c 'echo first >&2; echo "no paper" >&2; exit 3'
lk items q --json
expect '[.state, .last_exit, .last_error]' '["parked",3,"first\nno paper"]'
lk items q
grep -q '  exit 3: no paper *$' "$work/out" || complain 'the column'
lk unpark q 1
lk work q --drain --max-attempts 1 -q -- sh -c 'kill -9 $$'
lk items q --json
expect '[.last_exit, .last_error]' '[137,"signal 9"]'
lk unpark q 1
lk work q --drain --max-attempts 1 -q -- sh -c 'exit 4'
lk items q --json
expect '[.last_exit, .last_error]' '[4,null]'
lk items q
grep -q '  exit 4 *$' "$work/out" || complain 'the column'
lk unpark q 1
lk work q --drain --max-attempts 1 --max-time 100ms -q -- sleep 60
lk items q --json
expect '[.last_exit, .last_error]' '[124,"--max-time is up"]'

finish
