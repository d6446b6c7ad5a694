#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: shm.sh LK
#
# The program lk over shared memory: what it can, and what it says of what it cannot.
. "${0%/*}/../tap.sh"
lk=$1
name=test.shm.$$
LK_STORE=shm:$name
export LK_STORE
trap 'rm -rf "$work" "/dev/shm/canal.$name" "/dev/shm/canal.$name.none"' EXIT

expect() { # CODE WHAT COMMAND...
    wanted=$1 what=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    echo "exit code: $code, expected: $wanted" >"$work/said"
    [ "$code" -eq "$wanted" ]
    report $? "$what"
}

says() { # TEXT: of the last command
    ok "it says $1" grep -qF -- "$1" "$work/out" "$work/err"
}

# Holds pool until its standard input ends.
mkfifo "$work/go" "$work/ready"
# shellcheck disable=SC2016 # for that shell
"$lk" run --limit 2 --note busy pool -- sh -c 'echo in >"$1"; read -r line <"$2"; exit 7' \
    sh "$work/ready" "$work/go" &
holder=$!
read -r _ <"$work/ready"

expect 0 "what is held is listed" "$lk" ls
says pool
says busy
expect 0 "and in JSON" "$lk" --json show pool
says '"path":"pool"'
says '"limit":2'
expect 75 "a smaller limit is refused" "$lk" run --limit 1 --try pool -- true
expect 75 "and waited for in vain" "$lk" run --limit 1 --wait 30ms pool -- true
expect 0 "a greater one is not" "$lk" run --limit 2 --try pool -- true
expect 0 "the doctor knows the region" "$lk" doctor
says "region: /dev/shm/canal.$name"

"$lk" run --limit 1 --wait 20s pool -- true &
waiter=$!
echo >"$work/go"
expect 7 "the command's own code" wait "$holder"
expect 0 "the waiter gets its turn" wait "$waiter"

# Killed, it gives back at once.
# shellcheck disable=SC2016
"$lk" run --limit 1 pool -- sh -c 'echo in >"$1"; read -r line <"$2"' \
    sh "$work/ready" "$work/go" 2>"$work/killed" &
holder=$!
read -r _ <"$work/ready"
kill -9 "$holder"
wait "$holder" 2>/dev/null
# The emulator lacks MADV_DONTFORK, so there the guard of the killed lk holds its lock, too, until it has ended.
at_once=--try
[ -z "${LK_TEST_EMULATED-}" ] || at_once=--wait=20s
expect 0 "a killed lk holds nothing" "$lk" run --limit 1 "$at_once" pool -- true

# The region's file is removed under a run: it is notified, and the limit holds again.
# shellcheck disable=SC2016
"$lk" run --limit 1 --ttl 1s pool -- sh -c 'echo in >"$1"; read -r line <"$2"' \
    sh "$work/ready" "$work/go" 2>"$work/out" &
holder=$!
read -r _ <"$work/ready"
rm "/dev/shm/canal.$name"
expect 78 "a run whose region is removed ends as lost" wait "$holder"
# One that ends by itself before it has noticed says so, too.
# shellcheck disable=SC2016
"$lk" run --limit 1 --ttl 1h pool -- sh -c 'echo in >"$1"; read -r line <"$2"' \
    sh "$work/ready" "$work/go" 2>"$work/out" &
holder=$!
read -r _ <"$work/ready"
rm "/dev/shm/canal.$name"
echo >"$work/go"
expect 78 "and so does one that finds out at its end" wait "$holder"

# A waiter goes where the name leads now.
# shellcheck disable=SC2016
"$lk" run --limit 1 --ttl 1h pool -- sh -c 'echo in >"$1"; read -r line <"$2"' \
    sh "$work/ready" "$work/go" 2>"$work/out" &
holder=$!
read -r _ <"$work/ready"
"$lk" run --limit 1 --wait 20s pool -- true &
waiter=$!
rm "/dev/shm/canal.$name"
expect 0 "the waiter goes to the new region" wait "$waiter"
echo >"$work/go"
wait "$holder"

expect 79 "what would be refused makes no region" "$lk" -S "shm:$name.none" acquire --limit 2 pool
says 'lk run'
ok "it is not there" test ! -e "/dev/shm/canal.$name.none"
for call in "acquire --limit 2 pool" "release pool" "renew pool"; do
    # shellcheck disable=SC2086 # words
    expect 79 "$call" "$lk" $call
    says "lk run"
done
for call in "run pool --try -- true" "run --limit 1 a --limit 1 b -- true" "get pool" \
    "put pool x" "break pool --reason x" "push q 1" "claim q" "acquire --queue --limit 1 pool"; do
    # shellcheck disable=SC2086
    expect 79 "$call" "$lk" $call
done
for call in "acquire --limit 2 pool" "hold --limit 2 pool" "put pool x" "push q 1" "break pool --reason x"; do
    # shellcheck disable=SC2086
    expect 79 "$call where there is no region" "$lk" -S "shm:$name.none" $call
    says "lk run"
    expect 1 "makes none" test -e "/dev/shm/canal.$name.none"
done
expect 64 "a name is needed" "$lk" -S shm: ls
expect 64 "an option that is none" "$lk" -S "shm:$name?colour=red" ls
expect 79 "a path too long for a key" "$lk" run --limit 1 --try \
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
echo "no region" >"$work/file"
expect 69 "a file that is no region" "$lk" -S "shm:$work/file" ls

finish
