#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh groups.sh LK
#
# A claim reads no more rows beside 10,000 items whose needs are taken, or that wait for the head of a
# parked one, than beside 10, and the order of claims is that of all items; the end of what they need,
# in whatever root, and that of a head, notify the workers of the queue. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE
make_store

# ---- costs ----

# SIZE items, of which half need what ann holds and half what is full, in a queue of that name.
fill() {
    sql "INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths, need_limits, need_units,
             need_roots, need_group)
         SELECT 'q/$1', 'item-' || g, g, 'ready', 0, c.paths, c.limits, c.units, c.roots,
             lockkeeper.group_of('q/$1', c.paths, c.limits, c.units)
         FROM generate_series(1, $1) AS g
         JOIN (VALUES (0, ARRAY['cust/a'], ARRAY[0], ARRAY[0], ARRAY['cust']),
                      (1, ARRAY['q/pool'], ARRAY[2], ARRAY[1], ARRAY['q'])) AS c (n, paths, limits, units, roots)
             ON c.n = g % 2;
         INSERT INTO lockkeeper.queue_counts (path) VALUES ('q/$1')"
}

rows_read() {
    sql "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables
         WHERE schemaname = 'lockkeeper' AND relname IN ('requests', 'parts', 'items', 'roots', 'heads')"
}

reads() { # AT_MOST CODE PATTERN ARGUMENT...: lk ends so, having read no more rows than that
    at_most=$1
    shift
    before=$(rows_read)
    says "$@" || return 1
    comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 || return 1
    rows=$(($(rows_read) - before))
    echo "$rows rows, at most $at_most" >>"$work/err"
    [ "$rows" -le "$at_most" ]
}

quietly acquire --ttl 1h --owner ann cust/a
quietly acquire --ttl 1h --owner ann 'q/pool?limit=2&units=2'
for size in 10 10000; do
    fill "$size"
    ok "$size: one of each group is first" is \
        "SELECT count(*) FROM lockkeeper.items WHERE queue = 'q/$size' AND NOT follows" 2
    ok "$size: a claim that finds nothing" reads 120 75 '*' claim --owner w "q/$size"
    quietly push "q/$size" behind --needs cust/b
    ok "$size: a claim of the one behind" reads 160 0 'behind*' claim --owner w "q/$size"
    ok "$size: its end" reads 120 0 '*' 'done' --owner w "q/$size" behind
done

# SIZE items behind one that is parked, of which each needs what that one needs strictly.
stop() {
    quietly push "strict/$1" first --needs 'k?strict'
    quietly claim --owner w "strict/$1"
    quietly retry --owner w --park "strict/$1" first
    sql "SELECT count(lockkeeper.push('strict/$1', 'item-' || g, needs => ARRAY['k?strict']))
         FROM generate_series(1, $1) AS g" >"$work/out"
}

for size in 10 10000; do
    stop "$size"
    ok "$size: no item behind a parked one is first" is "SELECT count(*),
        count(*) FILTER (WHERE follows) FROM lockkeeper.items WHERE queue = 'strict/$size' AND state = 'ready'" "$size|$size"
    ok "$size: a claim that finds only those" reads 120 75 '*' claim --owner w "strict/$size"
    quietly push "strict/$size" other --needs 'l?strict'
    ok "$size: a claim of another one" reads 160 0 'other*' claim --owner w "strict/$size"
    ok "$size: the end of the head" reads 120 0 '*' drop "strict/$size" first
    ok "$size: and the next one is claimed" reads 160 0 'item-1[!0-9]*' claim --owner w "strict/$size"
done

# ---- order ----

