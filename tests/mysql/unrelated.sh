#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh unrelated.sh LK
#
# What a call reads depends on the locks that it asks about, not on all others: each call is made
# beside 200 unrelated locks and beside 5,000, and reads as many rows. Among a hundred thousand
# expired requests it reads only a few, and they are removed gradually. Prints TAP.
. "${0%/*}/counting.sh"

# bob waits for ann and ann for bob: the ask that closes the cycle goes through what is below a path.
# Two wait when ann releases, and one is granted.
each_call() {
    quietly acquire --try --ttl 1h --owner ann db/t pool &&
        counted queue 75 acquire --queue --ttl 1h --owner bob db/t &&
        counted again 75 acquire --queue --ttl 1h --owner bob db/t &&
        counted try 75 acquire --try --owner eve db/t &&
        counted batch 75 acquire --try --owner eve db/t db/v pool &&
        counted show 0 show db/t &&
        quietly release --owner bob db/t &&
        quietly acquire --try --ttl 1h --owner bob tree/1 &&
        quietly acquire --queue --ttl 1h --owner ann tree &&
        counted deadlock 76 acquire --queue --ttl 1h --owner bob db/t &&
        counted below 0 show tree/1 &&
        quietly release --owner ann tree &&
        quietly release --owner bob tree/1 &&
        quietly acquire --queue --ttl 1h --owner bob db/t &&
        quietly acquire --queue --ttl 1h --owner eve db/t &&
        counted release 0 release --owner ann db/t pool &&
        counted next 0 release --owner bob db/t &&
        quietly release --owner eve db/t &&
        counted claim 75 claim --owner ann db/queue
}

# Below db/w, which is held, others wait.
quietly acquire --try --ttl 1h --owner holder db/w
fill TRUE 1 100 far/ db/u/
fill FALSE 1 100 db/w/
ok 'each call beside 200 locks and 100 that wait, in other trees and beside the path' each_call
fill TRUE 101 2500 far/ db/u/
fill FALSE 101 300 db/w/
ok 'each call beside 5,000 and 300' each_call
ok 'an ask that is queued reads as many rows' as_many queue
ok 'so does one that is repeated there' as_many again
ok 'and one that is refused' as_many try
ok 'and one for three paths' as_many batch
ok 'and a search for deadlocks, which finds one' as_many deadlock
ok 'and a release of two paths that lets in one of two' as_many release
ok 'and one that lets in the next' as_many next
ok 'and a claim that finds nothing' as_many claim
ok 'and what shows a path' as_many show
ok 'also where another request waits above it' as_many below

# To show a parent, each lock below it is read a few times.
fill TRUE 1 2500 parent/
ok 'a parent of 2,500 is shown' counted parent 0 show parent
ok 'which reads a few rows for each' [ "$(cat "$work/read-parent")" -le 40000 ]

# Nor is a line gone through for each that waits in it, to find no deadlock, though the asker holds a lock
# elsewhere.
quietly acquire --try --ttl 1h --owner ann long
quietly acquire --queue --ttl 1h --owner zoe long
fill TRUE 1 300 line/
sql "UPDATE lk_requests AS r JOIN lk_roots AS l ON l.root = 'long'
     SET r.path = 'long', r.root = 'long', r.roots = 'long', r.held = FALSE, r.token = 0,
         r.ticket = l.last_draw + r.ticket, r.identity = UNHEX(SHA2(CONCAT('long\\n', r.owner), 256))
     WHERE r.root = 'line'"
quietly acquire --try --ttl 1h --owner bob tree/1
ok 'there is a line of 300 behind one' counted line 75 acquire --queue --ttl 1h --owner bob long
ok 'an ask behind them reads each a few times' [ "$(cat "$work/read-line")" -le 30000 ]

# ---- expired requests ----

# What it costs to ask that, and to connect: a new connection reads the owner of each procedure of
# the server, some 600 rows, whatever the store holds.
before=$(read_so_far)
"$lk" get nothing >"$work/out" 2>"$work/err"
own=$(($(read_so_far) - before))

sql "INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended, fixed,
         wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
     SELECT 1, CONCAT('old/', d.n), 0, 0, 'old', CONCAT('dead-', d.n), '', TRUE, FALSE, FALSE, FALSE,
            d.n, d.n, 1000, 1000000000 + d.n,
            UNHEX(SHA2(CONCAT('old/', d.n, '\n', 'dead-', d.n), 256)), 'old', 1
     FROM (SELECT a.n + 1000 * (b.n - 1) AS n
           FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 100) AS d;
     INSERT INTO lk_roots (root, last_draw, due_us, has_waiting) VALUES ('old', 0, 1000000000, FALSE)"
ok 'a hundred thousand requests have expired' is "SELECT COUNT(*) FROM lk_requests WHERE root = 'old'" 100000

frugal() { # AT_MOST ARGUMENT...: reads no more rows than that
    at_most=$1
    shift
    before=$(read_so_far)
    "$lk" "$@" >"$work/out" 2>"$work/err" || return 1
    after=$(read_so_far)
    echo "$before rows before, $after after, $own for asking and connecting" >>"$work/err"
    [ "$after" -gt "$before" ] && [ $((after - before - own)) -le "$at_most" ]
}

ok 'an ask among them reads a few rows' frugal 400 acquire --try --owner me old/5
ok 'so does a release, which may sweep' frugal 1200 release --owner me old/5
ok 'and an ask for all of two paths' frugal 400 acquire --try --owner me old/5 new/5
ok 'and a renewal' frugal 400 renew --owner me old/5 new/5
ok 'and a list, which also removes a few expired requests' frugal 5000 ls old/5
ok 'an explanation reads none of them twice' frugal 120000 show old/5
sql 'CALL lk_sweep()'
ok 'they are swept, many at a time' is \
    "SELECT COUNT(*) < 99900 FROM lk_requests WHERE root = 'old'" 1

# What is kept of ends (R3) goes as well, where there is nothing but work.
sql "INSERT INTO lk_ended (token, identity, ended_us) SELECT n, UNHEX(SHA2(n, 256)), n FROM lk_numbers;
     CREATE TABLE jobs (id INT PRIMARY KEY);
     INSERT INTO jobs SELECT n FROM lk_numbers WHERE n <= 70"
ok 'seventy rows are worked on' says 0 '*' work --drain --table jobs -- true
ok 'and workers remove expired requests meanwhile' is 'SELECT COUNT(*) < 1000 FROM lk_ended WHERE token <= 1000' 1

finish
