#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK
#
# Stores of an older format (format_1.sql) are migrated to the present one: by any user with the rights, several at
# once, or by a DBA; those of a newer one are left alone. Prints TAP.
. "${0%/*}/harness.sh"

PGOPTIONS='-c client_min_messages=warning'
export PGOPTIONS
fixture=$(dirname "$0")/format_1.sql

old_store() { # DATABASE
    sql "CREATE DATABASE $1"
    run_file "$fixture" "$1"
}

store() { # USER DATABASE
    echo "postgresql://$1@/$2?host=$LK_TEST_SERVER"
}

# ---- by clients that open it, several at once ----

old_store shop
ok 'five at once bring an old store to the present format, and work' \
    five_ask "$(store postgres shop)"
ok 'the format is recorded' is 'SELECT format, writable_from FROM lockkeeper.meta' '10|1' shop
ok 'held leases are still held' says 0 '*db/t1*alice*' -S "$(store postgres shop)" ls db
ok 'and keeps others out' says 75 '*alice*' -S "$(store postgres shop)" acquire --try --owner bob db/t1
ok 'the token is the same' \
    says 0 '*' -S "$(store postgres shop)" release --owner alice --token 4000000000000001 db/t1
ok 'tokens go on above the old ones' is \
    "SELECT bool_and(token > 4000000000000002) FROM lockkeeper.requests WHERE owner LIKE 'new-%'" \
    t shop
ok 'items are kept' says 0 '*two*' -S "$(store postgres shop)" claim --owner w mail
ok 'and the counters' says 0 '*12*' -S "$(store postgres shop)" stats mail
ok 'nothing of the old functions is left' is \
    "SELECT count(*) FROM pg_proc WHERE pronamespace = 'lockkeeper'::regnamespace AND proname = 'old_one'" \
    0 shop
"$lk" schema postgresql >"$work/schema.sql"
ok 'running the text again changes nothing' run_file "$work/schema.sql" shop
ok 'not even the counters' says 0 '*12*' -S "$(store postgres shop)" stats mail

# ---- from formats 2 and 3, whose tables are the same, and 4 ----

# What format 10 has added, and format 6.
without_groups="
     DROP FUNCTION lockkeeper.place_item CASCADE;
     ALTER TABLE lockkeeper.items DROP COLUMN need_group, DROP COLUMN follows;
     ALTER TABLE lockkeeper.roots DROP COLUMN awaited_by"
without_priorities="$without_groups;
     DROP VIEW lockkeeper.lk_items;
     DROP INDEX lockkeeper.items_parked;
     ALTER TABLE lockkeeper.items DROP COLUMN priority, DROP COLUMN last_exit, DROP COLUMN last_error;
     DROP VIEW lockkeeper.lk_events;
     ALTER TABLE lockkeeper.events DROP COLUMN broken_by, DROP COLUMN reason;
     CREATE INDEX items_ready ON lockkeeper.items (queue, sequence) WHERE state = 'ready'"
breaks_are_told() { # DATABASE: in events as they are in a store of the present format
    "$lk" -S "$(store postgres "$1")" limits events=100 >"$work/out" 2>"$work/err"
    says 0 'revoked 1: held until *' -S "$(store postgres "$1")" "break" db/t2 --owner carol --reason 'of old' &&
        is "SELECT event, owner, reason FROM lockkeeper.lk_events WHERE broken_by <> ''" \
            'broken|carol|of old' "$1"
}

# A lease that a restart is yet to give time, of a server that is not this one.
older() { # FORMAT
    sql "UPDATE lockkeeper.meta SET format = $1; $without_priorities;
         DROP TABLE lockkeeper.awake;
         DROP INDEX lockkeeper.requests_waiting_by_owner;
         ALTER TABLE lockkeeper.requests DROP COLUMN grace_us;
         ALTER TABLE lockkeeper.parts DROP COLUMN held, DROP COLUMN ticket;
         CREATE INDEX parts_by_path ON lockkeeper.parts (path);
         ALTER TABLE lockkeeper.meta ADD COLUMN server_start timestamptz NOT NULL DEFAULT '2020-01-01';
         CREATE FUNCTION lockkeeper.of_older() RETURNS integer LANGUAGE sql AS 'SELECT 2'" shop
}
without_its_functions() {
    is "SELECT count(*) FROM pg_proc WHERE pronamespace = 'lockkeeper'::regnamespace AND proname = 'of_older'" \
        0 shop
}
older 2
ok 'a store of format 2 opens' says 0 '*' -S "$(store postgres shop)" \
    acquire --try --owner carol --ttl 60s db/t2
ok 'and has the present one' is 'SELECT format FROM lockkeeper.meta' '10' shop
ok 'without the functions that it had' without_its_functions
older 3
ok 'a store of format 3 opens' says 75 '*carol*' -S "$(store postgres shop)" acquire --try --owner bob db/t2
ok 'and has the present one, too' is 'SELECT format FROM lockkeeper.meta' '10' shop
ok 'without its functions' without_its_functions
ok 'a server that it does not know is a restart: what lives is given time' \
    is "SELECT r.deadline_us = r.grace_us FROM lockkeeper.requests AS r WHERE r.owner = 'carol'" t shop

sql "UPDATE lockkeeper.meta SET format = 4; $without_priorities;
     ALTER TABLE lockkeeper.parts DROP COLUMN held, DROP COLUMN ticket;
     CREATE INDEX parts_by_path ON lockkeeper.parts (path)" shop
