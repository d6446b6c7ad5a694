#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh reading.sh LK SERVER URL
#
# Commands that only read do not make a store: one that does not exist is empty. SERVER: the
# directory of the server's harness. Prints TAP.
# shellcheck source=/dev/null
. "${0%/*}/../${2:?the directory of a harness}/harness.sh"
LK_STORE=${3:?a store that does not exist}
export LK_STORE

nothing() { # ARGUMENT...: lk prints nothing, with 0, and makes nothing
    "$lk" "$@" >"$work/out" 2>"$work/err" && [ ! -s "$work/out" ] && is "$count_made" 0
}
makes_nothing() { # CODE PATTERN ARGUMENT...
    says "$@" && is "$count_made" 0
}
top_is_left() {
    printf q | TERM=xterm script -qec "$lk top" /dev/null >"$work/out" && is "$count_made" 0
}

ok 'there is no store' is "$count_made" 0
for command in ls audit values queues 'items q'; do
    # shellcheck disable=SC2086 # words
    ok "lk $command prints nothing, and makes no store" nothing $command
done
ok 'lk show finds no request' makes_nothing 0 'no request*' show a
ok 'lk stats counts nothing' makes_nothing 0 '*0*' stats q
ok 'lk get finds nothing' makes_nothing 1 '*NONE*' get a
ok 'lk doctor says that it is not there' makes_nothing 0 '*not there*' doctor
ok 'and so in JSON' makes_nothing 0 '*not there*' doctor --json
ok 'lk top shows nothing' top_is_left

# A watch waits for the store, which the first lock makes.
"$lk" watch >"$work/watched" 2>"$work/note" &
watch=$!
ok 'a watch makes no store' makes_nothing 0 '' ls
ok 'the first lock makes it' says 0 '*' acquire --try --owner me a
ok 'which holds it' says 0 '*me*' ls
ok 'and is there' [ "$(sql "$count_made")" -gt 0 ]
tries=0
until grep -q granted "$work/watched" || [ "$tries" -gt 600 ]; do
    tries=$((tries + 1))
    "$lk" acquire --try --owner "you-$tries" b >"$work/out" 2>&1
    "$lk" release --owner "you-$tries" b >"$work/out" 2>&1
done
ok 'the watch goes on with it' grep -q granted "$work/watched"
ok 'and notes that it is new' grep -q 'exists now' "$work/note"
kill "$watch"
wait "$watch" 2>"$work/err"

finish
