#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk acquire, renew and release: one lease by hand.
. "${0%/*}/harness.sh"

asked='status paths owner ticket token ttl_ms expires_in_ms in_use position created'
in_line='status paths owner ticket ttl_ms expires_in_ms in_use position created blockers'
refused='status paths owner in_use position blockers error'

scenario 'acquire prints the token alone on a line'
lk acquire db/t1
expect_code 0
expect_number
expect_err ''

scenario 'acquire and release in one script belong together'
lk acquire db
expect_code 0
lk release db
expect_code 0
expect_out ''
expect_err ''
lk release db
failure 78 'lk: LOST: *--owner*'

scenario 'so do they through a command substitution'
token=$("$LK_PROGRAM" acquire db 2>/dev/null)
lk release db --token "$token"
expect_code 0

scenario 'so do they from two shells that name one LK_OWNER, and no others'
LK_OWNER=me sh -c '"$LK_PROGRAM" acquire db; :' >"$work/token"
lk release db
expect_code 78
lk release db --owner me --token "$(cat "$work/token")"
expect_code 0

scenario 'two commands of one shell are one owner, which is said'
lk acquire -n job
expect_err ''
lk acquire -n job
expect_code 0
expect_number
expect_err 'lk: job was held or asked for already by this shell: *--owner*'
lk acquire -n job -q
expect_err ''
lk acquire -n job --json
expect_err ''
expect .created false
lk acquire -n other --owner me
lk acquire -n other --owner me
expect_err ''
export LK_OWNER=me
lk acquire -n other
expect_err ''

scenario 'two shells are two owners'
sh -c '"$LK_PROGRAM" acquire db; :' >"$work/token"
lk acquire -n db
expect_code 75

scenario 'an option is stronger than the environment'
export LK_OWNER=env
lk acquire db --json --owner opt
expect .owner '"opt"'
lk acquire x --json
expect .owner '"env"'

scenario 'acquire --json has all that a lease has'
lk acquire /db/t1/ 'pool?limit=3' --owner ana --ttl $((90 * stretch)) --json
expect_code 0
expect_err ''
expect_keys "$asked"
expect .status '"granted"'
expect .paths '["db/t1","pool"]'
expect .owner '"ana"'
expect .ttl_ms $((90000 * stretch))
expect '.ticket == .token and .token > 1000000000000000 and .token < 9007199254740992' true
expect ".expires_in_ms > $((80000 * stretch)) and .expires_in_ms <= $((90000 * stretch))" true
expect .in_use 0
expect .position 0
expect .created true

scenario 'the same ask twice is one request'
lk acquire db --owner ana --json
token=$(field .token)
lk acquire db --owner ana --json
expect .status '"granted"'
expect .token "$token"
expect .created false
lk ls --json
expect '[.owner, .token]' "[\"ana\",$token]"

scenario 'a refused try names the blockers'
lk acquire db --owner ana --note nightly
lk acquire -n db/t1 --owner ben
failure 75 'lk: BUSY: *db is held by ana (nightly), * left'
lk acquire -n db/t1 --owner ben --json
expect_code 75
expect_err ''
expect_keys "$refused"
expect .status '"busy"'
expect .position 1
expect '.blockers[0] | keys_unsorted | join(" ")' '"path owner ticket state note expires_in_ms"'
expect '.blockers[0] | [.path, .owner, .state, .note]' '["db","ana","held","nightly"]'

scenario 'quiet says it by the exit code'
lk acquire db --owner ana
lk acquire -q -n db --owner ben
failure 75 ''
lk acquire -q -w 50ms db --owner ben
failure 75 ''

scenario 'quiet hides no failure of another kind'
lk -q acquire bad//path
failure 64 'lk: INVALID: *'
lk acquire -q db --no-such-option
failure 64 'lk: INVALID: *'
lk -q -S lk://127.0.0.1:1 acquire db
failure 69 'lk: UNAVAILABLE: *'
lk run -q -n -S lk://127.0.0.1:1 db -- true
failure 69 'lk: UNAVAILABLE: *'
lk run -q db -- "$work/no-such-command"
failure 127 'lk: NOT FOUND: *'
lk acquire -q db -S mem: --bound
failure 64 'lk: INVALID: *'
lk release -q never
failure 78 'lk: LOST: *'

