#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk run --report: a line of JSON says what came of the run.
. "${0%/*}/harness.sh"

report=$work/report

# What jq makes of the last report.
expect_report() {
    found=$(tail -n 1 "$report" | jq -c "$1" 2>&1)
    [ "$found" = "$2" ] || complain "$1: expected $2, found $found"
}

scenario 'a run that was granted: its lease, its times, the exit code of CMD'
lk run 'db/t1/' 'pool?limit=3' --owner ana --report "$report" -- sh -c 'echo "$LK_TOKEN"; sleep 0.1; exit 7'
expect_code 7
expect_report 'keys_unsorted | join(" ")' '"path parts owner outcome waited_ms held_ms token lost exit_code"'
expect_report '[.path, .owner, .outcome, .lost, .exit_code]' '["db/t1","ana","granted",false,7]'
expect_report .parts '["db/t1/","pool?limit=3"]'
expect_report .token "$(cat "$work/out")"
expect_report '.held_ms >= 100 and .waited_ms >= 0' true
expect_err ''

scenario 'a file gets a line of each run'
lk run a --report "$report" -- true
lk run b "--report=$report" -- true
[ "$(jq -r .path "$report" | tail -n 2 | tr '\n' ' ')" = 'a b ' ] || complain "$(cat "$report")"
expect_report .owner "\"$(jq -r .owner "$report" | tail -n 1)\""

scenario 'a descriptor, which CMD does not have'
command='lk run --report 7'
"$LK_PROGRAM" run a --report 7 -- sh -c '[ ! -e /proc/self/fd/7 ]' 7>"$report"
code=$?
expect_code 0
expect_report .outcome '"granted"'
"$LK_PROGRAM" run a --report 1 -- echo out >"$work/out"
[ "$(head -n 1 "$work/out")" = out ] && [ "$(tail -n 1 "$work/out" | jq -r .path)" = a ] || complain 'stdout has not both'

scenario 'a pipe ends with lk, although CMD leaves something running'
line=$("$LK_PROGRAM" run a --report 7 -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $! >"$0"' "$work/pid" 7>&1 >/dev/null | cat)
kill "$(cat "$work/pid")"
[ "$(printf '%s' "$line" | jq -r .exit_code)" = 0 ] || complain "the report: $line"

scenario 'one that was not: why, and how long it has waited'
lk acquire a --owner ben --note lunch
lk run -n a --owner ana --report "$report" -- true
expect_code 75
expect_report 'keys_unsorted | join(" ")' '"path parts owner outcome waited_ms exit_code error"'
expect_report '[.path, .owner, .outcome, .exit_code]' '["a","ana","busy",75]'
expect_report '.error | test("ben")' true
lk run -w 200ms -E 0 a --report "$report" -- true
expect_code 0
expect_report '[.outcome, .exit_code, .waited_ms >= 200]' '["timeout",0,true]'

scenario 'a signal ends the wait'
lk acquire a --owner ben
"$LK_PROGRAM" run -q a --report "$report" -- true 2>"$work/err" &
run=$!
waits() { "$LK_PROGRAM" ls a --json | grep -q waiting; }
until_true waits
kill -TERM "$run"
wait "$run"
code=$?
expect_code 143
expect_report '[.outcome, .exit_code, .signal]' '["cancelled",143,15]'

scenario 'CMD died of a signal'
lk run a --report "$report" -- sh -c 'kill -KILL $$'
expect_code 137
expect_report '[.outcome, .exit_code, .signal, .lost]' '["granted",137,9,false]'

scenario 'the lease was lost: by whom, and why'
lk run a --report "$report" -q -- sh -c '"$0" break a --reason "host is gone" --now; exec sleep 60' "$LK_PROGRAM"
expect_code 78
expect_report '[.outcome, .exit_code, .lost]' '["granted",78,true]'
expect_report '.why | test("host is gone")' true

scenario 'it stays for a least time'
lk run a --at-least 1h --report "$report" -- true
expect_report '.stays_ms > 3000000 and .stays_ms <= 3600000' true
lk run b --at-least 50ms --report "$report" -- sleep 0.1
expect_report .stays_ms null

scenario 'a store that cannot be reached'
lk -S lk+unix:/nowhere/at/all run a/ -n --report "$report" -- true
expect_code 69
expect_report '[.path, .outcome, .exit_code, .error != null]' '["a","unavailable",69,true]'

scenario 'under the lease of the run around it'
lk run a -- "$LK_PROGRAM" run a --inherit --report "$report" -- true
expect_report '[.path, .outcome, .token, .held_ms >= 0, .exit_code]' '["a","granted",null,true,0]'
lk run a -- "$LK_PROGRAM" run a --report "$report" -- true
expect_report '[.outcome, .exit_code]' '["deadlock",76]'

scenario 'what cannot be written is said before anything is taken'
for target in "$work/no/such/file" "$work" 9 '' 0; do
    lk run a --report "$target" -- touch "$work/never"
    failure 64 'lk: INVALID: *--report*'
done
[ ! -e "$work/never" ] || complain 'the command ran'
lk work a --report 2 -- true
failure 64 'lk: INVALID: work does not take --report*'
lk ls
expect_out ''

scenario 'a full disk at the end changes no exit code'
lk run a --report /dev/full -- sh -c 'exit 3'
expect_code 3
expect_err 'lk: WARNING: the report could not be written: *'

scenario 'a reader that has gone changes none either'
command='lk run --report 7 | :'
{
    "$LK_PROGRAM" run a --report 7 -- sh -c 'until [ -e "$0" ]; do sleep 0.01; done; exit 3' "$work/gone" \
        7>&1 >/dev/null 2>"$work/err"
    echo $? >"$work/code"
} | {
    exec <&-
    : >"$work/gone"
}
code=$(cat "$work/code")
expect_code 3

finish
