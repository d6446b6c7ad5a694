#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk work --batch: CMD once for several items, under all of their claims (R16).
. "${0%/*}/harness.sh"

log=$work/log
export log

push() {
    for id in "$@"; do
        "$LK_PROGRAM" push q "$id" "of $id" || complain "push $id"
    done
}

expect_counts() {
    lk stats q --json
    expect '[.claims, .done, .retried, .parked] | join(" ")' "\"$1\""
}

await() {
    until grep -q "$1" "$log"; do :; done
}

scenario 'the command finds the items on stdin and in the environment'
push 1 2 3 4 5
lk push q none
input '\377'
lk push q raw -
LK_ITEM_ID=old LK_ITEMS=old LK_QUEUE=old lk work q --batch 4 --drain --ttl 90 -- \
    sh -c 'jq -c "[\"$LK_QUEUE\", \"$LK_ITEMS\", \"$LK_TOKENS\", \"$LK_PATH\", .]"; echo "\"$# ${LK_ITEM_ID-unset}\""'
expect_code 0
expect_err 'lk: ENDED: q: 7 done'
expect 'arrays | .[1]' '"1 2 3 4"
"1 2 3 4"
"1 2 3 4"
"1 2 3 4"
"5 none raw"
"5 none raw"
"5 none raw"'
expect 'arrays | .[4] | [.id, .value, .value_base64, .attempt]' '["1","of 1",null,1]
["2","of 2",null,1]
["3","of 3",null,1]
["4","of 4",null,1]
["5","of 5",null,1]
["none",null,null,1]
["raw",null,"/w==",1]'
expect 'arrays | (.[4].token | tostring) as $token | [.[0],
    all(.[2] | split(" ")[]; . == $token), (.[2] | split(" ") | length),
    (.[3] | split(" ")[-1])]' '["q",true,4,"q/4"]
["q",true,4,"q/4"]
["q",true,4,"q/4"]
["q",true,4,"q/4"]
["q",true,3,"q/raw"]
["q",true,3,"q/raw"]
["q",true,3,"q/raw"]'
expect strings '"0 unset"
"0 unset"'
expect_counts '7 7 0 0'
lk ls
expect_out ''

scenario 'several workers'
seq 1 100 | sed 's/.*/{"id":&}/' >"$work/lines"
stdin=$work/lines
lk push q -
lk work q --batch 8 --workers 3 --drain -q -- sh -c 'echo "$LK_ITEMS"'
expect_code 0
tr ' ' '\n' <"$work/out" | sort -n >"$work/ids"
seq 1 100 | cmp -s - "$work/ids" || complain 'the items'
awk 'NF > 8 { exit 1 }' "$work/out" || complain 'a batch of more than 8'
expect_counts '100 100 0 0'

scenario 'another exit code returns every item, with the reason'
push 1 2 3
lk work q --batch 2 --drain --max-attempts 1 -- \
    sh -c 'cat >/dev/null; [ "$LK_ITEMS" = 3 ] && exit; echo "no paper" >&2; exit 3'
expect_code 1
for id in 1 2; do
    grep -qx "lk: FAILED: q/$id: exit 3; attempt 1 of 1; parked" "$work/err" || complain "no line of $id"
done
grep -qx 'lk: ENDED: q: 1 done, 2 parked' "$work/err" || complain 'the end'
lk items q --json
expect '[.id, .state, .last_exit, .last_error]' '["1","parked",3,"no paper"]
["2","parked",3,"no paper"]'
lk unpark q --all
lk work q --batch 2 --drain --max-attempts 1 --max-time 100ms -q -- sleep 60
expect_code 1
lk items q --json
expect '[.id, .last_exit, .last_error]' '["1",124,"--max-time is up"]
["2",124,"--max-time is up"]'

scenario 'the loss of one claim ends the command of all'
push 1 2 3
: >"$log"
env --default-signal=INT,QUIT "$LK_PROGRAM" work q --batch 3 --ttl $((15 * stretch)) --backoff 1h -- \
    sh -c 'trap "echo signalled >>\"$log\"; exit 1" TERM; echo "begin $LK_ITEMS" >>"$log"; while :; do sleep 0.05; done' \
    >"$work/out" 2>"$work/err" </dev/null &
pool=$!
await 'begin 1 2 3'
lk acquire --queue q/2 --owner hand
lk break q/2 --reason gone --now --owner "$("$LK_PROGRAM" ls q/2 --json | head -1 | jq -r .owner)"
lk renew q/2 --owner hand
expect_code 0
await signalled
until_true grep -q 'FAILED: q/3' "$work/err"
kill -TERM "$pool"
wait "$pool"
code=$?
expect_code 0
grep -qx 'lk: LOST: q: a claim of 3 was lost: the command is ended' "$work/err" || complain 'not notified'
grep -qE '^lk: LOST: q/2: the claim was revoked by [^ ]+@[^ ]+ at .*: gone$' "$work/err" || complain 'which one'
grep -qx 'lk: FAILED: q/1: exit 78; attempt 1; again in .*' "$work/err" || complain 'the others'
lk items q --json
expect '[.id, .state, .last_exit]' '["1","delayed",78]
["2","ready",null]
["3","delayed",78]'

scenario 'a batch of one has an id for words'
push 1 2
lk work q --batch 1 --drain -q -- sh -c 'echo "$1 $LK_ITEMS"; jq -r .id' sh 'x{id}'
expect_code 0
[ "$(cat "$work/out")" = 'x1 1
1
x2 2
2' ] || complain 'the words'

scenario 'what is wrong with a batch'
lk work q --batch 2 -- echo '{id}'
failure 64 'lk: INVALID: work: {id} is *'
for number in 0 257; do
    lk work q --batch $number -- true
    failure 64 'lk: INVALID: --batch: *'
done
lk work --table orders --batch 2 -- true
failure 64 'lk: INVALID: --batch and --table *'

finish
