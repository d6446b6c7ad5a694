#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh robustness.sh LK
#
# A store under difficult conditions: clients stopped in mid-call, the caller's own transaction, new
# names, a hundred thousand expired requests, a hot standby, a server that is lost. Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/servers.sh"

crowd=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    for client in $crowd; do
        kill -KILL "$client" 2>/dev/null
    done
    stop_standby
    rm -rf "$work"
}
trap stop EXIT
LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE
make_store

# ---- clients that are stopped ----

# Some that ask and release for ever, in one root; each is stopped wherever it is.
i=0
while [ "$i" -lt 4 ]; do
    i=$((i + 1))
    "$lk" bench --seconds 600 >/dev/null 2>&1 &
    crowd="$crowd $!"
done
comes_to "SELECT count(*) >= 4 FROM pg_stat_activity WHERE application_name = 'lockkeeper'" t
round=0 stuck=0
while [ "$round" -lt 5 ]; do
    round=$((round + 1))
    for client in $crowd; do
        kill -STOP "$client"
    done
    # What the server was at for them ends without them.
    comes_to "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'" 0 || stuck=1
    comes_to "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'" 0 || stuck=1
    for root in $(sql 'SELECT r.root FROM lockkeeper.roots AS r'); do
        says 0 '*' acquire --try --owner "me-$round" "$root/beside/$round" || stuck=1
    done
    for client in $crowd; do
        kill -CONT "$client"
    done
done
ok 'clients stopped in mid-call delay no other client' [ "$stuck" -eq 0 ]
for client in $crowd; do
    kill -KILL "$client" 2>/dev/null
done
crowd=''

# ---- a caller's own transaction ----

sql "CREATE TABLE mine (id integer)"
refused() {
    sql "BEGIN; INSERT INTO mine VALUES (1); CALL lockkeeper.$1; COMMIT" >"$work/out"
    grep -q 'invalid transaction termination' "$work/err"
}
ok 'an ask inside a transaction is refused' refused \
    "lk_ask('me', '{t/1}', '{0}', '{0}', 't/1', '{t}', 'try', 60000, 0, NULL, 0, false, '{t/1,t}')"
ok 'so is a release' refused "lk_release('me', '{}', 't/1', '{t}', 0, '{}', NULL)"
ok 'so is a push' refused "lk_push_item('t/q', '1', 't', NULL, 0, '{}', '{}', '{}', '{}', 0, 0, 0)"
ok 'so is a claim' refused "lk_take('t/q', '{t/q,t}', 't', 'me', 60000, 0, 0, '')"
ok 'and nothing is done' is "SELECT (SELECT count(*) FROM mine) + (SELECT count(*)
    FROM lockkeeper.requests WHERE root = 't')" 0
mkfifo "$work/session"
psql -h "$LK_TEST_SERVER" -U postgres -Atq postgres <"$work/session" >"$work/session-out" 2>&1 &
session=$!
exec 9>"$work/session"
echo 'BEGIN; INSERT INTO mine VALUES (2);' >&9
comes_to "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'" 1
"$lk" acquire --try --owner me t/1 >"$work/out" 2>"$work/err"
ok 'a transaction of ones own is left alone by the program' is \
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'" 1
echo 'COMMIT;' >&9
exec 9>&-
wait "$session"
ok 'and ends as its owner says' is 'SELECT id FROM mine' 2

# ---- names that are new ----

comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0
sql "ALTER SYSTEM SET track_functions = 'all'"
sql 'SELECT pg_reload_conf()' >"$work/out"
comes_to 'SHOW track_functions' all
are_short() { # no call has reached ask(), which decides what is not simple
    "$lk" run --try newly-1 -- true && "$lk" run --limit 9 --try newly-2 -- true &&
        comes_to "SELECT calls >= 2 FROM pg_stat_user_functions
                  WHERE schemaname = 'lockkeeper' AND funcname = 'lk_release'" t &&
        is "SELECT count(*) FROM pg_stat_user_functions
            WHERE schemaname = 'lockkeeper' AND funcname = 'ask'" 0
}
ok 'are asked for by the short way, as all others are' are_short
line_is_short() { # nor release(), which settles what is not simple
    "$lk" acquire --try --owner one line/1 >"$work/token" &&
        says 75 '*one*' acquire --queue --owner two line/1 &&
        says 75 '*one*1 more*' acquire --queue --owner three line/1 &&
        says 0 '*' release --token "$(cat "$work/token")" --owner one line/1 &&
        says 0 '*' release --owner two line/1 &&
        says 0 '*' acquire --try --owner three line/1 || return 1
    comes_to "SELECT sum(calls) FROM pg_stat_user_functions
              WHERE schemaname = 'lockkeeper' AND funcname IN ('join_line', 'pass_on')" 4 &&
        is "SELECT string_agg(funcname || ' ' || calls, ' ') FROM pg_stat_user_functions
            WHERE schemaname = 'lockkeeper' AND funcname IN ('ask', 'release')" 'ask 1'
}
ok 'a line is joined and passed on by the short ways, too' line_is_short
renewal_is_short() {
    says 0 '*' acquire --try --owner one newly-3 && says 0 '*' renew --owner one --ttl 1h newly-3 &&
        says 0 '*' renew --owner one newly-3 && says 78 '*' renew --owner two newly-3 || return 1
    comes_to "SELECT sum(calls) FROM pg_stat_user_functions
              WHERE schemaname = 'lockkeeper' AND funcname = 'renew_alone'" 3 &&
        is "SELECT calls FROM pg_stat_user_functions
            WHERE schemaname = 'lockkeeper' AND funcname = 'renew_request'" 1
}
ok 'a renewal is one statement, and only one that is lost reaches renew_request()' renewal_is_short
sql 'ALTER SYSTEM RESET track_functions'
sql 'SELECT pg_reload_conf()' >"$work/out"

# ---- a hundred thousand expired requests ----

sql "INSERT INTO lockkeeper.requests (identity, owner, note, held, attended, fixed, ticket, token,
         ttl_ms, deadline_us, wants_value, root, roots)
     SELECT sha256(n::text::bytea), 'dead-' || n, '', true, false, false, n, n, 1000,
            1000000000 + n, false, 'old', '{old}'
     FROM generate_series(1, 100000) AS n;
     INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
     SELECT r.id, 1, 'old/' || r.ticket, true, r.ticket, 0, 0 FROM lockkeeper.requests AS r WHERE r.root = 'old';
     INSERT INTO lockkeeper.roots (root, due_us) VALUES ('old', 1000000000);
     ANALYZE"
