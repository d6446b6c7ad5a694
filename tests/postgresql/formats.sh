#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh formats.sh LK
#
# Stores of an older format (format_1.sql) are brought to the present one: by whoever may, several at
# once, or by a DBA; those of a newer one are left alone. Prints TAP.
set -u
lk=${1:?the program under test}
: "${LK_TEST_SERVER:?is set by with_server.sh}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LK_OWNER LK_TOKEN LK_STORE PGPASSWORD NO_COLOR
PGOPTIONS='-c client_min_messages=warning'
export PGOPTIONS
fixture=$(dirname "$0")/format_1.sql
count=0 failures=0

sql() { # SQL DATABASE
    psql -h "$LK_TEST_SERVER" -U postgres -Atqc "$1" "$2" 2>"$work/sql-err"
}

run_file() { # FILE DATABASE
    psql -h "$LK_TEST_SERVER" -U postgres -v ON_ERROR_STOP=1 -qf "$1" "$2" >"$work/out" 2>"$work/err"
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
    sql "CREATE DATABASE $1" postgres
    run_file "$fixture" "$1"
}

is() { # SQL DATABASE ANSWER
    sql "$1" "$2" >"$work/out" 2>"$work/err"
    [ "$(cat "$work/out")" = "$3" ]
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
    echo "postgresql://$1@/$2?host=$LK_TEST_SERVER"
}

# ---- by whoever opens it, several at once ----

old_store shop
processes=
for i in 1 2 3 4 5; do
    "$lk" -S "$(store postgres shop)" acquire --try --owner "new-$i" "fresh/$i" \
        >"$work/out-$i" 2>"$work/err-$i" &
    processes="$processes $!"
done
all_well=0
for process in $processes; do
    wait "$process" || all_well=1
done
cat "$work"/out-* >"$work/out"
cat "$work"/err-* >"$work/err"
ok 'five at once bring an old store to the present format, and work' [ "$all_well" -eq 0 ]
ok 'the format is written down' is 'SELECT format, writable_from FROM lockkeeper.meta' shop '2|1'
ok 'who held something holds it' says 0 '*db/t1*alice*' "$(store postgres shop)" ls db
ok 'and keeps others out' says 75 '*alice*' "$(store postgres shop)" acquire --try --owner bob db/t1
ok 'his token is what it was' \
    says 0 '*' "$(store postgres shop)" release --owner alice --token 4000000000000001 db/t1
ok 'tokens go on above the old ones' is \
    "SELECT bool_and(token > 4000000000000002) FROM lockkeeper.requests WHERE owner LIKE 'new-%'" \
    shop t
ok 'items are there' says 0 '*two*' "$(store postgres shop)" claim --owner w mail
ok 'and what was counted' says 0 '*12*' "$(store postgres shop)" stats mail
ok 'nothing of the old functions is left' is \
    "SELECT count(*) FROM pg_proc WHERE pronamespace = 'lockkeeper'::regnamespace AND proname = 'old_one'" \
    shop 0
"$lk" schema postgresql >"$work/schema.sql"
ok 'running the text again changes nothing' run_file "$work/schema.sql" shop
ok 'not even what was counted' says 0 '*12*' "$(store postgres shop)" stats mail

# ---- by a DBA ----

old_store office
sql 'CREATE ROLE clerk LOGIN' postgres
sql 'GRANT USAGE ON SCHEMA lockkeeper TO clerk;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper TO clerk' office
ok 'who may not is told who may' says 77 '*DENIED*format 1*lk schema postgresql*' \
    "$(store clerk office)" acquire --try --owner me x
ok 'and the store is as it was' is 'SELECT format FROM lockkeeper.meta' office 1
ok 'a DBA runs what lk schema says' run_file "$work/schema.sql" office
ok 'then it works' says 0 '*' "$(store clerk office)" acquire --try --owner me x
ok 'with all that is new' says 0 '*100*' "$(store clerk office)" limits events=100
ok 'events too' says 0 '*' "$(store clerk office)" release --owner me x
ok 'which are his to read' is "SET ROLE clerk; SELECT count(*) FROM lockkeeper.lk_events" office 1

# ---- newer ones ----

sql 'UPDATE lockkeeper.meta SET format = 9, writable_from = 9' office
run_file "$work/schema.sql" office
ok 'a newer store is left alone by an older text' [ $? -ne 0 ]
ok 'which says so' grep -q 'format 9, which is newer' "$work/err"
ok 'and by an older program' says 79 '*UNSUPPORTED*format 9*newer*' "$(store clerk office)" ls

echo "1..$count"
[ "$failures" -eq 0 ]