scenario 'with -E a conflict is no failure, and nothing is printed of it'
lk acquire db --owner ana
lk acquire -n -E 0 db --owner ben
failure 0 ''
lk run -n -E 0 db -- true
failure 0 ''
lk run -w 50ms -E 9 db -- true
failure 9 ''
lk run -n -v -E 9 db -- true
failure 9 'lk: BUSY: *'
lk acquire -n -E 0 db --owner ben --json
expect .status '"busy"'
lk run -n -E 0 -S lk://127.0.0.1:1 db -- true
failure 69 'lk: UNAVAILABLE: *'

# Runs the program with a stdout that takes nothing.
lk_to() {
    command="lk $* >full"
    "$LK_PROGRAM" "$@" >/dev/full 2>"$work/err" </dev/null
    code=$?
    : >"$work/out"
}

scenario 'a lease whose token cannot be printed is given back'
lk push q 1
for call in 'acquire a' 'acquire a --json' 'acquire a --value' 'hold a' 'hold a --json' 'claim q' 'claim q --json'; do
    # shellcheck disable=SC2086 # they are words
    lk_to $call
    failure 70 'lk: INTERNAL: standard output could not be written*'
    command="lk ls, after $call"
    [ "$("$LK_PROGRAM" ls --json | wc -l)" -eq 0 ] || complain 'the lease is still held'
    command="lk $call >&-"
    # shellcheck disable=SC2086
    "$LK_PROGRAM" $call >&- 2>"$work/err" </dev/null
    code=$?
    failure 70 'lk: INTERNAL: standard output could not be written*'
    [ "$("$LK_PROGRAM" ls --json | wc -l)" -eq 0 ] || complain 'the lease is still held'
done
lk stats q --json
expect .ready_now 1

scenario 'what was held before stays held'
lk acquire a --owner me
lk_to acquire a --owner me
expect_code 70
lk renew a --owner me
expect_code 0

scenario 'a wait without a terminal is told of'
lk acquire a --owner ana
for call in 'run a -- true' 'acquire a --owner ben' 'hold a --owner cleo' 'claim q -w 1h'; do
    # shellcheck disable=SC2086
    "$LK_PROGRAM" $call >/dev/null 2>"$work/err-${call%% *}" </dev/null &
done
for call in run acquire hold claim; do
    until_true grep -q '^lk: WAITING: ' "$work/err-$call"
done
lk push q 1
lk release a --owner ana
lk acquire b --owner ana
for call in 'run -v b --owner x -- true' 'acquire -v b --owner y' 'hold -v b --owner z'; do
    # shellcheck disable=SC2086 # they are words
    "$LK_PROGRAM" $call >/dev/null 2>"$work/told-${call%% *}" </dev/null &
    until_true grep -q '^lk: WAITING: b is' "$work/told-${call%% *}"
done
lk release b --owner ana

scenario 'wait 0 is a try, a wait ends in TIMEOUT, and no request stays in the queue'
lk acquire db --owner ana
lk acquire -w 0 db --owner ben
failure 75 'lk: BUSY: *'
lk acquire --wait 50ms db --owner ben
failure 75 'lk: TIMEOUT: *db is held by ana, *'
lk acquire --wait 0.05 db --owner ben --json
expect_code 75
expect .status '"timeout"'
expect 'has("token")' false
lk ls --json
expect .owner '"ana"'

scenario '-E replaces 75 for BUSY and TIMEOUT only'
lk acquire db --owner ana
lk acquire -n -E 9 db --owner ben
expect_code 9
lk acquire -w 20ms -E9 db --owner ben --json
expect_code 9
lk acquire -n -E 0 db --owner ben
expect_code 0
lk acquire --queue -E 9 db --owner ben
expect_code 75
lk acquire -E 9 'db?bad' --owner ben
expect_code 64

scenario 'polling a queue to the grant'
lk acquire db --owner ana --json
first=$(field .token)
lk acquire --queue --json db --owner ben
expect_code 75
expect_err ''
expect_keys "$in_line"
expect .status '"waiting"'
expect .position 1
expect .created true
ticket=$(field .ticket)
lk acquire --queue --json db --owner ben
expect_code 75
expect '[.status, .created, .ticket]' "[\"waiting\",false,$ticket]"
lk release db --owner ana
lk acquire --queue --json db --owner ben
expect_code 0
expect_keys "$asked"
expect '[.status, .created, .ticket, .position]' "[\"granted\",false,$ticket,0]"
expect ".token > $first" true

