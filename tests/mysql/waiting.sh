#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh waiting.sh LK
#
# A client that waits sleeps in the database; what it costs meanwhile is counted in statements. A
# client that only tries waits for no other call, and writes nothing. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE

# shellcheck disable=SC2034 # read in a pattern
asleep='SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE "%SLEEP(%" AND ID <> CONNECTION_ID()'

status() { # NAME
    sql "SHOW GLOBAL STATUS LIKE '$1'" | cut -f 2
}

waiters() { # PATH OWNER...
    path=$1
    shift
    for owner in "$@"; do
        "$lk" acquire --wait 10m --owner "$owner" --ttl 1h "$path" >"$work/out-$owner" 2>&1 &
        echo $! >"$work/pid-$owner"
    done
}

# All of them are granted, one after the other, in any order.
all_end() { # PATH OWNER...
    path=$1
    shift
    for owner in "$@"; do
        wait "$(cat "$work/pid-$owner")" || return 1
        "$lk" release --owner "$owner" "$path" >"$work/out" 2>&1 || return 1
    done
}

# ---- the sleep ----

ok 'a lock is held' says 0 '*' acquire --try --owner ann --ttl 1h x
waiters x w1
ok 'a client that waits for it sleeps in the database' comes_to "$asleep" 1
waiters x w2
ok 'so does a second one' comes_to "$asleep" 2

# The rate is the server's own: statements of clients in its seconds, less those that ask for it.
rate() {
    asked=1 began=$(status Uptime) before=$(status Questions)
    while [ $(($(status Uptime) - began)) -lt 6 ]; do
        asked=$((asked + 1))
        sleep 0.2
    done
    spent=$(($(status Questions) - before - 2 * asked))
    echo "$spent statements in 6 s for two that wait"
    [ "$spent" -lt 12 ]
}
ok 'they cost less than a statement a second' rate

ok 'the lock is released' says 0 '*' release --owner ann x
ok 'both get it in turn' all_end x w1 w2

# ---- two users of the database ----

sql "CREATE USER one; CREATE USER two;
     GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON test.* TO one, two"
ok 'a lock is held by one user' says 0 '*' -S "mysql://one@/test?$server" acquire --try --owner ann x
LK_STORE="mysql://two@/test?$server" waiters x w3
ok 'for which another one waits' comes_to "$asleep" 1
ok 'it is released' says 0 '*' -S "mysql://one@/test?$server" release --owner ann x
ok 'and the other one gets it' all_end x w3

# ---- a sleep that is cut ----

ok 'a lock is held' says 0 '*' acquire --try --owner ann --ttl 1h x
waiters x w4
ok 'a client waits' comes_to "$asleep" 1
for id in $(sql "$(echo "$asleep" | sed 's/COUNT(\*)/ID/')"); do
    sql "KILL CONNECTION $id"
done
ok 'the connection is cut, and it sleeps again' comes_to "$asleep" 1
ok 'the lock is released' says 0 '*' release --owner ann x
ok 'and the client gets it' all_end x w4

# ---- tries ----

ok 'a lock is held' says 0 '*' acquire --try --owner ann --ttl 1h y
keep_root y
written=$(status Handler_update)
ok 'a try is refused while its root is locked' says 75 '*ann*' acquire --try --owner bob y
ok 'and it has changed nothing' [ "$(status Handler_update)" -eq "$written" ]
let_go

finish
