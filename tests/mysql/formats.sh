#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK
#
# Stores of an older format (format_1.sql) are migrated to the present one: by any user with the rights, several at
# once, after a client that was killed during a migration, or by a DBA. Newer ones are not changed. Prints TAP.
. "${0%/*}/harness.sh"

fixture=$(dirname "$0")/format_1.sql

old_store() { # DATABASE
    sql "CREATE DATABASE $1"
    run_file "$fixture" "$1"
}

store() { # USER DATABASE
    echo "mysql://$1@/$2?$server"
}

# Tables and their columns, views, procedures and their texts.
shape() { # DATABASE
    sql "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT,
             REPLACE(GENERATION_EXPRESSION, '_ascii', '_utf8mb4'), ORDINAL_POSITION
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '$1' ORDER BY 1, 7;
         SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES
         WHERE ROUTINE_SCHEMA = '$1' ORDER BY 1" "$1"
}

# The calls of programs of format 4.
run_calls() { # DATABASE
    [ "$(sql "CALL lk_push('q', 'three', 'q', NULL, 0, '', '', '', '');
              CALL lk_finish('q', 'one', 'q', 'w', 0, NULL)" "$1" | tr '\n\t' ' |')" = '1 ok|NULL ' ]
}

# ---- by clients that open it, several at once ----

old_store shop
ok 'an old store exists' is 'SELECT format FROM lk_meta' 1 shop
ok 'five at once bring it to the present format, and work' five_ask "$(store root shop)"
ok 'the format is recorded' is 'SELECT format, writable_from FROM lk_meta' '11|1' shop
ok 'held leases are still held' says 0 '*db/t1*alice*' -S "$(store root shop)" ls db
ok 'and keeps others out' says 75 '*alice*' -S "$(store root shop)" acquire --try --owner bob db/t1
ok 'the token is the same' \
    says 0 '*' -S "$(store root shop)" release --owner alice --token 4000000000000001 db/t1
ok 'tokens go on above the old ones' \
    says 0 '*400000000000000[3-9]*' -S "$(store root shop)" acquire --try --owner bob --json db/t2
ok 'items are kept' says 0 '*two*' -S "$(store root shop)" claim --owner w mail
ok 'and the counters' says 0 '*12*' -S "$(store root shop)" stats mail
ok 'bounds can be set' says 0 '*100*' -S "$(store root shop)" limits events=100
"$lk" schema mysql >"$work/schema.sql"
ok 'running the text again changes nothing' run_file "$work/schema.sql" shop
ok 'not even the counters' says 0 '*12*' -S "$(store root shop)" stats mail
ok 'nor a bound' says 0 '*100*' -S "$(store root shop)" limits
sql 'CREATE DATABASE fresh'
"$lk" -S "$(store root fresh)" limits >"$work/out" 2>"$work/err"
shape fresh >"$work/fresh"
shape shop >"$work/shop"
ok 'it is identical to a new store' cmp -s "$work/fresh" "$work/shop"

# ---- from format 2, which has one column less ----

sql 'CREATE DATABASE second'
"$lk" -S "$(store root second)" acquire --try --owner alice db/t1 >"$work/out" 2>"$work/err"
sql 'ALTER TABLE lk_requests DROP COLUMN grace_us; DROP PROCEDURE lk_first_deadline;
     UPDATE lk_meta SET format = 2' second
ok 'a store of format 2 is brought to the present one' \
    says 75 '*alice*' -S "$(store root second)" acquire --try --owner bob db/t1
shape second >"$work/second"
ok 'and it is identical to a new store' cmp -s "$work/fresh" "$work/second"

# ---- from format 4, whose items have no priority ----

sql 'CREATE DATABASE fourth'
"$lk" -S "$(store root fourth)" push q one first >"$work/out" 2>"$work/err"
"$lk" -S "$(store root fourth)" push q two >"$work/out" 2>"$work/err"
sql 'ALTER TABLE lk_items DROP KEY items_by_state, DROP COLUMN place, DROP COLUMN last_error,
         DROP COLUMN last_exit, DROP COLUMN priority,
         ADD KEY items_by_state (queue, state, due_us, arrival);
     ALTER TABLE lk_happenings DROP COLUMN broken_by, DROP COLUMN reason;
     DROP PROCEDURE lk_take_next; UPDATE lk_meta SET format = 4' fourth
ok 'a store of format 4 is brought to the present one' \
    says 0 '*one*first*' -S "$(store root fourth)" claim --owner w q
ok 'its items are of priority 0' is 'SELECT COUNT(*), MIN(priority), MAX(priority) FROM lk_items' '2|0|0' fourth
shape fourth >"$work/fourth"
ok 'and it is identical to a new store' cmp -s "$work/fresh" "$work/fourth"
ok 'programs of format 4 push and finish as before' run_calls fourth
ok 'in the order of the claims' says 0 '*two*' -S "$(store root fourth)" claim --owner w q
"$lk" -S "$(store root fourth)" limits events=100 >"$work/out" 2>"$work/err"
"$lk" -S "$(store root fourth)" "break" q/two --reason 'of old' >"$work/out" 2>"$work/err"
ok 'and the event of a break has its reason' \
    is "SELECT event, parts, reason FROM lk_events WHERE broken_by <> ''" 'broken|q/two|of old' fourth

# ---- from format 5, whose tables are the same ----

sql 'CREATE DATABASE fifth'
"$lk" -S "$(store root fifth)" acquire --try --owner alice db/t1 >"$work/out" 2>"$work/err"
sql 'DROP PROCEDURE lk_hand_on; UPDATE lk_meta SET format = 5' fifth
ok 'a store of format 5 is brought to the present one' \
    says 75 '*alice*' -S "$(store root fifth)" acquire --try --owner bob db/t1