read_so_far() { # of the two tables: rows by scans of a whole table, and by indices
    sql "SELECT sum(seq_tup_read) || ' ' || sum(idx_tup_fetch) FROM pg_stat_user_tables
         WHERE schemaname = 'lockkeeper' AND relname IN ('requests', 'parts')"
}
frugal() { # AT_MOST ARGUMENT...: reads no whole table, and no more rows than that
    at_most=$1
    shift
    before=$(read_so_far)
    "$lk" "$@" >"$work/out" 2>"$work/err" || return 1
    comes_to "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'" 0
    after=$(read_so_far)
    echo "$before, then $after" >>"$work/err"
    [ "${before% *}" = "${after% *}" ] && [ $((${after#* } - ${before#* })) -le "$at_most" ]
}
ok 'an ask among them reads a few rows' frugal 40 acquire --try --owner me old/5
ok 'so does a release, which may sweep' frugal 600 release --owner me old/5
ok 'and an ask for all of two paths' frugal 200 acquire --try --owner me old/5 new/5
ok 'and a renewal' frugal 200 renew --owner me old/5 new/5
# What is kept of ends (R3) goes as well, where there is nothing but work.
sql "INSERT INTO lockkeeper.ended (token, identity, ended_us)
     SELECT n, sha256(n::text::bytea), n FROM generate_series(1, 1000) AS n;
     CREATE TABLE jobs (id integer PRIMARY KEY);
     INSERT INTO jobs SELECT generate_series(1, 70)"
ok 'seventy rows are worked on' says 0 '*' work --drain --table jobs -- true
ok 'and workers remove expired requests meanwhile' \
    is 'SELECT count(*) < 1000 FROM lockkeeper.ended WHERE token <= 1000' t

# ---- a listener whose session is ended ----

listeners="SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
says 0 '*' acquire --owner me l/1
"$lk" acquire --owner next --wait 60s l/1 >"$work/next" 2>"$work/next-err" &
waiter=$!
comes_to "SELECT count(*) FROM ($listeners) AS l" 1
first=$(sql "$listeners")
sql "SELECT pg_terminate_backend($first)" >"$work/out"
comes_to "SELECT count(*) FROM ($listeners) AS l WHERE pid <> $first" 1
report $? 'a listener that the server ends listens again'
says 0 '*' release --owner me l/1
wait "$waiter"
code=$?
cp "$work/next-err" "$work/err"
[ "$code" -eq 0 ] && [ ! -s "$work/err" ]
report $? 'and a waiting client is not affected'

# ---- a queue of notifications that fills up ----

# A listener that is stopped keeps in the server's queue what it has not read. This is what servers
# say of a queue that is half full, and do when it is full.
sql "ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO queue_usage_of_before;
     CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS double precision
     LANGUAGE sql AS 'SELECT 0.5::double precision';
     ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO notify_of_before;
     CREATE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS
     'BEGIN RAISE ''too many notifications in the NOTIFY queue''; END'"
says 0 '*' acquire --owner me n/1
"$lk" acquire --owner next --wait 60s n/1 >"$work/next" 2>"$work/next-err" &
waiter=$!
comes_to "SELECT count(*) FROM lockkeeper.requests WHERE owner = 'next' AND NOT held" 1
ok 'a release is done although no waiter can be notified' says 0 '*' release --owner me n/1
wait "$waiter"
code=$?
cp "$work/next-err" "$work/err"
[ "$code" -eq 0 ]
report $? 'and the one that waits finds out by itself'
says 0 '*' limits events=10 && says 0 '*' acquire --owner me n/2
report $? 'what makes an event is done, too'
says 0 '*' limits events=0
sql "DROP FUNCTION pg_catalog.pg_notification_queue_usage(), pg_catalog.pg_notify(text, text);
     ALTER FUNCTION pg_catalog.queue_usage_of_before() RENAME TO pg_notification_queue_usage;
     ALTER FUNCTION pg_catalog.notify_of_before(text, text) RENAME TO pg_notify"

# ---- a replica ----

start_standby
primary=$LK_STORE
LK_STORE="postgresql://postgres@/postgres?host=$work/standby"
ok 'a hot standby is UNAVAILABLE, and says where to go' \
    says 69 '*UNAVAILABLE*primary*target_session_attrs*' acquire --try --owner me r/1
LK_STORE="postgresql://postgres@/postgres?host=$work/standby,$LK_TEST_SERVER&target_session_attrs=read-write"
ok 'of several hosts the one that can be written to is found' \
    says 0 '*' acquire --try --owner me --ttl 1h r/1
# All of the primary's log has come before it goes.
position=$(sql 'SELECT pg_current_wal_lsn()')
comes_to "SELECT pg_last_wal_replay_lsn() >= '$position'" t "$standby"

# ---- a server that goes ----

stop_primary
LK_STORE=$primary
ok 'a server that is gone is UNAVAILABLE' says 69 '*UNAVAILABLE*is the server there*' \
    acquire --try --owner other r/1
promote_standby
LK_STORE="postgresql://postgres@/postgres?host=$LK_TEST_SERVER,$work/standby&target_session_attrs=read-write"
ok 'the standby takes over, and what was held is held' says 75 '*r/1*me*' acquire --try --owner other r/1
ok 'and goes on' says 0 '*' acquire --try --owner other r/2

finish
