#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK
#
# Stores of an older format (format_1.sql) are brought to the present one: by whoever may, several at
# once, by the next one after somebody who was killed in the middle, or by a DBA; those of a newer one
# are left alone. Prints TAP.
set -u
lk=${1:?the program under test}
: "${LK_TEST_SERVER:?is set by with_server.sh}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LK_OWNER LK_TOKEN LK_STORE MYSQL_PWD NO_COLOR
HOME=$work
export HOME
fixture=$(dirname "$0")/format_1.sql
count=0 failures=0

sql() { # SQL DATABASE
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -e "$1" "$2" 2>"$work/sql-err"
}

run_file() { # FILE DATABASE
    mariadb --no-defaults --comments -u root -S "$LK_TEST_SERVER/socket" "$2" <"$1" \
        >"$work/out" 2>"$work/err"
}

ok() { # TITLE CONDITION...
    count=$((count + 1))
    title=$1
    shift
    if "$@"; then
        echo "ok $count - $title"
    else
        echo "not ok $count - $title"
        sed 's/^/# out: /' "$work/out"
        sed 's/^/# err: /' "$work/err"
        failures=$((failures + 1))
    fi
}

old_store() { # DATABASE
    sql "CREATE DATABASE $1" test
    run_file "$fixture" "$1"
}

is() { # SQL DATABASE ANSWER
    sql "$1" "$2" >"$work/out" 2>"$work/err"
    [ "$(tr '\t' '|' <"$work/out")" = "$3" ]
}

says() { # CODE PATTERN STORE ARGUMENT...
    code=$1 pattern=$2
    LK_STORE=$3
    shift 3
    LK_STORE=$LK_STORE "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] || return 1
    # shellcheck disable=SC2254 # a pattern
    case $(cat "$work/out" "$work/err") in
    $pattern) return 0 ;;
    esac
    return 1
}

store() { # USER DATABASE
    echo "mysql://$1@/$2?socket=$LK_TEST_SERVER/socket"
}

# Tables and their columns, views, procedures and their texts.
shape() { # DATABASE
    sql "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT,
             GENERATION_EXPRESSION, ORDINAL_POSITION
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '$1' ORDER BY 1, 7;
         SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES
         WHERE ROUTINE_SCHEMA = '$1' ORDER BY 1" "$1"
}

# ---- by whoever opens it, several at once ----

old_store shop
ok 'there is an old store' is 'SELECT format FROM lk_meta' shop 1
processes=
for i in 1 2 3 4 5; do
    "$lk" -S "$(store root shop)" acquire --try --owner "new-$i" "fresh/$i" \
        >"$work/out-$i" 2>"$work/err-$i" &
    processes="$processes $!"
done
all_well=0
for process in $processes; do
    wait "$process" || all_well=1
done
cat "$work"/out-* >"$work/out"
cat "$work"/err-* >"$work/err"
ok 'five at once bring it to the present format, and work' [ "$all_well" -eq 0 ]
ok 'the format is written down' is 'SELECT format, writable_from FROM lk_meta' shop '2|1'
ok 'who held something holds it' says 0 '*db/t1*alice*' "$(store root shop)" ls db
ok 'and keeps others out' says 75 '*alice*' "$(store root shop)" acquire --try --owner bob db/t1
ok 'his token is what it was' \
    says 0 '*' "$(store root shop)" release --owner alice --token 4000000000000001 db/t1
ok 'tokens go on above the old ones' \
    says 0 '*400000000000000[3-9]*' "$(store root shop)" acquire --try --owner bob --json db/t2
ok 'items are there' says 0 '*two*' "$(store root shop)" claim --owner w mail
ok 'and what was counted' says 0 '*12*' "$(store root shop)" stats mail
ok 'bounds can be set' says 0 '*100*' "$(store root shop)" limits events=100
"$lk" schema mysql >"$work/schema.sql"
ok 'running the text again changes nothing' run_file "$work/schema.sql" shop
ok 'not even what was counted' says 0 '*12*' "$(store root shop)" stats mail
ok 'nor a bound' says 0 '*100*' "$(store root shop)" limits
sql 'CREATE DATABASE fresh' test
"$lk" -S "$(store root fresh)" ls >"$work/out" 2>"$work/err"
shape fresh >"$work/fresh"
shape shop >"$work/shop"
ok 'nothing tells it from a new one' cmp -s "$work/fresh" "$work/shop"

# ---- after somebody who was killed in the middle ----

# The text up to one of its statements.
half_made() { # DATABASE PATTERN
    old_store "$1"
    awk -v pattern="$2" '{ print } $0 ~ pattern { exit }' "$work/schema.sql" >"$work/half.sql"
    run_file "$work/half.sql" "$1"
}

for pattern in '^CREATE TABLE IF NOT EXISTS lk_numbers' '^CALL lk_step' \
    '^DROP PROCEDURE IF EXISTS lk_tell_claim' '^INSERT IGNORE INTO lk_meta'; do
    half_made half "$pattern"
    ok "what ended at $pattern is not done yet" is 'SELECT format FROM lk_meta' half 1
    ok 'and goes on with the next one' \
        says 0 '*' "$(store root half)" acquire --try --owner me x
    shape half >"$work/half"
    ok 'to the same end' cmp -s "$work/fresh" "$work/half"
    sql 'DROP DATABASE half' test
done

# ---- by a DBA ----

old_store office
sql 'CREATE USER clerk; GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON office.* TO clerk' test
ok 'who may not is told who may' says 77 '*DENIED*format 1*lk schema mysql*' \
    "$(store clerk office)" acquire --try --owner me x
ok 'and the store is as it was' is 'SELECT format FROM lk_meta' office 1
ok 'a DBA runs what lk schema says' run_file "$work/schema.sql" office
ok 'then it works' says 0 '*' "$(store clerk office)" acquire --try --owner me x
ok 'with all that is new' says 0 '*100*' "$(store clerk office)" limits events=100
ok 'events too' says 0 '*' "$(store clerk office)" release --owner me x
ok 'which are there to read' is 'SELECT event, parts, owner FROM lk_events' office 'released|x|me'

# ---- newer ones ----

sql 'UPDATE lk_meta SET format = 9, writable_from = 9' office
sql "DROP PROCEDURE lk_ask; CREATE PROCEDURE lk_ask() SELECT 'newer'" office
run_file "$work/schema.sql" office
ok 'a newer store is left alone by an older text' [ $? -ne 0 ]
ok 'which says so' grep -q 'format 9, which is newer' "$work/err"
ok 'and has replaced nothing' is 'CALL lk_ask()' office newer
ok 'and by an older program' says 79 '*UNSUPPORTED*format 9*newer*' "$(store clerk office)" ls

echo "1..$count"
[ "$failures" -eq 0 ]
