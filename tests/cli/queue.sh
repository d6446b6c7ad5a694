#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk push, claim, done, retry, unpark, items and stats: one piece of work by hand (R16).
. "${0%/*}/harness.sh"

tab=$(printf '\t')
counts='pushed duplicates claims steals done retried parked'

# A field of the line that `lk claim` printed.
claimed() {
    cut -f "$1" "$work/out"
}

expect_counts() {
    lk stats "$1" --json
    expect '[.pushed, .duplicates, .claims, .steals, .done, .retried, .parked] | join(" ")' "\"$2\""
}

expect_now() {
    lk stats "$1" --json
    expect '[.ready_now, .delayed_now, .claimed_now, .parked_now] | join(" ")' "\"$2\""
}

scenario 'push says nothing, claim prints id, token and value'
lk push q 1 'to: ana'
expect_code 0
expect_out ''
expect_err ''
lk claim q
expect_code 0
expect_err ''
[ "$(claimed 1)" = 1 ] || complain 'the id'
claimed 2 | grep -qxE '[1-9][0-9]{15}' || complain 'the token'
[ "$(claimed 3)" = 'to: ana' ] || complain 'the value'
[ "$(wc -l <"$work/out")" -eq 1 ] || complain 'expected one line'

scenario 'without a value the third field is empty'
lk push q 1
lk claim q
grep -qxE "1${tab}[0-9]+${tab}" "$work/out" || complain 'expected an empty third field'

scenario 'push --json tells whether it was added; a duplicate is no failure'
lk push q 1 a --json
expect_code 0
expect_keys 'status added'
expect '[.status, .added]' '["ok",true]'
lk push q 1 b --json
expect_code 0
expect_err ''
expect '[.status, .added]' '["ok",false]'
lk push q 1 b
expect_code 0
expect_out ''
expect_err 'lk: q/1 *already*'
lk push -q q 1 b
expect_err ''
lk items q --json
expect .value '"a"'
expect_counts q '1 3 0 0 0 0 0'

scenario 'a claimed item is a duplicate too, a done one is not'
lk push q 1
lk claim q
lk push q 1 --json
expect .added false
lk 'done' q 1
lk push q 1 --json
expect .added true

scenario 'claim --json has all that a claim has'
lk push q 1 v
lk claim /q/ --owner ana --ttl $((90 * stretch)) --json
expect_code 0
expect_err ''
expect_keys 'status queue id value attempt token owner expires_in_ms'
expect '[.status, .queue, .id, .value, .attempt, .owner]' '["granted","q","1","v",1,"ana"]'
expect ".expires_in_ms > $((80000 * stretch)) and .expires_in_ms <= $((90000 * stretch))" true
lk push q 2
lk claim q --json
expect_keys 'status queue id attempt token owner expires_in_ms'

scenario 'a value that is not UTF-8'
input '\377\000'
lk push q 1 -
expect_code 0
lk items q --json
expect .value_base64 '"/wA="'
lk claim q --json
expect .value_base64 '"/wA="'

scenario 'nothing to claim'
lk claim q
failure 75 'lk: BUSY: *(R16)'
lk claim q -n --json
expect_code 75
expect_err ''
expect_keys 'status error'
expect .status '"busy"'
lk claim q --wait 0
failure 75 'lk: BUSY: *'
lk claim q -w 50ms
failure 75 'lk: TIMEOUT: *'
lk claim q -q -E 9
failure 9 ''
lk claim q -w 50ms -E 9 --json
expect_code 9
expect .status '"timeout"'

scenario 'a claim waits for work'
"$LK_PROGRAM" claim q -w $((30 * stretch)) --owner ana --json >"$work/ana" 2>&1 &
lk push q 1
wait $!
code=$?
cp "$work/ana" "$work/out"
expect_code 0
expect '[.status, .id]' '["granted","1"]'

scenario 'a signal ends a claim that waits'
"$LK_PROGRAM" claim q -w 60 >"$work/out" 2>"$work/err" &
claim=$!
until grep -q SigBlk /proc/$claim/status && [ "$(sed -n 's/^Threads:\t//p' /proc/$claim/status)" -gt 1 ]; do :; done
kill -TERM $claim
wait $claim
code=$?
expect_code 143
expect_out ''
lk push q 1
lk items q --json
expect .state '"ready"'

scenario 'the oldest first'
for id in b a c; do
    lk push q "$id"
done
for id in b a c; do
    lk claim q --json
    expect .id "\"$id\""
done

