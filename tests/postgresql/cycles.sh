#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh cycles.sh LK
#
# Cycles of owners (R13): conversions of waiting requests in cycles over two roots, and of a lease whose
# grant comes late (tests/procedures/conversions.sh); and what a search for cycles reads, with its roots locked:
# rows in proportion to those that the asker waits for, however many others wait in the store, and
# however many ways there are from one owner to another. Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/../procedures/conversions.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE

# ---- conversions ----

session() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atq postgres
}

rename_sql() {
    echo "UPDATE lockkeeper.requests
          SET owner = 'a-$1', identity = lockkeeper.identity('a-$1', 'right-$1/x')
          WHERE owner = 'other'"
}

# A part that is not converted is written by nothing but the end of its request.
hold_sql() {
    echo "SELECT FROM lockkeeper.parts AS p JOIN lockkeeper.requests AS r ON r.id = p.request
          WHERE r.owner = 'b-$1' AND NOT r.held FOR UPDATE OF p"
}

blocked_sql() {
    echo 'SELECT count(*) FROM pg_locks WHERE NOT granted'
}

play_delayed_grant
play_conversions

# ---- what a search reads ----

make_store

# OWNERS, each waiting in both of two queues; UNRELATED, waiting in a third one.
fill() {
    sql "
    TRUNCATE lockkeeper.requests, lockkeeper.parts, lockkeeper.roots;
    CREATE TEMPORARY TABLE filled AS
        SELECT 1 + q AS id, 'holder-' || q AS owner, true AS held, 'two/' || q AS path
        FROM generate_series(1, 2) AS q
        UNION ALL
        SELECT 10 + 2 * o + q, 'owner-' || o, false, 'two/' || q
        FROM generate_series(1, $1) AS o, generate_series(1, 2) AS q
        UNION ALL
        SELECT 100000 + u, 'unrelated-' || u, u = 1, 'third/x' FROM generate_series(1, $2) AS u;
    INSERT INTO lockkeeper.roots (root, due_us, has_waiting)
    SELECT DISTINCT split_part(f.path, '/', 1), 0, true FROM filled AS f;
    INSERT INTO lockkeeper.requests (id, identity, owner, note, held, attended, fixed, ticket, token,
        ttl_ms, deadline_us, wants_value, root, roots)
    SELECT f.id, lockkeeper.identity(f.owner, f.path), f.owner, '', f.held, false, false, f.id,
        CASE WHEN f.held THEN f.id ELSE 0 END, 3600000, lockkeeper.now_us() + 3600000000, false,
        split_part(f.path, '/', 1), ARRAY[split_part(f.path, '/', 1)] FROM filled AS f;
    INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
    SELECT f.id, 1, f.path, f.held, f.id, 0, 0 FROM filled AS f"
}

# OWNERS: of the last in both queues, the cycle, and how many rows the search for it reads.
search() {
    sql "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
        SET plan_cache_mode = force_generic_plan;
        BEGIN;
        SELECT 'cycle', c.cycle FROM lockkeeper.find_cycle(
            $((12 + 2 * $1)),
            lockkeeper.now_us()) AS c;
        SELECT 'rows', sum(t.seq_tup_read + t.idx_tup_fetch) FROM pg_stat_xact_user_tables AS t
        WHERE t.schemaname = 'lockkeeper';
        COMMIT" >"$work/out"
    rows=$(sed -n 's/^rows|//p' "$work/out")
}

finds_none() { # OWNERS ROWS: having read at most so many
    search "$1"
    echo "$rows rows, at most $2" >>"$work/err"
    [ "$(grep '^cycle' "$work/out")" = 'cycle|' ] && [ "$rows" -le "$2" ]
}

fill 60 0
search 60
alone=$rows
ok 'sixty in two queues: each is looked at a few times' finds_none 60 1500
fill 60 2000
ok 'two thousand waiters elsewhere are not read' finds_none 60 "$((alone + 8))"
sql 'ANALYZE'
ok 'nor are they by a planner that knows of them' finds_none 60 "$((alone + 8))"
sql "INSERT INTO lockkeeper.requests (id, owner, note, held, attended, fixed, ticket, token, ttl_ms,
        deadline_us, wants_value, root, roots)
     SELECT 200000 + n, 'holder-1', '', true, false, false, 200000 + n, 200000 + n, 3600000,
        lockkeeper.now_us() + 3600000000, false, 'fourth', '{fourth}'
     FROM generate_series(1, 2000) AS n"
ok 'nor are the other leases of a holder' finds_none 60 "$((alone + 8))"
fill 240 0
ok 'four times as many in the queues are four times the rows' finds_none 240 "$((alone * 9 / 2))"

# The first in one queue holds what the last one asks for.
sql "UPDATE lockkeeper.requests SET owner = 'owner-240' WHERE owner = 'holder-1'"
search 240
echo "$rows rows, $alone" >"$work/err"
ok 'a cycle is found as cheaply' [ "$rows" -le "$((alone * 5))" ]
ok 'and named' grep -q '^cycle|{owner-240,owner-[0-9]*}' "$work/out"

finish
