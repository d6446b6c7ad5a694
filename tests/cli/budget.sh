#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The time of --wait begins with the program: what comes before the wait is not waited for again.
# $LK_LATE is lk with a clock that jumps a day ahead as soon as it has begun (late.c). A wait of a
# day is over then; one that began when the store was open would last another day.
. "${0%/*}/../service/harness.sh"

LK_QUICK=$LK_PROGRAM

late() {
    LK_PROGRAM=$LK_LATE
    lk "$@"
    LK_PROGRAM=$LK_QUICK
}

over() { # COMMAND ARGS...
    scenario "$kind: lk $1 -w: the time is over when the store is open"
    begin
    late "$@"
    expect_code 75
    expect_out ''
    grep -q '^lk: TIMEOUT: ' "$work/err" || complain 'stderr: expected TIMEOUT'
    end
}

# A free path or an item is taken, and a try stays one.
taken() { # COMMAND ARGS...
    scenario "$kind: lk $1 -w: asks once when its time is over"
    begin
    late "$@"
    expect_code 0
    end
}

in_file() {
    kind='a file'
    begin() { lk acquire held --owner ana --ttl 300d; }
    end() { :; }
    all
}

in_service() {
    kind='a service'
    begin() {
        rm -rf "$work/d"
        serve --unix "$work/s" --dir "$work/d"
        LK_STORE=lk+unix:$work/s
        lk acquire held --owner ana --ttl 300d
    }
    end() { stop; }
    all
}

all() {
    over acquire -w 1d held
    over acquire -w 1d held free
    over hold -w 1d held --for-pid $$
    over run -w 1d held -- true
    LK_OWNER=ben LK_TOKEN=1 LK_PATH=held over run -w 1d held -- true
    over claim -w 1d empty
    taken acquire -w 1d free
    taken run -w 1d free -- true
}

in_file
in_service
finish
