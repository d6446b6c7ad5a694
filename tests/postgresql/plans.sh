#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh plans.sh LK
#
# What a call reads does not grow with the locks that it does not ask about, whatever the server knew
# of the tables when it planned: each call is made beside 10 requests in other roots; by a session that
# has planned it then, again beside 10,000; and by a new session there, when the statistics are of the
# 10,000. Rows and entries of indices are counted. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE
make_store
sql 'ALTER SYSTEM SET autovacuum = off' # which would gather statistics at a time of its own
sql 'SELECT pg_reload_conf()' >"$work/out"
many=9999

lease() { # OWNER PATH ID HELD: prints SQL that adds requests, of which n is the number
    echo "INSERT INTO lockkeeper.requests (id, identity, owner, note, held, attended, fixed, ticket, token,
              ttl_ms, deadline_us, wants_value, root, roots)
          SELECT $3, lockkeeper.identity($1, $2), $1, '', $4, false, false, $3, CASE WHEN $4 THEN $3 ELSE 0 END,
              3600000, lockkeeper.now_us() + 3600000000, false, split_part($2, '/', 1),
              ARRAY[split_part($2, '/', 1)] FROM numbers;
          INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
          SELECT $3, 1, $2, $4, $3, 0, 0 FROM numbers;"
}
numbers() { # FROM TO
    echo "DROP TABLE IF EXISTS numbers;
          CREATE TEMPORARY TABLE numbers AS SELECT n FROM generate_series($1, $2) AS n;"
}
others() { # FROM TO: requests, each in a root of its own, of which one in four waits, and items; and
    # in the queue that is asked about, items that are done
    numbers "$1" "$2"
    lease "'other-' || n" "'other-' || n || '/table'" '3000000000000000 + n' '(n % 4 < 3)'
    echo "INSERT INTO lockkeeper.roots (root, due_us, has_waiting)
          SELECT 'other-' || n, lockkeeper.now_us() + 3600000000, n % 4 = 3 FROM numbers;
          INSERT INTO lockkeeper.queue_counts (path) SELECT 'other-' || n || '/queue' FROM numbers;
          INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths, need_limits,
              need_units, need_roots)
          SELECT 'other-' || n || '/queue', n, n, 'ready', 0, '{}', '{}', '{}', '{}' FROM numbers;
          INSERT INTO lockkeeper.items (queue, id, sequence, state, due_us, need_paths, need_limits,
              need_units, need_roots)
          SELECT 'my/queue', 'done-' || n, n, 'done', lockkeeper.now_us() + 3600000000, '{}', '{}',
              '{}', '{}' FROM numbers;"
}
beginning() { # a few others, and a line of ten
    echo "TRUNCATE lockkeeper.requests, lockkeeper.parts, lockkeeper.roots, lockkeeper.items,
              lockkeeper.queue_counts, lockkeeper.ended;"
    others 0 9
    numbers 0 10
    lease "'short-' || n" "'short'" '4000000000000000 + n' 'n = 0'
    echo "INSERT INTO lockkeeper.roots (root, due_us, has_waiting)
          VALUES ('short', lockkeeper.now_us() + 50000000, true);"
}

# ---- calls, as the engine makes them ----

