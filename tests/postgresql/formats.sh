#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK OPENS_AS CLIENTS
#
# A store of another format is left alone, and said to be so; one of an earlier format is brought up to
# date where nothing is in use, by a made-up next format. Prints TAP.
. "${0%/*}/harness.sh"

opens_as=${2:?} clients=${3:?}
PGOPTIONS='-c client_min_messages=warning'
export PGOPTIONS
kind=postgresql administrator=postgres
meta=lockkeeper.meta items=lockkeeper.items roots=lockkeeper.roots
refused='is of format 2, and this program knows format 1'
live="SELECT count(*) FROM $requests WHERE deadline_us > extract(epoch FROM clock_timestamp()) * 1000000"

store() { # USER DATABASE
    echo "postgresql://$1@/$2?host=$LK_TEST_SERVER"
}

client() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atq shop
}

whole() { # DATABASE
    pg_dump -h "$LK_TEST_SERVER" -U postgres "$1" | grep -v '^.\(un\)\?restrict '
}

shape() { # DATABASE
    sql "SELECT table_name, ordinal_position, column_name, data_type, column_default, is_nullable
         FROM information_schema.columns WHERE table_schema = 'lockkeeper' ORDER BY 1, 2;
         SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) FROM pg_proc AS p
         WHERE p.pronamespace = 'lockkeeper'::regnamespace ORDER BY 1;
         SELECT indexdef FROM pg_indexes WHERE schemaname = 'lockkeeper' ORDER BY 1;
         SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
         WHERE connamespace = 'lockkeeper'::regnamespace ORDER BY 1" "$1"
}

take_in_transaction() {
    echo "BEGIN; SELECT 'taken' FROM lockkeeper.acquire('db/t9', owner => 'sql');"
}

lets_in() { # USER DATABASE
    sql "GRANT USAGE ON SCHEMA lockkeeper TO $1;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper TO $1" "$2"
}

sql 'CREATE ROLE clerk LOGIN'
. "${0%/*}/../procedures/formats.sh"

# ---- a call that has begun, and has tables in use ----

sql 'CREATE DATABASE begun'
url=$(store postgres begun)
client() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atq begun
}
"$lk" -S "$url" limits >"$work/out"
keep_root other
"$lk" -S "$url" acquire --wait 60s --owner stuck other/x other/y >"$work/stuck" 2>&1 9>&- &
stuck=$!
soon grep -qs AWAY "$work/stuck"
ok 'a call that has begun keeps the store as it is' as_next 79 '*transactions of this database*' "$url"
ok 'of format 1' is "SELECT format FROM $meta" 1 begun
let_go
wait "$stuck"
ok 'and is answered' [ $? -eq 0 ]
ok 'by what can be given back' says 0 '*' -S "$url" release --owner stuck other/x other/y

# ---- by a DBA ----

sql 'CREATE DATABASE office'
url=$(store clerk office)
run_file "$work/schema.sql" office
lets_in clerk office
awk '/^ *found := 2/ { print "CREATE TABLE lockkeeper.more (number integer);" } { print }' \
    "$work/next.sql" >"$work/more.sql"
sql "CREATE VIEW mine AS SELECT * FROM lockkeeper.acquire('mine', owner => 'ann');
     CREATE VIEW taken AS SELECT * FROM lockkeeper.claim('mails')" office
ok 'a DBA runs the text of the next program' run_file "$work/more.sql" office
ok 'who may use the store may use the tables that it has more' \
    is 'SET ROLE clerk; SELECT count(*) FROM lockkeeper.more' 0 office
ok 'views of the functions for people are kept' is 'SELECT outcome FROM mine' granted office
ok 'and these can be used' \
    is "SET ROLE clerk; SELECT count(*) FROM lockkeeper.acquire('db/t1', owner => 'sql')" 1 office
ok 'which give back what they have taken' \
    is "SET ROLE clerk; SELECT count(*) FROM lockkeeper.release('db/t1', owner => 'sql')" 1 office

# ---- a table of that name that is another's ----

ok 'a store without its row is refused' is "DELETE FROM lockkeeper.meta" '' office
ok 'as one that has no format' fails 79 '*UNSUPPORTED*no format of Lockkeeper*' "$url"

# ---- procedures that are replaced under a program that waits ----

url=$(store postgres again)
sql 'CREATE DATABASE again'
"$lk" -S "$url" acquire --owner holder --ttl 1h w >"$work/out"
"$lk" -S "$url" acquire --wait 60s --owner waiter --ttl 1h w >"$work/waited" 2>&1 &
waiter=$!
asks() { # TIMES: each moves the deadline of what waits
    asked=''
    while [ "$(echo "$asked" | tr ' ' '\n' | sort -u | wc -l)" -le "$1" ]; do
        asked="$asked $(sql "SELECT deadline_us FROM lockkeeper.requests WHERE owner = 'waiter'" again)"
        kill -0 "$waiter" 2>/dev/null || return 1
        sleep 0.1
    done
}
ok 'a waiter asks again and again' asks 4
sql "DO \$\$ DECLARE text text := pg_get_functiondef('lockkeeper.lk_ask'::regproc); BEGIN
    DROP PROCEDURE lockkeeper.lk_ask;
    EXECUTE replace(text, 'INOUT look_us bigint', 'INOUT look_us bigint DEFAULT NULL, INOUT more text');
    END \$\$" again
"$lk" -S "$url" release --owner holder w >"$work/out"
wait "$waiter"
ok 'a procedure that was replaced with another answer is met by a new connection' [ $? -eq 0 ]
finish
