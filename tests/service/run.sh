#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk run over a service: its restarts, a build farm, passwords, a service that stays away.
. "${0%/*}/harness.sh"

waiters() {
    [ "$("$LK_PROGRAM" ls "$1" --json | grep -c '"state":"waiting"')" -eq "$2" ]
}

# Whether `a` has more time left than when this was asked before.
renewed() {
    left=$("$LK_PROGRAM" show a --json | jq .expires_in_ms)
    former=$last
    last=$left
    [ "$left" -gt "$former" ]
}

scenario 'a command outlives a restart of the service that its lease outlives'
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
"$LK_PROGRAM" run a --ttl $((15 * stretch))s -- sh -c 'touch "$0/begun"; until [ -e "$0/end" ]; do sleep 0.05; done
    exit 7' "$work" &
run=$!
until_true test -e "$work/begun"
lk show a --json
token=$(field .token)
restart
lk show a --json
expect .token "$token"
last=0
until_true renewed
until_true renewed
restart
touch "$work/end"
wait "$run"
code=$?
expect_code 7
lk ls
expect_out ''
stop

scenario 'the order of a line outlives a restart'
serve --unix "$work/s" --http none --dir "$work/d"
lk acquire a --owner first --ttl $((60 * stretch))s
for number in 1 2 3; do
    "$LK_PROGRAM" run a --ttl $((20 * stretch))s -- sh -c "echo $number >>'$work/order'" &
    until_true waiters a "$number"
done
restart
until_true waiters a 3
lk release a --owner first
expect_code 0
until_true sh -c "[ \"\$(wc -l <'$work/order')\" -eq 3 ]"
[ "$(tr '\n' ' ' <"$work/order")" = '1 2 3 ' ] || complain "the order was $(cat "$work/order")"
stop

scenario 'a command under a fixed end receives its time limit'
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
end=$(date -u -d "+$((40 * stretch)) seconds" +%Y-%m-%dT%H:%M:%SZ)
# shellcheck disable=SC2016 # for the inner shell
lk run --until "$end" a -- sh -c '[ "$LK_TTL_MS" -gt 0 ] && [ "$LK_TTL_MS" -le "$0" ]' $((40000 * stretch))
expect_code 0
stop

# Tests share a database, a reset needs it alone; builds die. What ran when is read off a log.
scenario 'a build farm: tests, a reset, and a build that is killed'
serve --listen 127.0.0.1:0 --http none --dir "$work/farm"
LK_STORE=$(cat "$work/served")
step() {
    echo "echo $1 begins >>'$work/log'; until [ -e '$work/$2' ]; do sleep 0.02; done; echo $1 ends >>'$work/log'"
}
"$LK_PROGRAM" run db/t1 -- sh -c "$(step t1 go)" &
"$LK_PROGRAM" run db/t2 --ttl $((6 * stretch))s -- sh -c "$(step t2 never)" &
victim=$!
until_true grep -q 't1 begins' "$work/log"
until_true grep -q 't2 begins' "$work/log"
"$LK_PROGRAM" run db --note reset -- sh -c "$(step reset go)" &
until_true waiters db 1
"$LK_PROGRAM" run db/t3 -- sh -c "$(step t3 go)" & # behind the reset: no request overtakes
until_true waiters db 2
kill -KILL "$victim" # it never releases: its lease perishes
touch "$work/go"
until_true grep -q 't3 ends' "$work/log"
printf 't1 begins\nt2 begins\nt1 ends\nreset begins\nreset ends\nt3 begins\nt3 ends\n' |
    sort >"$work/wanted"
sort "$work/log" | cmp -s - "$work/wanted" || complain "the log is $(cat "$work/log")"
[ "$(tail -4 "$work/log" | tr '\n' ' ')" = 'reset begins reset ends t3 begins t3 ends ' ] ||
    complain "the order is $(cat "$work/log")"
wait_for_nothing() { [ -z "$("$LK_PROGRAM" ls)" ]; }
until_true wait_for_nothing
stop

scenario 'a password reaches lk inside the command, and no environment or command line shows it'
echo 'open sesame' >"$work/password"
serve --listen 127.0.0.1:0 --http none --ephemeral --password-file "$work/password"
address=$(cat "$work/served")
LK_STORE="lk://:open%20sesame@${address#lk://}"
export LK_STORE
lk run a -- sh -c 'env >"$0/env"; tr "\0" "\n" </proc/$PPID/cmdline >"$0/cmdline"
    "$LK_PROGRAM" run b -- sh -c "env >>\$0/env; \$LK_PROGRAM ls" "$0"' "$work"
expect_code 0
grep -q '^a *held' "$work/out" && grep -q '^b *held' "$work/out" || complain 'it does not reach it'
! grep -E 'sesame' "$work/env" "$work/cmdline" || complain 'it is shown'
lk push q 1
lk work q --drain -q -- sh -c '"$LK_PROGRAM" items q; env >>"$0/env"' "$work"
grep -q '^1 *claimed' "$work/out" || complain 'it does not reach a command of lk work'
! grep -E 'sesame' "$work/env" || complain 'it is shown to a command of lk work'
unset LK_STORE
lk run -S "lk://:open%20sesame@${address#lk://}" a -- python3 -B -c '
import os, subprocess
subprocess.run([os.environ["LK_PROGRAM"], "ls"], check=True)'
expect_code 0
grep -q '^a *held' "$work/out" || complain 'it does not reach it without descriptors'
lk run -S "lk://:open%20sesame@${address#lk://}" a -- sh -c 'LK_STORE='"$address"' "$LK_PROGRAM" ls'
failure 77 'lk: DENIED: *'
stop

scenario 'a service that is away for longer than a lease ends what ran under it'
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
"$LK_PROGRAM" run short --ttl $((4 * stretch))s -- sh -c 'touch "$0/short"; exec sleep 600' "$work" 2>"$work/err" &
run=$!
until_true test -e "$work/short"
stop KILL
wait "$run"
code=$?
command='lk run short'
expect_code 78
grep -q '^lk: LOST: the deadline of the lease is near and could not be moved (.*): the command is ended' "$work/err" ||
    complain 'why it could not be moved'

finish