scenario 'done removes the item; only the claimant, only with the token'
lk push q 1
lk claim q --owner ana --json
token=$(field .token)
lk 'done' q 1 --owner ben
failure 78 'lk: LOST: *'
lk 'done' q 1 --owner ana --token $((token + 1)) --json
expect_code 78
expect_err ''
expect_keys 'status error'
expect .status '"lost"'
lk 'done' q 1 --owner ana --token "$token" --json
expect_code 0
expect_keys status
expect .status '"ok"'
lk items q
expect_out ''
lk 'done' q 1 --owner ana --token "$token"
expect_code 0
lk 'done' q 1 --owner ana
expect_code 78
expect_counts q '1 0 1 0 1 0 0'

scenario 'claim and done in one script belong together'
lk push q 1
lk claim q
lk 'done' q 1
expect_code 0
expect_out ''
expect_err ''
lk 'done' q 1
failure 78 'lk: LOST: *--owner*'

scenario 'what is not there, or not claimed, is LOST'
lk 'done' q 1
expect_code 78
lk retry q 1 --owner ana
failure 78 'lk: LOST: *'
lk unpark q 1
failure 78 'lk: LOST: *'
lk push q 1
lk 'done' q 1
expect_code 78
lk retry q 1 --json
expect_code 78
expect .status '"lost"'
lk unpark q 1 --json
expect_code 78

scenario 'retry gives it back, at its old place'
lk push q 1
lk push q 2
lk claim q --owner ana
lk retry q 1 --owner ana --json
expect_code 0
expect_keys status
lk claim q --owner ben --json
expect '[.id, .attempt]' '["1",2]'
expect_counts q '2 0 2 0 0 1 0'

scenario 'retry with a delay'
lk push q 1
lk claim q
lk retry q 1 --delay 1h
expect_code 0
lk claim q
expect_code 75
lk items q --json
expect '[.state, .attempts]' '["delayed",1]'
expect ".due_in_ms > $((3600000 - 10000 * stretch)) and .due_in_ms <= 3600000" true
expect 'has("owner")' false

scenario 'push with a delay'
lk push q 1 --delay 1h
expect_now q '0 1 0 0'
lk claim q
expect_code 75
lk push q 2 --delay 80ms
lk claim q -w $((30 * stretch)) --json
expect_code 0
expect .id '"2"'
lk push q 3 --delay 367d
expect_code 64

scenario 'parked after so many attempts, and revived'
lk push q 1
for attempt in 1 2; do
    lk claim q --max-attempts 2 --json
    expect .attempt "$attempt"
    lk retry q 1
    expect_code 0
done
lk items q --json
expect '[.state, .attempts]' '["parked",2]'
lk claim q
expect_code 75
lk push q 1 --json
expect .added false
expect_counts q '1 1 2 0 0 2 1'
lk unpark q 1 --json
expect_code 0
expect_keys status
lk items q --json
expect '[.state, .attempts]' '["ready",0]'
lk unpark q 1
expect_code 78
lk claim q --json
expect .attempt 1

scenario 'a claim that perishes is stolen'
lk push q 1
lk claim q --owner ana --ttl $((2 * stretch))s --json
token=$(field .token)
lk claim q --owner ben -w $((30 * stretch)) --json
expect '[.id, .attempt, .owner]' '["1",2,"ben"]'
expect ".token > $token" true
lk 'done' q 1 --owner ana --token "$token"
expect_code 78
lk retry q 1 --owner ana
expect_code 78
lk 'done' q 1 --owner ben
expect_code 0
expect_counts q '1 0 2 1 1 0 0'

scenario 'parked, too, when the last claim perishes'
lk push q 1
lk claim q --max-attempts 1 --ttl 60ms
lk claim q -w 200ms --owner ben
expect_code 75
lk items q --json
expect .state '"parked"'

scenario 'a claim is renewed as a lease'
lk push q 1
lk claim q --owner ana --ttl 100 --json
token=$(field .token)
lk renew q/1 --owner ana --token "$token" --ttl 2h --json
expect_code 0
expect '[.status, .ttl_ms]' '["ok",7200000]'
lk renew q/1 --owner ben
expect_code 78
lk release q/1 --owner ana
expect_code 78
lk 'done' q 1 --owner ana --token "$token"
expect_code 0

scenario 'a claim is listed as a lease on QUEUE/ID'
lk push q 1 --needs 'pool?limit=3'
lk claim q --owner ana --note why --json
token=$(field .token)
lk ls --json
expect '[.path, .token, .state, .mode, .limit, .owner, .note]' \
    "[\"q/1\",$token,\"held\",\"exclusive\",null,\"ana\",\"why\"]
