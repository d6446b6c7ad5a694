#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh looks.sh LK
#
# A try that is refused by what others hold or wait for waits for no lock: here another transaction
# has the root's, and each answer is the one that was given without that. What may be granted, and
# what a refusal has to write, waits and is decided behind the lock. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE
make_store

# A line each: the arguments of a try.
asked='--owner me r/mutex
--owner me --shared r/mutex
--owner me r/mutex/below/it
--owner me r
--owner me r/slots?limit=2
--owner me r/slots?limit=4&units=3
--owner me r/both
--owner me --shared r/line
--owner me r/line/below
--owner me r/free r/mutex r/slots?limit=2
--owner me --value r/mutex
--owner me r/readers
--owner me r/many'
answers() { # FILE: what each of them is answered, without the times left
    : >"$1"
    echo "$asked" | while read -r arguments; do
        # shellcheck disable=SC2086 # several words
        "$lk" acquire --try --json $arguments >"$work/out" 2>>"$work/err"
        echo "$? $arguments" >>"$1"
        sed 's/"expires_in_ms":[0-9]*//g' "$work/out" >>"$1"
    done
}

quietly acquire --ttl 1h --owner ann r/mutex
quietly acquire --ttl 1h --owner ann r/mutex/below
quietly acquire --ttl 1h --owner ann 'r/slots?limit=2'
quietly acquire --ttl 1h --owner bob --note why 'r/slots?limit=2'
quietly acquire --ttl 1h --owner bob r/both/1 r/both/2
quietly acquire --ttl 1h --owner ann --shared r/line
quietly acquire --ttl 1h --owner bob --shared r/readers
number=0
while [ "$number" -lt 70 ]; do # more than the short look names
    number=$((number + 1))
    quietly acquire --ttl 1h --owner "many-$number" "r/many/$number"
done

same() { # NAME: tries are answered so, and the same while another transaction has the root's lock
    answers "$work/free-$1"
    keep_root r
    answers "$work/kept-$1"
    let_go
    cp "$work/kept-$1" "$work/err"
    [ "$(grep -c '^75 ' "$work/free-$1")" -ge "$2" ] && cmp "$work/free-$1" "$work/kept-$1" >"$work/out"
}
asked=$(echo "$asked" | grep -v line)
ok 'tries are refused while the root is locked, as they are while it is not' same held 11
quietly acquire --queue --ttl 1h --owner eve r/line
asked="$asked
--owner me --shared r/line
--owner me r/line/below"
ok 'so are those of a root where a request waits' same line 13

# ---- what a look does not decide ----

waiting="SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
behind() { # CODE PATTERN ARGUMENT...: a try that waits for the root's lock is then answered so
    code=$1 pattern=$2
    shift 2
    keep_root r
    "$lk" acquire --try "$@" >"$work/late" 2>"$work/late-err" 9>&- &
    late=$!
    comes_to "$waiting" 1
    has_waited=$?
    let_go
    wait "$late"
    got=$?
    cat "$work/late" "$work/late-err" >"$work/err"
    [ "$has_waited" -eq 0 ] && [ "$got" -eq "$code" ] || return 1
    # shellcheck disable=SC2254 # a pattern
    case $(cat "$work/err") in $pattern) ;; *) return 1 ;; esac
}
ok 'a try that may be granted waits' behind 0 '*' --owner me r/nothing
ok 'one that its owner holds already waits' behind 0 '*' --owner ann --ttl 1h r/mutex
ok 'one that a lease of its owner covers waits' behind 0 '*' --owner ann r/mutex/other
sql "UPDATE lockkeeper.requests SET deadline_us = 1 WHERE owner = 'ann' AND root = 'r';
     UPDATE lockkeeper.roots SET due_us = 1 WHERE root = 'r'"
ok 'one that a dead request may let another one precede waits' behind 75 '*eve*' --owner you r/line
ok 'for which that has been granted meanwhile' is \
    "SELECT held FROM lockkeeper.requests WHERE owner = 'eve'" t
quietly limits events=10
ok 'one whose refusal is an event waits' behind 75 '*bob*' --owner you r/both
ok 'and has become one' is \
    "SELECT refusal, parts FROM lockkeeper.events WHERE event = 'refused'" 'busy|r/both'
quietly limits events=0

# ---- when there is a look ----

comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0
sql "ALTER SYSTEM SET track_functions = 'all'"
sql 'SELECT pg_reload_conf()' >"$work/out"
comes_to 'SHOW track_functions' all
sql 'SELECT pg_stat_reset()' >"$work/out"
try() { # OWNER PATH ROOT: a call of lk_ask
    echo "CALL lockkeeper.lk_ask('$1', '{$2}', '{0}', '{0}', '$2', '{$3}', 'try', 60000, 0, NULL, 16,
          false, '{$2,$3}');"
}
looks() { # SQL TIMES: with the statements of this session, there have been so many looks
    echo "$1" | client >"$work/out" 2>"$work/err" &&
        comes_to "SELECT coalesce(sum(calls) FILTER (WHERE funcname = 'look_busy'), 0)
                  FROM pg_stat_user_functions WHERE schemaname = 'lockkeeper'" "$2"
}
ok 'none for tries that are granted' looks "$(try one s/1 s) $(try two s/2 s) $(try three s/3 s)" 0
ok 'nor for the first that is refused' looks "$(try four s/1 s)" 0
ok 'but for each after it, and for one that is granted then' looks \
    "$(try four s/1 s) $(try four s/2 s) $(try four s/3 s) $(try four s/4 s) $(try five s/5 s)" 3
ok 'and ask() has been called only by the first ones' is \
    "SELECT calls FROM pg_stat_user_functions WHERE schemaname = 'lockkeeper' AND funcname = 'ask'" 2

finish
