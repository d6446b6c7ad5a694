#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh costs.sh LK
#
# Decisions and explanations read no more rows where 10,000 requests are held below a path, or wait
# in line for it, than where 10 do. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE
make_store

few=10 many=10000

# CHILDREN of `parent` that are held, and at `line` one holder and WAITING requests: for an exclusive
# lock, or with LIMIT for one unit.
fill() {
    sql "
    TRUNCATE lockkeeper.requests, lockkeeper.parts, lockkeeper.roots;
    CREATE TEMPORARY TABLE filled AS
        SELECT n AS id, 'child-' || n AS owner, true AS held, 'parent/' || n AS path, 0 AS unit_limit
        FROM generate_series(1, $1) AS n
        UNION ALL
        SELECT 100000 + n, 'waiter-' || n, n = 0, 'line', $3 FROM generate_series(0, $2) AS n;
    INSERT INTO lockkeeper.roots (root, due_us, has_waiting)
    VALUES ('parent', 9000000000000000, false), ('line', 9000000000000000, true);
    INSERT INTO lockkeeper.requests (id, identity, owner, note, held, attended, fixed, ticket, token,
        ttl_ms, deadline_us, wants_value, root, roots)
    SELECT f.id, lockkeeper.identity(f.owner, f.path), f.owner, '', f.held, false, false, f.id,
        CASE WHEN f.held THEN f.id ELSE 0 END, 3600000, lockkeeper.now_us() + 3600000000, false,
        split_part(f.path, '/', 1), ARRAY[split_part(f.path, '/', 1)] FROM filled AS f;
    INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
    SELECT f.id, 1, f.path, f.held, f.id, f.unit_limit, sign(f.unit_limit) FROM filled AS f"
}

rows_read() {
    sql "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables
         WHERE schemaname = 'lockkeeper' AND relname IN ('requests', 'parts', 'values')"
}

reads() { # AT_MOST CODE ARGUMENT...: lk ends so, having read no more rows than that
    at_most=$1 code=$2
    shift 2
    before=$(rows_read)
    "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] &&
        comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 ||
        return 1
    rows=$(($(rows_read) - before))
    echo "$rows rows, at most $at_most" >>"$work/err"
    [ "$rows" -le "$at_most" ]
}

# What is named is read, and some more that are counted: not what is beyond that.
each() { # AT_MOST SIZE
    ok "$2: a try" reads "$1" 75 acquire --try --owner me parent
    ok "$2: a try of a reader" reads "$1" 75 acquire --try --shared --owner me parent
    ok "$2: a request that is queued" reads "$1" 75 acquire --queue --ttl 1h --owner me parent
    ok "$2: one that is repeated" reads "$1" 75 acquire --queue --ttl 1h --owner me parent
    ok "$2: one that is withdrawn" reads "$1" 0 release --owner me parent
    ok "$2: one at the end of a line" reads "$1" 75 acquire --queue --ttl 1h --owner me line
    ok "$2: one that leaves it" reads "$1" 0 release --owner me line
    ok "$2: a release to the first in line" reads "$1" 0 release --owner waiter-0 line
    ok "$2: which it is given" says 0 '*' acquire --try --owner waiter-1 line
}

for size in "$few" "$many"; do
    fill "$size" "$size" 0
    each 800 "$size"
    ok "$size: a list of what is around the parent" reads $((12 * size + 100)) 0 show parent
    ok "$size: and of a line" reads $((12 * size + 100)) 0 show line
    fill 1 "$size" 1
    ok "$size: a limit that is asked for" reads 800 75 acquire --queue --ttl 1h --limit 1 --owner me line
    ok "$size: and left" reads 800 0 release --owner me line
    ok "$size: a release to the first that waits for a limit" reads 800 0 release --owner waiter-0 line
    ok "$size: which it is given" says 0 '*' acquire --try --limit 1 --owner waiter-1 line
done

