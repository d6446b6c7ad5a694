#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What CMD of lk work tells of its items while it runs: LK_REPORT, lk report, and lk done or lk retry
# from inside (R16).
. "${0%/*}/harness.sh"

log=$work/log
export log

push() {
    for id in "$@"; do
        "$LK_PROGRAM" push q "$id" || complain "push $id"
    done
}

# `lk work ARGS...`, which is told to stop when CMD has written "ended" to the log.
work_once() {
    : >"$log"
    command="lk work $*"
    "$LK_PROGRAM" work "$@" >"$work/out" 2>"$work/err" </dev/null &
    pool=$!
    until_true grep -qx ended "$log"
    kill -TERM "$pool"
    wait "$pool"
    code=$?
}

# The items of q: id, state, attempts and the last failure.
expect_items() {
    lk items q --json
    expect '[.id, .state, .attempts, .last_error]' "$1"
}

scenario 'each item of a batch is settled as soon as it is told of'
push 1 2 3 4 5
work_once q --batch 5 --max-attempts 1 -- sh -c '
    "$LK_PROGRAM" report done 1 2
    echo "{\"id\": 3, \"retry\": {\"delay_ms\": 3600000, \"reason\": \"later\", \"uncounted\": true}}" >&"$LK_REPORT"
    "$LK_PROGRAM" report retry 4 --reason "too large"
    "$LK_PROGRAM" report progress 5 --note "half of it"
    until [ "$("$LK_PROGRAM" items q --json | jq -r .state | tr "\n" " ")" = "delayed parked claimed " ]; do
        sleep 0.05
    done
    echo ended >>"$log"'
expect_code 0
grep -qx 'lk: PROGRESS: q/5: half of it' "$work/err" || complain 'no progress'
grep -qx 'lk: FAILED: q/4: CMD says so; attempt 1 of 1; parked' "$work/err" || complain 'no line of 4'
grep -qx 'lk: ENDED: q: 3 done, 1 given back, 1 parked' "$work/err" || complain 'the counts'
[ "$(wc -l <"$work/err")" -eq 3 ] || complain 'another line'
expect_items '["3","delayed",0,"later"]
["4","parked",1,"too large"]'

scenario 'what was not told of follows the exit code'
push 1 2 3
lk work q --batch 3 --drain --max-attempts 1 -- sh -c '"$LK_PROGRAM" report done 2; echo no >&2; exit 3'
expect_code 1
expect_items '["1","parked",1,"no"]
["3","parked",1,"no"]'

scenario 'an item is parked at its first attempt'
lk push q 1
lk push q 2
lk work q --drain -- sh -c 'if [ "$LK_ITEM_ID" = 1 ]; then "$LK_PROGRAM" report park --reason "no such address"
    else echo "{\"park\": {}}" >&"$LK_REPORT"; fi'
expect_code 1
grep -qx 'lk: FAILED: q/1: CMD says so; attempt 1; parked' "$work/err" || complain 'no line'
lk items q --json
expect '[.id, .state, .last_error]' '["1","parked","no such address"]
["2","parked",null]'
LK_REPORT=1 lk report park 1 --delay 1s
failure 64 'lk: INVALID: report: park has no --delay, --at or --uncounted'
lk drop q --parked

scenario 'the only item need not be named, and LK_ITEM_ID is that of lk report'
push 1 2
lk work q --drain -- sh -c 'if [ "$LK_ITEM_ID" = 1 ]; then echo "{\"done\": true}" >&"$LK_REPORT"; else "$LK_PROGRAM" report done; fi; exit 4'
expect_code 0
expect_err 'lk: ENDED: q: 2 done'
expect_items ''

scenario 'bad input is told once, nothing is lost, and CMD goes on'
push 1 2
lk work q --batch 2 --drain -- sh -c 'exec 1>&"$LK_REPORT"
    echo "no JSON"; echo "[]"; echo "{}"; echo "{\"id\": 9, \"done\": true}"; echo "{\"done\": true}"
    echo "{\"id\": 1, \"done\": false}"; echo "{\"id\": 1, \"retry\": 5}"; echo "{\"id\": 1, \"done\": true, \"progress\": \"\"}"
    echo "{\"id\": 1, \"retry\": {\"delay_ms\": -1}}"; echo "{\"id\": {}, \"done\": true}"
    head -c 400000 /dev/zero | tr "\0" x; echo; head -c 400000 /dev/zero | tr "\0" " "; echo
    echo; echo "{\"id\": \"1\", \"done\": true}"; printf "{\"id\": 2, \"done\": true}"; echo ended >"$log"; exit 0'