claimed() { # ID...: claims give these items, in this order
    for id in "$@"; do
        says 0 "$id*" claim --owner w order || return 1
    done
    says 75 '*' claim --owner w order
}
quietly push order 1 --needs 'a?shared'
quietly push order 2 --needs 'b?shared'
quietly push order 3
quietly push order 4 --needs 'a?shared' --priority 1
quietly push order 5 --needs 'a?shared'
quietly push order 6 --needs 'b?shared'
quietly acquire --ttl 1h --owner ann order/1
ok 'an item that is locked itself hides no other, and their order is that of all' claimed 4 2 3 5 6
for id in 4 2 3 5 6; do
    quietly retry --owner w order "$id"
done
quietly release --owner ann order/1
ok 'given back, they are claimed in the same order' claimed 4 1 2 3 5 6

quietly push heads 1 --needs 'one?strict'
quietly claim --owner w heads
quietly retry --owner w heads 1
quietly push heads 2 --needs 'one?strict' --priority 2
quietly push heads 3 --needs 'two?strict' --priority 3
quietly push heads 4 --needs 'two?strict'
quietly acquire --ttl 1h --owner ann heads/3
ok 'what waits for a head hides none, also where all items are read' says 0 '1*' claim --owner v heads
ok 'nor does one that is locked itself' says 0 '4*' claim --owner v heads
ok 'which waits for the head then' says 75 '*' claim --owner u heads
ok 'the heads are what is claimed' is \
    "SELECT path, i.id FROM lockkeeper.heads AS h JOIN lockkeeper.items AS i ON i.number = h.item
     WHERE h.queue = 'heads' ORDER BY path" 'one|1
two|4'
quietly 'done' --owner v heads 1
quietly 'done' --owner v heads 4
ok 'and end with it' is "SELECT count(*) FROM lockkeeper.heads WHERE queue = 'heads'" 0

# ---- what notifies ----

# In one session: the workers of `jobs` have looked; then this ends.
notified() { # SQL: its notifications name the root of the queue
    {
        echo 'LISTEN lockkeeper;'
        echo "UPDATE lockkeeper.roots SET awaited_us = 9000000000000000 WHERE 'jobs' = ANY (awaited_by);"
        echo "$1"
    } | client >"$work/out" 2>"$work/err"
    grep -q 'notification "lockkeeper" with payload "/jobs"' "$work/out"
}
quietly push jobs 1 --needs far/away/c
quietly acquire --ttl 1h --owner ann far/away
quietly claim --owner w jobs
ok 'the end of what an item needs, under another root, wakes workers of the queue' \
    notified "SELECT lockkeeper.release('far/away', owner => 'ann');"
ok 'and then it is claimed' says 0 '1*' claim --owner w jobs
quietly push jobs 2 --needs 'far/pool?limit=1'
quietly acquire --ttl 1h --owner ann 'far/pool?limit=1'
quietly claim --owner v jobs
ok 'so does the end of one that fills a limit' \
    notified "SELECT lockkeeper.release('far/pool', owner => 'ann');"
quietly claim --owner v jobs
ends_a_head() { # SQL
    "$lk" push jobs begun --needs 'line?strict' --priority 9 && "$lk" claim --owner x jobs >"$work/out" &&
        "$lk" retry --owner x --park jobs begun && "$lk" push jobs waits --needs 'line?strict' || return 1
    "$lk" claim --owner u jobs >"$work/out" 2>"$work/err" && return 1
    notified "$1" && says 0 'waits*' claim --owner u jobs &&
        "$lk" 'done' --owner u jobs waits && { "$lk" drop jobs begun >"$work/out" 2>&1 || true; }
}
ok 'so does a drop of what keeps another one from being claimed by its turn' \
    ends_a_head "SELECT lockkeeper.drop('jobs', 'begun');"
ok 'a cancel of it' ends_a_head "SELECT lockkeeper.cancel('jobs', 'begun', 'why not');"
ok 'and a push again of it' ends_a_head "SELECT lockkeeper.push_again('jobs', 'begun', delay => '1 hour');"
ok 'not what ends where no item needs anything' \
    is "SELECT awaited_by FROM lockkeeper.roots WHERE root = 'q'" '{}'

finish
