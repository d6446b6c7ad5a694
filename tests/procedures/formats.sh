# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The cases of formats.sh of each server, on the database shop, which is made here. What a format is, and
# what an upgrade promises: docs/operations.md, "Formats". The next format is made up (next_format.py).
#
# The server's script sets $opens_as and $clients, its 2nd and 3rd argument, and defines
#
#   store USER DATABASE     prints a URL
#   whole DATABASE          prints all that there is of the store, to be compared
#   shape DATABASE          prints tables and their columns, functions or procedures, and constraints
#   $kind                   of `lk schema`
#   $administrator          a user
#   $meta $items $roots     tables
#   $live                   SQL that counts the requests that live
#   lets_in USER DATABASE   grants what using the store needs
#   $refused                a pattern: what programs of format 1 are told, during an upgrade and after it
#   take_in_transaction     prints SQL: a lease in a transaction, which answers `taken`
#
# and has a client (harness.sh) whose database is shop.
ok_unchanged() { # TITLE
    whole shop >"$work/whole-after"
    ok "$1: nothing has changed" cmp -s "$work/whole" "$work/whole-after"
}

as_next() { # CODE PATTERN ARGUMENT...: a program of the next format opens it
    code=$1 pattern=$2
    shift 2
    "$opens_as" 2 "$work/next.sql" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] || return 1
    # shellcheck disable=SC2254 # a pattern
    case $(cat "$work/err") in
    $pattern) [ "$(wc -l <"$work/err")" -le 1 ] ;;
    *) return 1 ;;
    esac
}

in_transaction() { # until let_go: it has a lease
    mkfifo "$work/statements" || exit 1
    rm -f "$work/kept"
    client <"$work/statements" >"$work/kept" 2>&1 &
    holder=$!
    exec 9>"$work/statements"
    take_in_transaction >&9
    soon grep -qs taken "$work/kept"
}

refuses_text() { # PATTERN TEXT: a DBA is told so
    run_file "$2" shop && return 1
    grep -q "$1" "$work/err"
}

url=$(store "$administrator" shop)
"$lk" schema "$kind" >"$work/schema.sql"
"${0%/*}/../procedures/next_format.py" "$kind" <"$work/schema.sql" >"$work/next.sql" || exit 1
sql 'CREATE DATABASE shop'
sql 'CREATE DATABASE fresh'

# ---- another format ----

"$lk" -S "$url" limits events=100 >"$work/out"
"$lk" -S "$url" push mail one first >"$work/out"
"$lk" -S "$url" put db/v value >"$work/out" 2>&1
ok 'a new store is of format 1' is "SELECT format FROM $meta" 1 shop
ok 'its text can be run again' run_file "$work/schema.sql" shop
for format in 0 -1 2 99; do
    sql "UPDATE $meta SET format = $format" shop
    whole shop >"$work/whole"
    case $format in
    0 | -1) pattern='*UNSUPPORTED*no format of*' ;;
    *) pattern="*UNSUPPORTED*is of format $format, and this program knows format 1; use the newer program*" ;;
    esac
    ok "an ask of a store of format $format is refused" fails 79 "$pattern" "$url"
    ok 'so is a read' says 79 "$pattern" -S "$url" ls
    ok 'so is work' says 79 "$pattern" -S "$url" claim --owner w mail
    ok 'so is the text of lk schema' refuses_text "of format $format, and this text makes format 1" "$work/schema.sql"
    ok_unchanged "format $format"
done
sql "UPDATE $meta SET format = 1" shop
ok 'of format 1 it is used again' says 0 '*one*' -S "$url" items mail

# ---- the next format, and what is in use ----

whole shop >"$work/whole"
ok 'a read by a program of the next format is refused' \
    as_next 79 'unsupported: *is of format 1, and this program knows format 2; its first call that changes*' "$url" reading
ok_unchanged 'a read'
"$lk" -S "$url" acquire --owner alice --ttl 1h db/t1 >"$work/token"
"$lk" -S "$url" acquire --owner bob --queue --ttl 1h db/t1 >"$work/out"
"$lk" -S "$url" claim --owner w --ttl 1h mail >"$work/out"
whole shop >"$work/whole"
ok 'what is held, claimed and waits is named' as_next 79 'unsupported: *1 leases*1 items claimed, 1 *waiting*' "$url"
ok_unchanged 'an upgrade that is refused'
ok 'a DBA is refused, too' refuses_text '1 leases' "$work/next.sql"
ok 'the program that holds renews' says 0 '*' -S "$url" renew --owner alice db/t1
ok 'it releases' says 0 '*' -S "$url" release --owner alice --token "$(cat "$work/token")" db/t1
"$lk" -S "$url" release --owner bob db/t1 >"$work/out"
ok 'a claim alone is in use' as_next 79 '*0 leases*1 items claimed*' "$url"
"$lk" -S "$url" retry --owner w mail one >"$work/out"
in_transaction
ok "so is a lease in a transaction of the database's own" as_next 79 '*transactions of this database*' "$url"
let_go
ok 'all works as before' works "$url"