ask() { # OWNER PATH STYLE [LIMIT]
    echo "CALL lockkeeper.lk_ask('$1', '{$2}', '{${4:-0}}', '{$((${4:-0} > 0))}', '$2', '{${2%%/*}}', '$3',
              3600000, 0, NULL, 16, false, '{$2,${2%%/*}}');"
}
release() { # OWNER PATH [TOKEN]
    echo "CALL lockkeeper.lk_release('$1', '{$2}', '$2', '{${2%%/*}}', ${3:-0}, NULL, NULL);"
}
kept() { # a call on stdin: with its answer in variables
    sed 's/;$/ \\gset/'
}
call() { # NAME N: the SQL of a call, the Nth time
    case $1 in
    'a pair') ask me my/own try | kept && release me my/own :token ;;
    'a pair of a limit') ask me my/pool try 9 | kept && release me my/pool :token ;;
    'a refused try') ask me short try && ask me short try ;;
    'a request that joins a line and leaves it') ask me short queue && release me short ;;
    'one that is repeated') ask short-5 short queue ;;
    'a wait that is repeated') ask short-6 short wait ;;
    'a release to the next in line') release "short-$2" short ;;
    'a renewal') echo "CALL lockkeeper.lk_renew('short-0', '{short}', 'short', '{short}', 0, 0);" ;;
    'a request for two paths')
        echo "CALL lockkeeper.lk_ask('me', '{my/a,his/b}', '{0,0}', '{0,0}', 'his/b my/a', '{his,my}', 'try',
                  3600000, 0, NULL, 16, false, '{my/a,my}');
              CALL lockkeeper.lk_release('me', '{my/a,his/b}', 'his/b my/a', '{his,my}', 0, NULL, NULL);"
        ;;
    'a search for a cycle')
        ask "short-0" other-1/table queue && release short-0 other-1/table
        ;;
    'a request for two paths that waits')
        echo "CALL lockkeeper.lk_ask('me', '{my/a,short}', '{0,0}', '{0,0}', 'my/a short', '{my,short}', 'queue',
                  3600000, 0, NULL, 16, false, '{my/a,my}');
              CALL lockkeeper.lk_release('me', '{my/a,short}', 'my/a short', '{my,short}', 0, NULL, NULL);"
        ;;
    'a conversion') ask short-0 short try 5 && ask short-0 short try ;;
    'a deadline that has passed')
        echo "UPDATE lockkeeper.requests SET deadline_us = 1 WHERE id = 4000000000000000 + $2;
              UPDATE lockkeeper.roots SET due_us = 1 WHERE root = 'short';
              CALL lockkeeper.lk_tick('short');"
        ;;
    'a claim that finds nothing')
        echo "CALL lockkeeper.lk_take('my/queue', '{my/queue,my}', 'my', 'me', 3600000, 0, $2, '');"
        ;;
    'a sweep') echo "CALL lockkeeper.lk_sweep();" ;;
    'a value') echo "CALL lockkeeper.lk_put('my/value', '{my/value,my}', 'my', 'me', 0, 'x');
                     SELECT * FROM lockkeeper.lk_value('my/value');" ;;
    'what shows a path') echo "SELECT count(*) FROM lockkeeper.lk_show('short');" ;;
    'a break') echo "CALL lockkeeper.lk_break('short', 'short', 'short-$((8 + $2))', true, 'dba', 'a test');" ;;
    'an item')
        echo "CALL lockkeeper.lk_push_item('my/queue', 'item', 'my', NULL, 0, '{}', '{}', '{}', '{}', 0, 0, 0);
              CALL lockkeeper.lk_take('my/queue', '{my/queue,my}', 'my', 'me', 3600000, 0, $2, '') \\gset
              CALL lockkeeper.lk_finish_claim('my/queue', 'item', 'my', 'me', :token, -1, NULL, NULL,
                                               false, false, NULL, 0);"
        ;;
    'an item that is kept')
        echo "CALL lockkeeper.lk_push_item('my/queue', 'kept-$2', 'my', 'x', 0, '{}', '{}', '{}', '{}', 0, 0, 0);
              CALL lockkeeper.lk_take('my/queue', '{my/queue,my}', 'my', 'me', 3600000, 0, 0, '') \\gset
              CALL lockkeeper.lk_progress('my/queue', 'kept-$2', 'my', 'me', :token, 'half');
              SELECT lockkeeper.lk_has_items('my/queue');
              CALL lockkeeper.lk_finish_claim('my/queue', 'kept-$2', 'my', 'me', :token, NULL, NULL, NULL,
                                               false, false, 'y', 60000);
              SELECT count(*) FROM lockkeeper.lk_items_of('my/queue', 'kept-$2');
              SELECT lockkeeper.lk_has_items('my/queue');"
        ;;
    esac
}

# ---- what they read ----

rows_read() {
    sql "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables
                 WHERE schemaname = 'lockkeeper' AND relname NOT IN ('meta', 'awake'))
              + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'lockkeeper')"
}
gone="SELECT count(*) FROM pg_stat_activity WHERE application_name = 'session'"
begin_session() {
    mkfifo "$work/calls" || exit 1
    PGAPPNAME=session client <"$work/calls" >"$work/answers" 2>&1 &
    session=$!
    exec 8>"$work/calls"
}
in_session() { # SQL MARK: it has been carried out
    printf '%s\n' "$1" "SELECT 'done $2';" >&8
    rounds=0
    until grep -q "^done $2\$" "$work/answers"; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 1200 ] || return 1
        sleep 0.05
    done
}
end_session() {
    exec 8>&-
    wait "$session"
    rm "$work/calls"
    comes_to "$gone" 0
}
at_most() { # ROWS: as many have been read since $before, and all went well
    rows=$(($(rows_read) - before))
    cp "$work/answers" "$work/err"
    echo "$rows rows, at most $1" >>"$work/err"
    [ "$rows" -le "$1" ] && ! grep -q ERROR "$work/answers"
}
beside() { # NUMBER ROWS CALL: planned and made beside so many, it reads at most these
    sql "$(beginning) $(others 10 "$1") ANALYZE" >"$work/out"
    before=$(rows_read)
    begin_session
    in_session "$(call "$3" 0)" beside
    end_session
    at_most "$2"
}
grown() { # ROWS CALL: planned and made beside a few, and made again beside 10,000
    sql "$(beginning) ANALYZE" >"$work/out"
    before=$(rows_read)
    begin_session
    in_session "$(call "$2" 0)" few
    sql "$(others 10 "$many")" >"$work/out"
    in_session "$(call "$2" 1)" many
    end_session
    at_most "$1"
}
while read -r name; do
    ok "$name beside 10 reads few rows" beside 9 600 "$name"
    few=$rows
    ok "$name beside 10,000 reads as many" beside "$many" $((few + 60)) "$name"
    ok "$name as well if it was planned beside 10" grown $((2 * few + 60)) "$name"
done <<END
a pair
a pair of a limit
a refused try
a request that joins a line and leaves it
one that is repeated
a wait that is repeated
a release to the next in line
a renewal
a request for two paths
a request for two paths that waits
a conversion
a deadline that has passed
a search for a cycle
a value
what shows a path
a break
a claim that finds nothing
an item
an item that is kept
a sweep
END

finish