ok 'a store of format 4 opens' says 75 '*carol*' -S "$(store postgres shop)" acquire --queue --owner bob db/t2
ok 'and has the present one, as they have' is 'SELECT format FROM lockkeeper.meta' '10' shop
ok 'its parts say what is held' is \
    "SELECT string_agg(r.owner || ' ' || p.held, ', ' ORDER BY p.ticket) FROM lockkeeper.parts AS p
     JOIN lockkeeper.requests AS r ON r.id = p.request AND r.held = p.held AND r.ticket = p.ticket
     WHERE p.path = 'db/t2'" 'carol true, bob false' shop

"$lk" -S "$(store postgres shop)" push mail five >"$work/out"
sql "UPDATE lockkeeper.meta SET format = 5; $without_priorities" shop
ok 'items of a store of format 5 are claimed' says 0 'five*' -S "$(store postgres shop)" claim --owner x mail
ok 'and have no priority' is 'SELECT DISTINCT priority FROM lockkeeper.items' '0' shop
ok 'as the format says' is 'SELECT format FROM lockkeeper.meta' '10' shop
ok 'the event of a break has its reason' breaks_are_told shop

# Formats 7, 8 and 9 have other functions on the same tables as 6.
sql "UPDATE lockkeeper.meta SET format = 6; $without_groups;
     CREATE INDEX items_ready ON lockkeeper.items (queue, priority DESC, sequence) WHERE state = 'ready';
     CREATE FUNCTION lockkeeper.of_older() RETURNS integer LANGUAGE sql AS 'SELECT 6'" shop
ok 'a store of format 6 opens' says 0 '*five*' -S "$(store postgres shop)" items mail
ok 'and a call brings it to the present one' says 0 '*' -S "$(store postgres shop)" push mail six
ok 'as it says' is 'SELECT format FROM lockkeeper.meta' '10' shop
ok 'without the functions that were there' without_its_functions

# ---- groups of items that need the same ----

for id in g1 g2 h1; do
    "$lk" -S "$(store postgres shop)" push grouped "$id" --needs "cust/${id%[12]}" >"$work/out"
done
sql "UPDATE lockkeeper.meta SET format = 9; $without_groups;
     CREATE INDEX items_ready ON lockkeeper.items (queue, priority DESC, sequence) WHERE state = 'ready'" shop
ok 'a store of format 9 opens, and its items are claimed in their order' \
    says 0 'g1*' -S "$(store postgres shop)" claim --owner x grouped
ok 'those that need the same as a group' is \
    "SELECT string_agg(i.id || ' ' || i.follows, ', ' ORDER BY i.id) FROM lockkeeper.items AS i
     WHERE i.queue = 'grouped' AND i.state = 'ready'" 'g2 false, h1 false' shop
ok 'of which the next one is behind it again when it is given back' \
    says 0 '*' -S "$(store postgres shop)" retry --owner x grouped g1
ok 'as the rows say' is \
    "SELECT string_agg(i.id || ' ' || i.follows, ', ' ORDER BY i.id) FROM lockkeeper.items AS i
     WHERE i.queue = 'grouped'" 'g1 false, g2 true, h1 false' shop

# ---- under a program that waits ----

"$lk" -S "$(store postgres shop)" acquire --owner holder --ttl 1h w >"$work/out"
"$lk" -S "$(store postgres shop)" acquire --wait 60s --owner waiter --ttl 1h w >"$work/waited" 2>&1 &
waiter=$!
asks() { # TIMES: each moves the deadline of what waits
    asked=''
    while [ "$(echo "$asked" | tr ' ' '\n' | sort -u | wc -l)" -le "$1" ]; do
        asked="$asked $(sql "SELECT deadline_us FROM lockkeeper.requests WHERE owner = 'waiter'" shop)"
        kill -0 "$waiter" 2>/dev/null || return 1
        sleep 0.1
    done
}
ok 'a waiter asks again and again' asks 4
sql "DO \$\$ DECLARE text text := pg_get_functiondef('lockkeeper.lk_ask'::regproc); BEGIN
    DROP PROCEDURE lockkeeper.lk_ask;
    EXECUTE replace(text, 'INOUT look_us bigint', 'INOUT look_us bigint DEFAULT NULL, INOUT more text');
    END \$\$" shop
"$lk" -S "$(store postgres shop)" release --owner holder w >"$work/out"
wait "$waiter"
ok 'a procedure that was replaced with another answer is met by a new connection' [ $? -eq 0 ]

# ---- by a DBA ----

old_store office
sql 'CREATE ROLE clerk LOGIN'
sql 'GRANT USAGE ON SCHEMA lockkeeper TO clerk;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper TO clerk' office
ok 'a user without the rights is DENIED, and the message names lk schema' says 77 '*DENIED*format 1*lk schema postgresql*' \
    -S "$(store clerk office)" acquire --try --owner me x
ok 'and the store is as it was' is 'SELECT format FROM lockkeeper.meta' 1 office
ok 'a DBA runs what lk schema says' run_file "$work/schema.sql" office
ok 'then it works' says 0 '*' -S "$(store clerk office)" acquire --try --owner me x
ok 'with all that is new' says 0 '*100*' -S "$(store clerk office)" limits events=100
ok 'events too' says 0 '*' -S "$(store clerk office)" release --owner me x
ok 'which it may read' is "SET ROLE clerk; SELECT count(*) FROM lockkeeper.lk_events" 1 office

# ---- newer ones ----

sql 'UPDATE lockkeeper.meta SET format = 11, writable_from = 11' office
run_file "$work/schema.sql" office
ok 'a newer store is left alone by an older text' [ $? -ne 0 ]
ok 'which says so' grep -q 'format 11, which is newer' "$work/err"
ok 'and by an older program' says 79 '*UNSUPPORTED*format 11*newer*' -S "$(store clerk office)" ls

finish
