#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh expired_requests.sh LK
#
# Among a hundred thousand expired requests each call reads only a few rows, and they are removed
# gradually. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE
make_store
"$lk" ls >"$work/out" 2>"$work/err" # the first call there records which run of the server it is

# What sessions have asked of the tables, which both kinds of server count.
read_so_far() {
    sql "SHOW GLOBAL STATUS LIKE 'Handler_read%'" | awk '{ sum += $2 } END { print sum }'
}

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
