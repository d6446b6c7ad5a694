#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/patterns.md, played: each block is taken from the page and carried out, with programs of this
# test in the place of the user's.
. "${0%/*}/harness.sh"
begin_page patterns.md

# Notes the token, which is the instant of the grant in microseconds (R4).
# shellcheck disable=SC2016 # is meant for that shell
token_to_file='echo "$LK_TOKEN" >>"$LK_TEST_HERE/tokens"'

# Of grants in the file `tokens`: no window of a second has more than N.
expect_rate() {
    [ "$(wc -l <"$here/tokens")" -eq "$2" ] || complain "expected $2 grants: $(cat "$here/tokens")"
    sort -n "$here/tokens" | awk -v n="$1" '{ t[NR] = $1 } NR > n && t[NR] - t[NR - n] < 1000000 { exit 1 }' ||
        complain "more than $1 in a second: $(sort -n "$here/tokens" | tr '\n' ' ')"
}

at_once() { # COUNT: so many processes play the line
    calls=''
    for call in $(seq "$1"); do
        (cd "$here" && exec sh -e line) >>"$here/log" 2>&1 &
        calls="$calls $!"
    done
    for call in $calls; do
        wait "$call" || complain "a call: $(cat "$here/log")"
    done
}

recipe 'a rate limit: no window of a second has more calls'
program call-api "$token_to_file"
block 'A rate limit' sh | sed "s/--wait 30s/--wait $((60 * stretch))s/" >"$here/line"
at_once 11
expect_rate 5 11

recipe 'a wait group: the last step comes behind all members'
# shellcheck disable=SC2016 # is meant for that shell
program convert 'until [ -e "$LK_TEST_HERE/go" ]; do sleep 0.01; done'
program publish
block 'A wait group' sh >"$here/lines"
(cd "$here" && exec sh -e lines) >"$here/log" 2>&1 &
group=$!
waits() { lk ls batch --json && [ "$(jq -s 'map(select(.state == "waiting")) | length' "$work/out")" = 1 ]; }
until_true waits
[ "$(jq -s 'map(select(.state == "held")) | length' "$work/out")" = 3 ] || complain 'three members are expected'
: >"$here/go"
wait "$group" || complain "the group: $(cat "$here/log")"
ran 4 'publish  batch/7 token'

recipe 'once a day, on several hosts'
program make-report
program greet
block 'Once a day' sh >"$here/line"
block 'Once a day' sh 2 >"$here/greeting"
for host in 1 2; do
    play sh -e "$here/line"
    expect_code 0
    expect_out ''
    expect_err ''
    play sh "$here/greeting"
done
[ "$(sort "$here/ran" | tr -s ' ' | tr '\n' ';')" = 'greet ;make-report daily/report token;' ] || complain "$(cat "$here/ran")"

recipe 'order for each customer'
block 'Order for each customer' sh >"$here/lines"
# shellcheck disable=SC2016 # is meant for that shell
program handle 'mkdir "$LK_TEST_HERE/busy.$(echo "$1" | sed "s/4713/ben/; s/471./ana/")"' \
    'rmdir "$LK_TEST_HERE"/busy."$(echo "$1" | sed "s/4713/ben/; s/471./ana/")"'
play sh -e "$here/lines"
expect_code 0
ran 3 '*'
[ "$(grep -o 'handle 471[12]' "$here/ran" | tr '\n' ' ')" = 'handle 4711 handle 4712 ' ] || complain "$(cat "$here/ran")"

recipe 'a pool of named things: each is in one hand at a time'
block 'A pool of named things' sh >"$here/with-one"
chmod +x "$here/with-one"
block 'A pool of named things' sh 2 >"$here/line"
# shellcheck disable=SC2016 # is meant for that shell
program test-phone 'mkdir "$LK_TEST_HERE/$ITEM"' 'echo "$ITEM" >>"$LK_TEST_HERE/items"' 'rmdir "$LK_TEST_HERE/$ITEM"'
at_once 6
ran 6 '*'
! grep -qvx -e red -e green "$here/items" || complain "other names: $(cat "$here/items")"

recipe 'a limit across CI systems: the log says who has the places'
block 'A limit across CI systems' sh >"$here/line"
program deploy
lk acquire 'staging/deployments?limit=2' --owner github --note https://github.example/1
lk acquire 'staging/deployments?limit=2' --owner gitlab --note https://gitlab.example/2
(cd "$here" && CI_JOB_URL=https://jenkins.example/3 exec sh -e line) >"$here/log" 2>&1 &
job=$!
until_true grep -q '^lk: WAITING: staging/deployments is held by git.*example/' "$here/log"
lk release staging/deployments --owner github
wait "$job" || complain "the job: $(cat "$here/log")"
ran 1 'deploy  staging/deployments token'

recipe 'leader election: one leads, and the next one follows'
block 'Leader election' sh >"$here/line"
# shellcheck disable=SC2016 # is meant for that shell
program lead 'until [ -e "$LK_TEST_HERE/resign" ]; do sleep 0.01; done'
(cd "$here" && exec sh -e line) >"$here/log" 2>&1 &
first=$!
until_true test -s "$here/ran"
(cd "$here" && exec sh -e line) >"$here/log" 2>&1 &
second=$!
is_behind() { lk ls service --json && [ "$(jq -rs 'map(.state) | join(" ")' "$work/out")" = 'held waiting' ]; }
until_true is_behind
ran 1 'lead  service/leader token'
: >"$here/resign"
wait "$first" || complain "the first: $(cat "$here/log")"
wait "$second" || complain "the second: $(cat "$here/log")"
ran 2 'lead  service/leader token'

recipe 'a lock of a whole pipeline: its jobs pass, and no other pipeline does'
block 'A lock of a whole pipeline' sh >"$here/lines"
program migrate 'lk acquire -n -q -E 0 staging/web --owner pipeline/8 && lk ls staging --json >"$LK_TEST_HERE/seen"'
[ "$(wc -l <"$here/lines")" -eq 4 ] || complain 'four jobs are expected'
while read -r job; do
    play env PIPELINE=7 bash -e -c "$job" # each job is a shell of its own
    expect_code 0
done <"$here/lines"
ran 1 'migrate  staging/database token'
[ "$(jq -r .owner "$here/seen" | sort -u)" = pipeline/7 ] || complain "another pipeline: $(cat "$here/seen")"
lk ls
expect_out ''

recipe 'a queue with a rate'
# shellcheck disable=SC2016 # is meant for that shell
program send 'cat >/dev/null' "$token_to_file"
for item in 1 2 3 4 5 6; do
    lk push mails "more-$item"
done
block 'A queue with a rate' sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
expect_rate 5 7
lk items mails
expect_out ''
finish_page
