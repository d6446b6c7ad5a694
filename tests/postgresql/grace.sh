#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh grace.sh LK
#
# R11: what was live when the server went away lives on for a while, once until its next renewal.
# The server is restarted in order and at once, and a backend is killed, after which it recovers
# by itself, as the same server. Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/servers.sh"

chmod 755 "$work"
data=$LK_TEST_SERVER/data
programs=${LK_TEST_POSTGRES_BIN:?is set by with_server.sh}
LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE

postmaster=''
# shellcheck disable=SC2317 # called by the trap
stop() {
    [ -z "$postmaster" ] || kill -CONT "$postmaster" 2>/dev/null
    rm -rf "$work"
}
trap stop EXIT

restart() { # MODE
    (cd / && unprivileged "$programs/pg_ctl" -D "$data" -m "$1" -w -s \
        -l "$LK_TEST_SERVER/log" restart) >"$work/out" 2>&1
}

# A backend dies; the server notices when it goes on, some time behind $1 (Unix time in microseconds).
crash() {
    read -r postmaster <"$data/postmaster.pid"
    before=$(sql 'SELECT pg_postmaster_start_time()')
    psql -h "$LK_TEST_SERVER" -U postgres -c 'SELECT pg_sleep(600)' postgres >/dev/null 2>&1 &
    sleeper=$!
    victims="SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"
    comes_to "SELECT count(*) FROM ($victims) AS v" 1
    victim=$(sql "$victims")
    kill -STOP "$postmaster"
    kill -KILL "$victim"
    while [ "$(date +%s%6N)" -le "$1" ]; do
        sleep 0.05
    done
    kill -CONT "$postmaster"
    postmaster=''
    wait "$sleeper"
    comes_to 'SELECT 1' 1 &&
        is 'SELECT pg_postmaster_start_time()' "$before"
}

deadline() { # of the one lease
    sql "SELECT r.deadline_us FROM lockkeeper.requests AS r WHERE r.owner = 'holder'"
}

held() {
    says 75 '*holder*' acquire --try --owner other db/t1
}

# ---- a crash of the server's, by which its start does not change ----

says 0 '*' acquire --ttl "$((5 * stretch))s" --owner holder db/t1
first=$(deadline)
crash "$first"
report $? 'a backend is killed, and the server recovers by itself'
ok 'a lease whose time ended meanwhile is held' held
ok 'and renewed' says 0 '*' renew --ttl 1h --owner holder db/t1

# ---- once ----

renewed=$(deadline)
crash 0
report $? 'it crashes again'
ok 'a lease that has time left is held' held
[ "$(deadline)" = "$renewed" ]
report $? 'and has the time that it had'
says 0 '*' renew --ttl 60s --owner holder db/t1
crash 0
held
graced=$(deadline)
crash 0
held && [ "$(deadline)" = "$graced" ]
report $? 'what has been given time once is given no more by another crash'
restart immediate
held && [ "$(deadline)" = "$graced" ]
report $? 'nor by a restart at once'
restart fast
held && [ "$(deadline)" = "$graced" ]
report $? 'nor by one in order'
says 0 '*' renew --ttl 60s --owner holder db/t1
renewed=$(deadline)
restart fast
held && [ "$(deadline)" -gt "$renewed" ]
report $? 'but it is once more when it has been renewed'

# ---- and when it is over, it is ----

says 0 '*' renew --ttl 300ms --owner holder db/t1
crash 0
says 0 '*' acquire --try --owner other db/t2 # it is given time
first=$(deadline)
crash "$first"
ok 'a lease that is not renewed is over, however often the server crashes' \
    says 0 '*' acquire --try --owner other db/t1

finish
