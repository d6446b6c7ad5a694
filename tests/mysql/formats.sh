#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK OPENS_AS CLIENTS
#
# A store of another format is left alone, and said to be so; one of an earlier format is brought up to
# date where nothing is in use, by a made-up next format, also after an installer that was killed. Prints
# TAP.
. "${0%/*}/harness.sh"

opens_as=${2:?} clients=${3:?}
kind=mysql administrator=root
meta=lk_meta items=lk_items roots=lk_roots
refused='is of format 2, and this program knows format 1\|is being brought to a newer format'
live="SELECT COUNT(DISTINCT id) FROM lk_requests WHERE deadline_us > UNIX_TIMESTAMP(NOW(6)) * 1000000"

store() { # USER DATABASE
    echo "mysql://$1@/$2?$server"
}

client() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -n -N -B shop
}

whole() { # DATABASE
    mariadb-dump --no-defaults -u root -S "$LK_TEST_SERVER/socket" --single-transaction --routines --skip-dump-date "$1"
}

shape() { # DATABASE
    sql "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT,
             REPLACE(GENERATION_EXPRESSION, '_ascii', '_utf8mb4'), ORDINAL_POSITION
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '$1' ORDER BY 1, 7;
         SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS
         WHERE CONSTRAINT_SCHEMA = '$1' ORDER BY 1, 2;
         SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES
         WHERE ROUTINE_SCHEMA = '$1' ORDER BY 1" "$1"
}

lets_in() { # USER DATABASE
    sql "GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON $2.* TO $1"
}

take_in_transaction() {
    echo "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
        CALL lk_lock_acquire('db/t9', 'sql', '{}'); SELECT 'taken';"
}

sql 'CREATE USER clerk'
. "${0%/*}/../procedures/formats.sh"

# ---- a call that has begun, and has no table of the steps in use ----

sql 'CREATE DATABASE begun'
url=$(store root begun)
client() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -n -N -B begun
}
"$lk" -S "$url" push other one >"$work/out"
keep_root other
"$lk" -S "$url" acquire --wait 60s --owner stuck other/x other/y >"$work/stuck" 2>&1 9>&- &
stuck=$!
soon grep -qs AWAY "$work/stuck"
ok 'a call that waits for its root does not keep the store as it is' as_next 0 '' "$url"
let_go
wait "$stuck"
ok 'and is refused' [ $? -eq 79 ]
ok 'as one of an earlier format' grep -q "UNSUPPORTED.*\($refused\)" "$work/stuck"
ok 'nothing is held' is "$live" 0 begun

# ---- after an installer that was killed ----

# The text up to one of its statements.
half_made() { # DATABASE PATTERN
    sql "CREATE DATABASE $1"
    run_file "$work/schema.sql" "$1"
    "$lk" -S "$(store root "$1")" push mail one >"$work/out"
    awk -v pattern="$2" '{ print } $0 ~ pattern { exit }' "$work/next.sql" >"$work/half.sql"
    run_file "$work/half.sql" "$1"
}

closed='*UNSUPPORTED*is being brought to a newer format*'
refused_text() { # DATABASE
    ! run_file "$work/schema.sql" "$1" && grep -q 'is being brought to a newer format' "$work/err"
}
for pattern in '^CREATE TABLE IF NOT EXISTS lk_numbers' '^CALL lk_step' \
    '^DROP PROCEDURE IF EXISTS lk_tell_claim'; do
    half_made half "$pattern"
    ok "what ended at $pattern is not done yet" is 'SELECT format FROM lk_meta' 1 half
    ok 'an earlier program is told so' fails 79 "$closed" "$(store root half)"
    ok 'so is its text' refused_text half
    ok 'and nothing lives' is "$live" 0 half
    ok 'the next program goes on' as_next 0 '' "$(store root half)"
    shape half >"$work/half"
    ok 'to the same end' cmp "$work/fresh" "$work/half"
    sql 'DROP DATABASE half'
done

# ---- by a user with half of the rights ----

sql "CREATE DATABASE till; CREATE USER helper;
     GRANT CREATE, DROP, SELECT, INSERT, UPDATE, DELETE, EXECUTE ON till.* TO helper;
     SET GLOBAL sql_notes = 0"
"$lk" -S "$(store root till)" push mail one >"$work/out"
ok 'without the right to create procedures the message says how to get it' \
    as_next 77 'denied: *format 1*lk schema mysql*' "$(store helper till)"
sql 'SET GLOBAL sql_notes = 1'
ok 'and has taken back nothing that was there' says 0 '*one*' -S "$(store root till)" claim --owner w mail

# ---- the text of the same format, while others work, and others do the same ----

sql 'CREATE DATABASE plain'
"$lk" -S "$(store root plain)" limits >"$work/out"
"$lk" -S "$(store root plain)" bench --pattern many --clients 4 --seconds 6 \
    >"$work/bench" 2>"$work/err" &
bench=$!
for i in 1 2 3; do
    mariadb --no-defaults --comments -u root -S "$LK_TEST_SERVER/socket" plain \
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

# ---- a table of that name that is another's ----

sql 'CREATE DATABASE office; CREATE TABLE office.lk_meta (colour TEXT)'
ok 'a table of that name without a format is refused' \
    fails 79 '*UNSUPPORTED*no format of Lockkeeper*' "$(store root office)"
ok 'and nothing is added to it' [ "$(sql 'SHOW TABLES' office)" = lk_meta ]
finish