# ---- a program that is stopped while it waits ----

"$lk" -S "$url" acquire --owner alice --ttl 1h db/t1 >"$work/token"
"$lk" -S "$url" acquire -q --owner late --wait 60s --ttl 1s db/t1 >"$work/late" 2>&1 &
late=$!
comes_to "SELECT count(*) FROM $requests WHERE owner = 'late'" 1 shop
kill -STOP "$late"
comes_to "$live" 1 shop
"$lk" -S "$url" release --owner alice --token "$(cat "$work/token")" db/t1

# ---- the upgrade ----

lets_in clerk shop
ok 'a user without the rights is DENIED, and the message names lk schema' \
    as_next 77 "denied: *format 1*lk schema $kind*" "$(store clerk shop)"
ok 'and the store is as it was' is "SELECT format FROM $meta" 1 shop
ok 'where nothing is in use, it is brought up to date' as_next 0 '' "$url"
ok 'as its row says' is "SELECT format, motto FROM $meta" '2|two' shop
ends_refused() { # PROCESS FILE
    wait "$1"
    [ $? -eq 79 ] && grep -q 'is of format 2' "$2" && [ "$(wc -l <"$2")" -eq 1 ]
}
kill -CONT "$late"
ok 'the one that waited is refused' ends_refused "$late" "$work/late"
ok 'nothing was granted to it' is "$live" 0 shop
pattern='*UNSUPPORTED*is of format 2, and this program knows format 1; use the newer program*'
ok 'a program of format 1 is refused' fails 79 "$pattern" "$url"
ok 'also to read' says 79 "$pattern" -S "$url" show db/t1
ok 'items are kept' is "SELECT id FROM $items WHERE queue = 'mail'" one shop
ok 'the next program opens it again' as_next 0 '' "$url"
ok 'also to read' as_next 0 '' "$url" reading
ok 'and makes the same where there was none' as_next 0 '' "$(store "$administrator" fresh)"
shape shop >"$work/shop"
shape fresh >"$work/fresh"
ok 'as to tables and routines' cmp "$work/shop" "$work/fresh"

# ---- by several at once ----

sql 'CREATE DATABASE several'
url=$(store "$administrator" several)
"$lk" -S "$url" limits >"$work/out"
processes=
for i in 1 2 3 4 5; do
    "$opens_as" 2 "$work/next.sql" "$url" 2>"$work/err-$i" &
    processes="$processes $!"
done
all_well=0
for process in $processes; do
    wait "$process" || all_well=1
done
cat "$work"/err-[1-5] >"$work/err"
ok 'five at once bring a store up to date' [ "$all_well" -eq 0 ]
shape several >"$work/several"
ok 'to the same end' cmp "$work/fresh" "$work/several"

# ---- under programs that ask all the time ----

sql 'CREATE DATABASE busy'
url=$(store "$administrator" busy)
"$lk" -S "$url" limits >"$work/out"
"$clients" "$url" >"$work/clients" 2>"$work/clients-err" &
clients_process=$!
comes_to "SELECT CASE WHEN count(*) < 3 THEN 'not yet' ELSE 'all' END FROM $roots" all busy
tries=0
until as_next 0 '' "$url" || [ "$tries" -ge 1000 ]; do
    tries=$((tries + 1))
    if ! grep -q ^unsupported "$work/err"; then
        sed 's/^/# /' "$work/err"
        kill "$clients_process"
        break
    fi
done
ok 'the store is brought up to date between their calls' is "SELECT format FROM $meta" 2 busy
echo "# after $tries tries that were refused"
wait "$clients_process"
ok 'each of them is refused, and has given back what it had' [ $? -eq 0 ]
ok 'by one sentence' [ "$(grep -c "$refused" "$work/clients")" -eq 5 ]
sed 's/^/# /' "$work/clients" "$work/clients-err"
ok 'nothing is held, claimed or waiting' is "$live" 0 busy