scenario 'queue without --json'
lk acquire db --owner ana
lk acquire --queue db --owner ben
failure 75 'lk: WAITING: *db is held by ana, *'
lk release db --owner ben
expect_code 0
lk ls --json
expect .owner '"ana"'

scenario 'a wait is granted when its turn comes'
lk acquire db --owner ana
"$LK_PROGRAM" acquire -w $((30 * stretch)) db --owner ben --json >"$work/ben" 2>&1 &
until "$LK_PROGRAM" ls --json | grep -q waiting; do :; done
lk release db --owner ana
wait $!
code=$?
cp "$work/ben" "$work/out"
expect_code 0
expect .status '"granted"'
expect .owner '"ben"'

scenario 'a signal withdraws what waits; that of a timer, too'
lk acquire db --owner ana
for signal in TERM-143 ALRM-142; do
    "$LK_PROGRAM" acquire db --owner ben >"$work/ben" 2>&1 &
    until "$LK_PROGRAM" ls --json | grep -q waiting; do :; done
    kill -"${signal%-*}" $!
    wait $!
    code=$?
    expect_code "${signal#*-}"
    lk ls --json
    expect .owner '"ana"'
done

scenario 'limits and units'
lk acquire pool --limit 3 --owner a --json
expect .in_use 1
lk acquire pool --limit 3 --units 2 --owner b --json
expect .in_use 3
lk acquire 'pool?limit=3' -n --owner c
failure 75 'lk: BUSY: *'
lk acquire pool --limit 6 -n --owner c --json
expect .in_use 4
lk acquire 'pool?limit=6&units=3' -n --owner d
expect_code 75

scenario 'an option fills in what a part does not say'
lk acquire 'a?limit=9&units=4' b --limit 3 --units 2 --owner ana
expect_code 0
lk ls --json
expect '[.path, .limit, .units]' '["a",9,4]
["b",3,2]'
lk acquire c 'd?limit=2' -s --owner ana
lk ls c --json
expect '[.mode, .limit, .units]' '["shared",null,1]'

scenario 'shared and exclusive'
lk acquire -s t --owner a
expect_code 0
lk acquire 't?shared' -n --owner b
expect_code 0
lk acquire -x t -n --owner c
expect_code 75
lk acquire t/sub -sn --owner c
expect_code 0

scenario 'all or nothing'
lk acquire x --owner a
lk acquire y x -n --owner b
expect_code 75
lk acquire y -n --owner c
expect_code 0

scenario 'a deadlock is named'
lk acquire x --owner a
lk acquire y --owner b
lk acquire --queue y --owner a
expect_code 75
lk acquire --queue x --owner b
failure 76 'lk: DEADLOCK: b waits for a, a waits for b; release what is held, *'
lk acquire --queue x --owner b --json
expect_code 76
expect .status '"deadlock"'
expect .cycle '["b","a"]'
expect 'has("ticket") or has("token") or has("expires_in_ms") or has("created")' false
lk release y --owner b
lk acquire -n y --owner a --json
expect .status '"granted"'

scenario 'a conversion that is refused leaves the lease'
lk acquire -s t --owner a --json
token=$(field .token)
lk acquire -s t --owner b
lk acquire -n t --owner a --json
expect_code 75
expect '[.status, .token, .created]' "[\"busy\",$token,false]"
lk release t --owner b
lk acquire -n t --owner a --json
expect '[.status, .created]' '["granted",false]'
expect ".token > $token" true

scenario 'renew sets the deadline again, with the former ttl or another'
lk acquire 'db?shared' --owner ana --ttl $((100 * stretch))s --json
token=$(field .token)
lk renew db --owner ana
expect_code 0
expect_out ''
expect_err ''
lk renew db --owner ana --json
expect_code 0
expect_keys 'status paths owner ticket token ttl_ms expires_in_ms'
expect '[.status, .token, .ttl_ms]' "[\"ok\",$token,$((100000 * stretch))]"
expect ".expires_in_ms > $((90000 * stretch))" true
lk renew db --owner ana --ttl 2h --token "$token" --json
expect .ttl_ms 7200000
lk renew db --owner ana --json
expect .ttl_ms 7200000

scenario 'an ask without a ttl means 60 s'
lk acquire db --owner ana --ttl 2h
lk acquire db --owner ana --json
expect .ttl_ms 60000

scenario 'renew and release of what is not held'
lk renew db --owner ana
failure 78 'lk: LOST: *'
lk release db --owner ana --json
expect_code 78
expect_err ''
expect .status '"lost"'
expect 'has("error")' true
expect 'has("token") or has("ticket") or has("expires_in_ms") or has("in_use")' false