[\"pool\",$token,\"held\",\"shared\",3,\"ana\",\"why\"]"
lk acquire -n q/1 --owner ben --json
expect_code 75
expect '.blockers[0].owner' '"ana"'
lk break q/1 --reason 'she is gone' --now --json
expect .broken 1
lk claim q --owner ben --json
expect '[.id, .attempt]' '["1",2]'
lk 'done' q 1 --owner ana
expect_code 78

scenario 'what work needs is taken along, or the item is passed over'
lk push q 1 --needs 'pool?limit=1'
lk push q 2 --needs 'pool?limit=1' --needs other
lk push q 3
lk claim q --owner a --json
expect .id '"1"'
lk claim q --owner b --json
expect .id '"3"'
lk claim q --owner c
expect_code 75
lk items q --json
expect '[.id, .state, .needs]' '["1","claimed",["pool?limit=1"]]
["2","ready",["pool?limit=1","other"]]
["3","claimed",null]'
lk 'done' q 1 --owner a
lk claim q --owner c --json
expect .id '"2"'

scenario 'needs are checked when they are pushed'
lk push q 1 --needs 'pool?limit=0'
failure 64 'lk: INVALID: *(R2)'
lk push q 1 --needs q/1
failure 64 'lk: INVALID: *'
lk push q 1 --needs a --needs 'a?shared'
failure 64 'lk: INVALID: *'
lk push q 1 --needs a1 --needs a2 --needs a3 --needs a4 --needs a5 --needs a6 --needs a7 --needs a8 \
    --needs a9 --needs a10 --needs a11 --needs a12 --needs a13 --needs a14 --needs a15 --needs a16
failure 64 'lk: INVALID: *'
lk push q 1 --needs a1 --needs a2 --needs a3 --needs a4 --needs a5 --needs a6 --needs a7 --needs a8 \
    --needs a9 --needs a10 --needs a11 --needs a12 --needs a13 --needs a14 --needs a15
expect_code 0
lk claim q --json
expect .id '"1"'
lk ls --json
expect .state "$(for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo '"held"'; done)"

scenario 'an item that is locked by hand is passed over, a locked queue pauses'
lk push q 1
lk push q 2
lk acquire q/1 --owner hand
lk claim q --owner ana --json
expect .id '"2"'
lk release q/1 --owner hand
lk acquire --queue q --owner admin
expect_code 75
lk claim q --owner ben
expect_code 75
lk 'done' q 2 --owner ana
lk claim q --owner ben
expect_code 75
lk release q --owner admin
lk claim q --owner ben --json
expect .id '"1"'

scenario 'items --json: one object an item, oldest first'
lk items q
expect_code 0
expect_out ''
expect_err ''
lk push q d --delay 1h
lk push q 1 v
lk push q 2
lk claim q --owner ana
lk items /q --json
expect_code 0
expect_err ''
expect 'keys_unsorted | join(" ")' '"queue id state attempts due_in_ms"
"queue id state attempts owner expires_in_ms value"
"queue id state attempts"'
expect '[.queue, .id, .state, .attempts, .owner]' '["q","d","delayed",0,null]
["q","1","claimed",1,"ana"]
["q","2","ready",0,null]'

scenario 'items for people'
lk push q 1
lk push q 2 --delay 3h
lk claim q --owner ana --ttl $((60 * stretch))s
lk items q
[ "$(wc -l <"$work/out")" -eq 3 ] || complain 'expected a title and two lines'
head -1 "$work/out" | grep -qE '^ID +STATE +ATTEMPTS +DUE/LEFT +CLAIMANT$' || complain 'the title'
left='5[0-9]s|1m'
[ "$stretch" -eq 1 ] || left="$((stretch - 1))m[0-9]+s|${stretch}m"
grep -qE "^1 +claimed +1 +($left) +ana\$" "$work/out" || complain 'the claimed one'
grep -qE '^2 +delayed +0 +(3h|2h59m)$' "$work/out" || complain 'the delayed one'

scenario 'items of one queue only'
lk push q 1
lk push q2 2
lk push q/sub 3
lk items q --json
expect .id '"1"'

scenario 'stats: every count by its name'
lk stats q
expect_code 0
expect_err ''
[ "$(sed -n '1,7s/ .*//p' "$work/out" | tr '\n' ' ')" = "$counts " ] || complain 'the names'
[ "$(wc -l <"$work/out")" -eq 8 ] || complain 'expected eight lines'
lk stats q --json
expect_keys "status queue $counts ready_now delayed_now claimed_now parked_now done_now"
expect '[.status, .queue]' '["ok","q"]'
expect_counts q '0 0 0 0 0 0 0'
lk push q 1
lk push q 2 --delay 1h
lk push q 3
lk claim q
expect_now q '1 1 1 0'
expect '.oldest_ready_ms >= 0' true
lk stats q
grep -qE '^oldest ready for [0-9]+(ms|s)' "$work/out" || complain 'the oldest'
lk queues
grep -qE '^q +1 +1 +1 +0 +0 +0 +0 +[0-9]+(ms|s)' "$work/out" || complain 'its row'

scenario 'counts outlive the items'
lk push q 1
lk claim q
lk 'done' q 1
lk stats q
grep -qx 'done 1' "$work/out" || complain 'done 1'
expect_now q '0 0 0 0'

scenario 'a hint where most claims are stolen'
lk push q 1
for claim in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    lk claim q --owner "o$claim" -w $((30 * stretch)) --ttl 50ms
done
lk stats q
expect_code 0
expect_err 'lk: HINT: *stolen*'
lk stats -q q
expect_err ''
lk stats q --json
expect_err ''

scenario 'what is wrong is said with its rule'
lk push 'q//' 1
failure 64 'lk: INVALID: *(R1)'
lk push q a/b
failure 64 'lk: INVALID: *(R16)'
lk push q ..
failure 64 'lk: INVALID: *R1*'
lk claim 'q?shared'
failure 64 'lk: INVALID: *(R1)'
lk items 'a b'
failure 64 'lk: INVALID: *(R1)'
lk stats 'a b' --json
expect_code 64
expect .status '"invalid"'
lk claim q --ttl 1ms
failure 64 'lk: INVALID: --ttl: *'
lk claim q --queue
failure 64 'lk: INVALID: claim does not take --queue; *'
lk claim q -n -w 5
failure 64 'lk: INVALID: --try and --wait contradict each other'
lk push q
failure 64 'lk: INVALID: push needs QUEUE ID *'
lk 'done' q 1 2
failure 64 'lk: INVALID: done: "2" is one argument too many; *'
lk claim q --max-attempts 0
expect_code 75
lk claim q --max-attempts x
failure 64 'lk: INVALID: --max-attempts: *'
input '%065537d' 7
lk push q 1 -
failure 64 'lk: INVALID: *(R15)'

scenario 'work in a store that cannot be reached'
damage_store
lk claim damaged
expect_code 69
lk push damaged 1 --json
expect_code 69
expect .status '"unavailable"'

scenario 'the recipe of docs/work.md, with a value of two lines and one with none'
mkdir "$work/bin"
ln -s "$LK_PROGRAM" "$work/bin/lk"
printf '#!/bin/sh\ncat >"%s/got"\n' "$work" >"$work/bin/send"
chmod +x "$work/bin/send"
sed -n '/^claim=/,/^fi$/p' "${0%/*}/../../docs/work.md" >"$work/recipe"
[ -s "$work/recipe" ] || complain 'there is no recipe'
export LK_OWNER=me
value=$(printf 'line one\nline two\twith tab')
for value in "$value" ''; do
    lk push mails 4711 "$value"
    (cd "$work/bin" && PATH=$work/bin:$PATH sh "$work/recipe") >"$work/out" 2>"$work/err"
    printf %s "$value" | cmp -s - "$work/got" || complain "another value: $(cat "$work/got")"
    lk items mails
    expect_out ''
done
lk stats mails --json
expect .done 2

scenario '--at is a time, and one that is over is now'
day=$(date -u -d '+2 days' +%Y-%m-%dT%H:%M:%SZ)
lk push q 1 --at 2020-01-31
lk push q 2 --at "$day"
input '{"id": 3, "at": "%s"}\n{"id": 4}\n{"id": 5, "at": "2020-01-31 17:00"}\n' "$day"
lk push q - --at 2030-01-31T00:00:00Z
failure 64 'lk: INVALID: line 2: a delay is 0 to 366 days; * (R16)'
input '{"id": 5, "at": "2020-01-31 17:00"}\n{"id": 6}\n'
lk push q - --at "$day"
expect_code 0
lk items q --json
expect '[.id, .state, (.due_in_ms // 0) > 172000000 and (.due_in_ms // 0) <= 172800000]' '["1","ready",false]
["2","delayed",true]
["3","delayed",true]
["5","ready",false]
["6","delayed",true]'
lk claim q
lk retry q 1 --at "$day"
expect_code 0
lk push q 7 --at soon
failure 64 'lk: INVALID: --at: "soon" is no time such as *'
lk push q 7 --at 17:00 --delay 1
failure 64 'lk: INVALID: --delay and --at contradict each other'
input '{"id": 7, "at": 5}\n'
lk push q -
failure 64 'lk: INVALID: line 1: "at" is a time, as a text; *'

finish