# A connection that makes sure whose code the store is reads what is in the schema of the store alone.
catalog_rows() {
    sql "SELECT sum(seq_tup_read) FROM pg_stat_sys_tables
         WHERE relname IN ('pg_class', 'pg_proc', 'pg_trigger', 'pg_constraint', 'pg_depend')"
}
opens_beside() { # COUNT: of functions and of tables in another schema
    sql "CREATE SCHEMA other;
         DO \$\$ BEGIN FOR n IN 1..$1 LOOP
             EXECUTE format('CREATE FUNCTION other.f%s() RETURNS int LANGUAGE sql AS ''SELECT 1''', n);
             EXECUTE format('CREATE TABLE other.t%s (n int PRIMARY KEY)', n);
         END LOOP; END \$\$;
         ANALYZE"
    before=$(catalog_rows)
    "$lk" ls >"$work/out" 2>"$work/err" &&
        comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 || return 1
    rows=$(($(catalog_rows) - before))
    sql 'SET client_min_messages = error; DROP SCHEMA other CASCADE'
    echo "$rows rows of the catalog" >>"$work/err"
    [ "$rows" -le 1000 ] # small tables of the catalog are read whole
}
ok 'a connection is opened beside 10 functions and tables of others' opens_beside 10
ok 'and beside 1,000' opens_beside 1000

# A page of values reads its own rows, with their doubts, whatever the statistics say: a shell that
# completes a path reads one.
page_of_values() { # COUNT: of values below `kept`, and as many in other roots
    sql "TRUNCATE lockkeeper.\"values\";
         INSERT INTO lockkeeper.\"values\" (path, in_doubt, bytes)
         SELECT r || n, false, 'value' FROM generate_series(1, $1) AS n,
             unnest(ARRAY['before/', 'kept/v/', 'then/']) AS r"
    reads 1100 0 __complete values kept/v/ &&
        [ "$("$lk" __complete values kept/v/ | grep -c '^kept/v/')" -ge 990 ]
}
ok 'a page of 2,000 values reads its own rows' page_of_values 2000
ok 'and one of 20,000' page_of_values 20000
sql 'ANALYZE lockkeeper."values", lockkeeper.parts, lockkeeper.requests'
ok 'also with statistics' page_of_values 20000

# Counts read each item twice, for its claims and for its state; the age of the oldest ready one
# comes with the latter.
items_read() {
    sql "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables
         WHERE schemaname = 'lockkeeper' AND relname = 'items'"
}
counts() { # COUNT: of ready items
    seq "$1" | sed 's/.*/{"id": &}/' | "$lk" push "counts-$1" - >"$work/out" 2>"$work/err" &&
        comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 || return 1
    before=$(items_read)
    "$lk" stats --json "counts-$1" >"$work/out" 2>"$work/err" && grep -q '"oldest_ready_ms":[0-9]' "$work/out" &&
        comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 || return 1
    rows=$(($(items_read) - before))
    echo "$rows rows of items" >>"$work/err"
    [ "$rows" -le $((2 * $1)) ]
}
ok 'the counts of ten items, with the age of the oldest ready one, read each twice' counts 10
ok 'and so do those of a thousand' counts 1000

# Ended tokens are swept by where they are: each is looked up once.
swept() { # FEW: as many are gone, and as many rows were read
    sql "BEGIN;
        SELECT lockkeeper.sweep_ended($1, lockkeeper.now_us());
        SELECT 'rows', sum(t.seq_tup_read + t.idx_tup_fetch) FROM pg_stat_xact_user_tables AS t
        WHERE t.schemaname = 'lockkeeper' AND t.relname = 'ended';
        COMMIT;
        SELECT 'left', count(*) FROM lockkeeper.ended" >"$work/out"
    rows=$(sed -n 's/^rows|//p' "$work/out")
    left=$(sed -n 's/^left|//p' "$work/out")
    echo "$rows rows, $left left" >>"$work/err"
    [ "$rows" -le "$1" ] && [ "$left" -eq $((many - $1)) ]
}
sql "TRUNCATE lockkeeper.ended;
     INSERT INTO lockkeeper.ended (token, identity, ended_us)
     SELECT n, sha256(n::text::bytea), n FROM generate_series(1, $many) AS n"