scenario 'another token is another lease'
lk acquire db --owner ana --json
token=$(field .token)
lk renew db --owner ana --token $((token - 1))
expect_code 78
lk release db --owner ana --token $((token + 1))
expect_code 78
lk release db --owner ana --token 9223372036854775807
expect_code 78
lk renew db --owner ben --token "$token"
expect_code 78
lk release db --owner ana --token "$token"
expect_code 0

scenario 'without --owner the right token is enough'
lk acquire db --owner ana --json
token=$(field .token)
lk renew db --token $((token + 1))
failure 78 'lk: LOST: no lease at db has this token*'
lk renew db --token "$token" --ttl 2h --json
expect_code 0
expect '[.status, .owner, .token, .ttl_ms]' "[\"ok\",\"ana\",$token,7200000]"
export LK_OWNER=ben
lk release db --token "$token" --put finished --json
expect_code 0
expect '[.status, .owner]' '["ok","ana"]'
unset LK_OWNER
lk get db
expect_out finished
lk release db --token "$token" --json
expect_code 78
expect .status '"lost"'

scenario 'a shell that holds another lease there releases the one that the token names'
lk acquire 'db?shared' --owner ana --json
token=$(field .token)
lk acquire 'db?shared'
lk release db --token "$token"
expect_code 0
lk release db
expect_code 0

scenario 'a release can be repeated with its token'
lk acquire db --owner ana --json
token=$(field .token)
lk release db --owner ana --token "$token" --json
expect_code 0
expect .status '"ok"'
expect 'has("expires_in_ms") or has("ttl_ms")' false
lk release db --owner ana --token "$token"
expect_code 0
lk release db --owner ana
expect_code 78
lk acquire db --json
token=$(field .token)
lk release db --token "$token"
expect_code 0
lk release db --token "$token"
expect_code 0

scenario 'renew and release compare paths and ignore modes'
lk acquire 'a?limit=3' b --owner ana
lk renew a 'b?shared' --owner ana
expect_code 0
lk release -s --limit 9 a b --owner ana
expect_code 0
lk acquire a b --owner ana
lk release a --owner ana
expect_code 78

scenario 'what has perished stays dead'
lk acquire db --owner ana --ttl 60ms --json
token=$(field .token)
lk acquire -w $((30 * stretch)) db --owner ben
expect_code 0
lk renew db --owner ana
expect_code 78
lk renew db --owner ana --token "$token"
expect_code 78
lk release db --owner ana
expect_code 78

scenario 'a waiting request is not renewed, but can be withdrawn'
lk acquire db --owner ana
lk acquire --queue db --owner ben
lk renew db --owner ben
expect_code 78
lk release db --owner ben --json
expect_code 0
expect .status '"ok"'

scenario 'a fixed end'
lk acquire db --owner ana --until "$(date -u -d '+400 days' +%Y-%m-%dT%H:%M:%SZ)" --json
expect_code 64
expect .status '"invalid"'
lk acquire db --owner ana --until "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)" --json
expect_code 0
expect_keys 'status paths owner ticket token expires_in_ms in_use position created'
expect ".expires_in_ms > $((3600000 - 10000 * stretch)) and .expires_in_ms <= 3600000" true
lk renew db --owner ana --json
expect_code 0
expect '.expires_in_ms <= 3600000' true
lk acquire clock --owner ana --until "$(date -d '+2 hours' +%H:%M)" --json
expect ".expires_in_ms > $((7140000 - 40000 * stretch)) and .expires_in_ms <= 7200000" true

scenario 'the greatest request that there may be, and one part more'
lk acquire p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16 --owner a
expect_code 0
lk acquire p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16 p17 --owner b
failure 64 'lk: INVALID: *16*17*(R2)'

scenario 'run cannot be left in the queue: the next run would be another owner'
lk acquire g --owner first
lk run --queue g -- true
failure 64 'lk: INVALID: *--owner*'
lk run --queue g --owner me -- true
failure 75 'lk: WAITING: *'
lk ls g --json
expect_code 0
lk release g --owner me
expect_code 0

scenario 'the exit code of a run that is refused may be 0'
lk acquire g --owner first
lk run -n -E 0 g -- false
expect_code 0
lk run -n -E 9 g -- false
expect_code 9
lk run -n g -- false
expect_code 75

finish
