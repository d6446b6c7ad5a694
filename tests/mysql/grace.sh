#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh grace.sh LK
#
# After a restart of the server what was live lives on, once until its next renewal (R11): a server that
# restarts over and over does not keep the dead alive. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE
long="SELECT DISTINCT deadline_us FROM lk_requests WHERE path = 'db/t1'"
short="SELECT deadline_us FROM lk_requests WHERE path = 'db/t2'"

restart() { # the server, by a crash, and a first call
    mariadbd=$(cat "$LK_TEST_SERVER/pid")
    kill -9 "$mariadbd"
    while kill -0 "$mariadbd" 2>/dev/null; do
        sleep 0.02
    done
    tries=0
    until "$LK_TEST_SERVER/start" "$LK_TEST_PORT"; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || return 1
        sleep 1 # another process may have the port for a moment
    done
    "$lk" ls >"$work/out" 2>"$work/err"
}

later() { # BEFORE AFTER
    [ -n "$1" ] && [ -n "$2" ] && [ "$2" -gt "$1" ]
}

"$lk" acquire --try --ttl 5m --owner holder db/t1 pool >"$work/out" 2>"$work/err"
ends=$(sql "$long")
"$lk" acquire --try --ttl 50s --owner holder db/t2 >"$work/out" 2>"$work/err"
before=$(sql "$short")

# One server start is one run, whenever in its second the question is asked.
{
    echo "SET @lk_server_start = NULL; CALL lk_awake(); SET @first = @lk_server_start, @others = 0;"
    for number in $(seq 1500); do
        echo "SET @lk_server_start = NULL; CALL lk_awake();
              SET @others = @others + (@lk_server_start <> @first);"
    done
    echo "SELECT IF(@others = 0, 'one', 'several');"
} >"$work/awake.sql"
run_file "$work/awake.sql"
ok 'a server that runs is the same one all the time' grep -qx one "$work/out"
ok 'and moves no deadline' is "$short" "$before"

restart
first=$(sql "$short")
ok 'a restart gives a lease its ttl again' later "$before" "$first"
restart
ok 'the next one does not' is "$short" "$first"
ok 'a lease that ends later anyway is left alone' is "$long" "$ends"
"$lk" renew --owner holder db/t2 >"$work/out" 2>"$work/err"
renewed=$(sql "$short")
ok 'a renewal sets the deadline' later "$first" "$renewed"
restart
ok 'and the restart after it gives the ttl again' later "$renewed" "$(sql "$short")"

finish
