#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: refused.sh LK REFUSE
#
# lk where a kernel or the filter of a container refuses system calls: it does without them, or says
# which one is missing. The command, or the store's file, is not to blame.
. "${0%/*}/../tap.sh"
lk=$1 refuse=$2
LK_STORE=sqlite:$work/locks.db
export LK_STORE
unset LK_OWNER

# Waits until none of the processes lives whose numbers are in the file.
all_dead() {
    tries=0
    for pid in $(cat "$1"); do
        while [ -e "/proc/$pid" ] && ! grep -q '^State:.[ZX]' "/proc/$pid/status" 2>/dev/null; do
            tries=$((tries + 1))
            [ "$tries" -lt 2400 ] || return 1
            sleep 0.025
        done
    done
}

says_ok() { # CALLS
    # shellcheck disable=SC2086 # they are words
    [ "$("$refuse" "$errno" $1 -- "$lk" run a -- echo ok 2>"$work/err")" = ok ] \
        && [ ! -s "$work/err" ]
}

# The time is doubled until the command has come to start its tree in it.
ends_the_tree() { # CALLS
    : >"$work/pids"
    time_ms=300
    until [ -s "$work/pids" ] || [ "$time_ms" -gt 60000 ]; do
        # shellcheck disable=SC2086
        "$refuse" "$errno" $1 -- "$lk" run a --max-time "${time_ms}ms" -- \
            sh -c 'sleep 600 & echo $! $$ >"$0"; wait' "$work/pids" 2>"$work/err"
        [ $? -eq 124 ] || return 1
        time_ms=$((time_ms * 2))
    done
    [ -s "$work/pids" ] && all_dead "$work/pids"
}

guard_ends_the_tree() { # CALLS
    rm -f "$work/pids"
    # shellcheck disable=SC2086
    "$refuse" "$errno" $1 -- "$lk" run "g$count" --cleanup "echo \$LK_EXIT >'$work/cleanup'" -- \
        sh -c 'sleep 600 & echo $! $$ >"$0"; wait' "$work/pids" &
    run=$!
    until [ -s "$work/pids" ]; do sleep 0.025; done
    rm -f "$work/cleanup"
    kill -KILL "$run"
    wait "$run"
    until [ -s "$work/cleanup" ]; do sleep 0.025; done
    all_dead "$work/pids"
}

runs_work() { # CALLS
    "$lk" push q 1 value
    # shellcheck disable=SC2086
    [ "$("$refuse" "$errno" $1 -- "$lk" work q --drain -q -- cat)" = value ]
}

is_told() {
    "$refuse" "$errno" pidfd_open -- "$lk" hold h --for-pid $$ 2>"$work/err"
    [ $? -eq 79 ] && grep -q '^lk: UNSUPPORTED: hold: .*refuses pidfd_open()' "$work/err"
}

blames_no_command() {
    "$lk" push r 1 value
    "$refuse" "$errno" memfd_create -- "$lk" work r --drain -- cat >"$work/out" 2>"$work/err"
    [ $? -eq 70 ] && grep -q '^lk: INTERNAL: the system has no ' "$work/err"
}

# An item stays in the queue; the lease is given back.
names() { # CALL COMMAND...
    call=$1
    shift
    "$refuse" "$errno" "$call" -- "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq 79 ] && grep -q "^lk: UNSUPPORTED: .*refuses $call()" "$work/err" \
        && [ -z "$("$lk" ls "n")" ]
}

all='pidfd_open pidfd_send_signal close_range statx renameat2'
for errno in EPERM ENOSYS; do
    for call in $all "$all"; do
        ok "without $call ($errno) a command runs" says_ok "$call"
    done
    ok "$errno: a command is ended with all that it started" ends_the_tree "$all"
    ok "$errno: the guard ends them, and then cleans up" guard_ends_the_tree "$all"
    ok "$errno: workers run their commands" runs_work "$all"
    ok "$errno: lk hold says what it lacks" is_told
    "$lk" push s 1 value
    for call in signalfd timerfd_create eventfd; do
        ok "$errno: lk run names $call" names "$call" run n -- true
        ok "$errno: lk work names $call" names "$call" work s --drain -- true
    done
    for call in signalfd eventfd; do
        ok "$errno: lk hold names $call" names "$call" hold n --for-pid $$
    done
    ok "$errno: what lk lacks is not said of the command" blames_no_command
done
finish