expect_code 0
grep -qx ended "$log" || complain 'CMD did not go on'
[ "$(grep -c 'lk: REPORT: q: a line of CMD is passed over' "$work/err")" -eq 1 ] || complain 'not told once'
grep -q 'it is not an object in JSON' "$work/err" || complain 'not told why'
grep -qx 'lk: ENDED: q: 2 done' "$work/err" || complain 'the counts'
expect_items ''

scenario 'a line of more than 388 KiB, and an item that is settled already'
push 1
lk work q --drain -q -- sh -c 'head -c 400000 /dev/zero | tr "\0" x >&"$LK_REPORT"'
expect_code 0
push 1
lk work q --drain -- sh -c '(head -c 400000 /dev/zero | tr "\0" x; echo) >&"$LK_REPORT"'
grep -qx 'lk: REPORT: q: a line of CMD is passed over: it has more than 397312 bytes' "$work/err" || complain 'too long'
push 1
lk work q --drain -- sh -c '"$LK_PROGRAM" report done; "$LK_PROGRAM" report retry'
grep -q 'the item "1" is settled already' "$work/err" || complain 'settled twice'
expect_items ''

scenario 'an item that its own CMD has ended is not lost, and ends nothing'
push 1
lk work q --ttl $((600 * stretch))ms --drain -- sh -c '"$LK_PROGRAM" done q 1; sleep '$((2 * stretch))'; echo ended >"$log"; exit 3'
expect_code 0
expect_err 'lk: ENDED: q: 0 done'
grep -qx ended "$log" || complain 'CMD was ended'
push 1 2 3
work_once q --batch 3 --ttl $((600 * stretch))ms -- \
    sh -c '"$LK_PROGRAM" done q 1; "$LK_PROGRAM" retry q 2 --delay 1h --uncounted; sleep '$((2 * stretch))'; echo ended >>"$log"'
expect_err 'lk: ENDED: q: 1 done'
expect_items '["2","delayed",0,null]'

scenario 'a claim that is broken is lost, as before'
push 1
lk work q --ttl $((600 * stretch))ms --drain --max-attempts 1 -- \
    sh -c '"$LK_PROGRAM" break q/1 --reason gone --now; sleep 60; echo ended >"$log"'
grep -qE '^lk: LOST: q/1: the claim was revoked by [^ ]+@[^ ]+ at .*: gone$' "$work/err" || complain 'not told'
expect_items '["1","parked",1,"the claim ended without a result: its worker died, or did not renew it in time"]'

scenario 'a batch that fails without a word is tried in halves before a last attempt is used up'
push 1 2 3 4 5 6 7
lk work q --batch 7 --drain --max-attempts 2 --backoff 10ms -q -- \
    sh -c 'case " $LK_ITEMS " in *" 5 "*) echo "no paper" >&2; exit 3 ;; esac'
expect_code 1
expect_items '["5","parked",2,"no paper"]'
lk stats q --json
expect '[.done, .parked]' '[6,1]'

scenario 'stops are no failures'
push 1
for stop in once twice; do
    : >"$log"
    set -- q --max-attempts 1
    [ "$stop" = twice ] || set -- "$@" --stop-after 100ms
    env --default-signal=INT,QUIT "$LK_PROGRAM" work "$@" -- sh -c 'echo begin >>"$log"; exec sleep 60' \
        2>"$work/err" </dev/null &
    pool=$!
    until_true grep -q begin "$log"
    kill -TERM "$pool"
    if [ "$stop" = twice ]; then
        until_true awk '/^ShdPnd:.*[1-9a-f]/ { exit 1 }' "/proc/$pool/status"
        kill -TERM "$pool"
    fi
    wait "$pool"
    code=$?
    expect_code 143
    expect_items '["1","ready",0,null]'
done

scenario 'what is wrong with lk report'
push 1
env -u LK_REPORT "$LK_PROGRAM" report 'done' 1 2>"$work/err"
code=$?
expect_code 64
grep -q 'LK_REPORT names no open descriptor' "$work/err" || complain 'no channel'
lk report paint 1
failure 64 'lk: INVALID: report: "paint" is not done, retry, park or progress'
lk report 'done'
failure 64 'lk: INVALID: report: which item? *'

finish