shape fifth >"$work/fifth"
ok 'and it is identical to a new store' cmp -s "$work/fresh" "$work/fifth"

# ---- from format 10, which has no groups of items ----

sql 'CREATE DATABASE tenth'
for id in g1 g2 h1 g3; do
    "$lk" -S "$(store root tenth)" push grouped "$id" --needs "cust/${id%[123]}" >"$work/out" 2>"$work/err"
done
sql 'UPDATE lk_items SET due_us = 0; DROP TABLE lk_groups; DROP PROCEDURE lk_item_comes; UPDATE lk_meta SET format = 10' tenth
ok 'a store of format 10 is brought to the present one, and its items are claimed in their order' \
    says 0 'g1*' -S "$(store root tenth)" claim --owner x grouped
ok 'those that need the same as a group' is \
    "SELECT GROUP_CONCAT(id ORDER BY id SEPARATOR ' ') FROM lk_items WHERE state = 'ready' AND due_us <> 0" g3 tenth
ok 'of which the first leads again when it is given back' \
    says 0 '*' -S "$(store root tenth)" retry --owner x grouped g1
ok 'as the rows say' is \
    "SELECT GROUP_CONCAT(id ORDER BY id SEPARATOR ' ') FROM lk_items WHERE state = 'ready' AND due_us <> 0" 'g2 g3' tenth
ok 'and none has a time at which it is due' is 'SELECT COUNT(*), COUNT(due) FROM lk_work' '4|0' tenth
shape tenth >"$work/tenth"
ok 'and it is identical to a new store' cmp -s "$work/fresh" "$work/tenth"

# ---- after a client that was killed during a migration ----

# The text up to one of its statements.
half_made() { # DATABASE PATTERN
    old_store "$1"
    awk -v pattern="$2" '{ print } $0 ~ pattern { exit }' "$work/schema.sql" >"$work/half.sql"
    run_file "$work/half.sql" "$1"
}

for pattern in '^CREATE TABLE IF NOT EXISTS lk_numbers' '^CALL lk_step' \
    '^DROP PROCEDURE IF EXISTS lk_tell_claim' '^INSERT IGNORE INTO lk_meta'; do
    half_made half "$pattern"
    ok "what ended at $pattern is not done yet" is 'SELECT format FROM lk_meta' 1 half
    ok 'and goes on with the next one' \
        says 0 '*' -S "$(store root half)" acquire --try --owner me x
    shape half >"$work/half"
    ok 'to the same end' cmp -s "$work/fresh" "$work/half"
    sql 'DROP DATABASE half'
done

# ---- by a user with half of the rights ----

old_store till
sql "CREATE USER helper;
     GRANT CREATE, DROP, SELECT, INSERT, UPDATE, DELETE, EXECUTE ON till.* TO helper;
     SET GLOBAL sql_notes = 0"
ok 'without the right to create procedures the message says how to get it' \
    says 77 '*DENIED*format 1*lk schema mysql*' -S "$(store helper till)" ls
sql 'SET GLOBAL sql_notes = 1'
ok 'and has taken back nothing that was there' \
    says 0 '*db/t1*alice*' -S "$(store root till)" ls db

# ---- by a DBA ----

old_store office
sql 'CREATE USER clerk; GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON office.* TO clerk'
ok 'a user without the rights is DENIED, and the message names lk schema' says 77 '*DENIED*format 1*lk schema mysql*' \
    -S "$(store clerk office)" acquire --try --owner me x
ok 'and the store is as it was' is 'SELECT format FROM lk_meta' 1 office
ok 'a DBA runs what lk schema says' run_file "$work/schema.sql" office
ok 'then it works' says 0 '*' -S "$(store clerk office)" acquire --try --owner me x
ok 'with all that is new' says 0 '*100*' -S "$(store clerk office)" limits events=100
ok 'events too' says 0 '*' -S "$(store clerk office)" release --owner me x
ok 'which are there to read' is 'SELECT event, parts, owner FROM lk_events' 'released|x|me' office

# ---- while others work, and others do the same ----

"$lk" -S "$(store root shop)" limits events=0 >"$work/out" 2>"$work/err"
"$lk" -S "$(store root shop)" bench --pattern many --clients 4 --seconds 6 \
    >"$work/bench" 2>"$work/err" &
bench=$!
for i in 1 2 3; do
    mariadb --no-defaults --comments -u root -S "$LK_TEST_SERVER/socket" shop \
        <"$work/schema.sql" >"$work/out-$i" 2>&1 &
    eval "dba_$i=$!"
done
all_well=0
for i in 1 2 3; do
    eval "wait \$dba_$i" || all_well=1
done
cat "$work"/out-[123] >"$work/out"
ok 'three DBAs at once follow each other' [ "$all_well" -eq 0 ]
wait "$bench"
ok 'and running clients are not disturbed' [ $? -eq 0 ]

# ---- newer ones ----

sql 'UPDATE lk_meta SET format = 12, writable_from = 12' office
sql "DROP PROCEDURE lk_ask; CREATE PROCEDURE lk_ask() SELECT 'newer'" office
run_file "$work/schema.sql" office
ok 'a newer store is left alone by an older text' [ $? -ne 0 ]
ok 'which says so' grep -q 'format 12, which is newer' "$work/err"
ok 'and has replaced nothing' is 'CALL lk_ask()' newer office
ok 'and by an older program' says 79 '*UNSUPPORTED*format 12*newer*' -S "$(store clerk office)" ls

finish