ok 'a sweep reads the ended tokens that it removes, once' swept 128

# Items that are done are forgotten in portions, and nothing else reads them: not a claim, nor the
# question whether work is left.
forgets() { # FEW
    sql "BEGIN;
        SELECT lockkeeper.forget_done($1, lockkeeper.now_us());
        SELECT 'rows', sum(t.seq_tup_read + t.idx_tup_fetch) FROM pg_stat_xact_user_tables AS t
        WHERE t.schemaname = 'lockkeeper' AND t.relname = 'items';
        COMMIT;
        SELECT 'left', count(*) FROM lockkeeper.items WHERE state = 'done'" >"$work/out"
    rows=$(sed -n 's/^rows|//p' "$work/out")
    left=$(sed -n 's/^left|//p' "$work/out")
    echo "$rows rows, $left left" >>"$work/err"
    [ "$rows" -le $((2 * $1)) ] && [ "$left" -eq $((many - $1)) ]
}
reads_none() { # CODE ARGUMENT...: lk ends so, having read no item but what is its own
    before=$(items_read)
    code=$1
    shift
    "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] &&
        comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0 || return 1
    rows=$(($(items_read) - before))
    echo "$rows rows of items" >>"$work/err"
    [ "$rows" -le 20 ]
}
none_left() {
    sql "BEGIN;
        SELECT 'left', lockkeeper.lk_has_items('kept');
        SELECT 'rows', coalesce(sum(t.seq_tup_read + t.idx_tup_fetch), 0) <= 20 FROM pg_stat_xact_user_tables AS t
        WHERE t.schemaname = 'lockkeeper' AND t.relname = 'items';
        COMMIT" >"$work/out"
    [ "$(tr '\n' ' ' <"$work/out")" = 'left|f rows|t ' ]
}
for size in "$few" "$many"; do
    for due_us in 1 9000000000000000; do
        sql "TRUNCATE lockkeeper.items, lockkeeper.item_values;
             INSERT INTO lockkeeper.queue_counts (path) VALUES ('kept') ON CONFLICT (path) DO NOTHING;
             INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths, need_limits,
                 need_units, need_roots)
             SELECT 'kept', 'done-' || n, n, 'done', $due_us, '{}', '{}', '{}', '{}'
             FROM generate_series(1, $size) AS n"
        ok "$size items that are done until $due_us: a claim that finds nothing" reads_none 75 claim --owner w kept
        ok 'no work is left' none_left
        ok 'a push' reads_none 0 push kept new
        ok 'a push of one of them' reads_none 0 push --again kept done-7
    done
done
sql "DELETE FROM lockkeeper.items WHERE state <> 'done'; UPDATE lockkeeper.items SET due_us = 1;
     INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths, need_limits,
         need_units, need_roots)
     SELECT 'kept', 'more-' || n, n, 'done', 1, '{}', '{}', '{}', '{}'
     FROM generate_series(1, $many - (SELECT count(*) FROM lockkeeper.items)) AS n"
ok 'a sweep reads the items that it forgets' forgets 128

# Items are worked through in portions, in the order of their claims: by priority, then by age.
for id in a b c d e; do
    "$lk" push portions "$id" >"$work/out" 2>"$work/err"
done
sql "UPDATE lockkeeper.items SET priority = CASE id WHEN 'b' THEN -2 WHEN 'c' THEN 7 WHEN 'e' THEN 7 ELSE 0 END"
sql "WITH RECURSIVE walk AS (
        SELECT 1 AS n, r.id, r.at FROM lockkeeper.ready_items('portions', '0', 1) AS r
        UNION ALL
        SELECT w.n + 1, r.id, r.at FROM walk AS w
        CROSS JOIN LATERAL lockkeeper.ready_items('portions', w.at, 1) AS r)
     SELECT string_agg(id, '' ORDER BY n) FROM walk" >"$work/out"
ok 'portions of one item follow each other by priority and age' [ "$(cat "$work/out")" = ceadb ]

finish
