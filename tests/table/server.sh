#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: WITH_SERVER server.sh DIALECT
#
# lk work --table on a database server (R17), as tests/cli/table.sh has it for SQLite; what is wrong
# with a statement or a row is said here once for all of them. Prints TAP.
. "${0%/*}/../cli/harness.sh"

dialect=${1:?postgresql or mysql}
counts=queues # the table that they are kept in
: "${LK_TEST_SERVER:?is set by with_server.sh}"
log=$work/log
own='' # of the store's tables, where no schema is
[ "$dialect" = postgresql ] || own=lk_
export log

# A scenario in a database of the user's own, where the store is, too.
app() {
    scenario "$1"
    : >"$log"
    place=app$scenarios
    case $dialect in
    postgresql)
        counts=queue_counts
        psql -h "$LK_TEST_SERVER" -U postgres -qc "CREATE SCHEMA $place" postgres
        LK_STORE="postgresql://postgres@/postgres?host=$LK_TEST_SERVER&schema=lk$scenarios"
        LK_STORE="$LK_STORE&options=-csearch_path%3D$place"
        ;;
    mysql)
        # Making a store takes seconds: there is one, which is emptied.
        place='test'
        mariadb --no-defaults -fS "$LK_TEST_SERVER/socket" -u root test 2>/dev/null <<-END
			DROP TABLE IF EXISTS orders, journal, t, one;
			DELETE FROM lk_items; DELETE FROM lk_requests; DELETE FROM lk_queues;
			DELETE FROM lk_done_rows;
		END
        LK_STORE="mysql://root@/test?socket=$LK_TEST_SERVER/socket&prefix=lk_"
        ;;
    esac
    sql 'CREATE TABLE orders (id integer PRIMARY KEY, sent bigint NOT NULL DEFAULT 0);
         CREATE TABLE journal (id integer, token bigint, owner text, attempt integer)'
}

sql() {
    case $dialect in
    postgresql)
        PGOPTIONS="-csearch_path=$place,lk$scenarios" \
            psql -h "$LK_TEST_SERVER" -U postgres -v ON_ERROR_STOP=1 -Atqc "$1" postgres
        ;;
    mysql) mariadb --no-defaults -S "$LK_TEST_SERVER/socket" -u root -Nse "$1" "$place" ;;
    esac
}

expect_sql() {
    [ "$(sql "$1")" = "$2" ] || complain "$1: expected $2, found $(sql "$1")"
}

orders() {
    sql "INSERT INTO orders (id) WITH RECURSIVE n (i) AS
         (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n"
}

until_logged() { # LINES
    tries=0
    until [ "$(wc -l <"$log")" -ge "$1" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 1200 ]; then # a minute
            complain "log: $(wc -l <"$log") lines, not $1"
            return
        fi
        sleep 0.05
    done
}

done='UPDATE orders SET sent = :token WHERE id = :id'

app 'each row once, in order, and marked in the same breath'
orders 30
lk work --table orders --where 'sent = 0' --order 'id DESC' --done "$done" --drain -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
expect_err ''
[ "$(tr '\n' ' ' <"$log")" = "$(seq 30 -1 1 | tr '\n' ' ')" ] || complain "order: $(cat "$log")"
expect_sql 'SELECT count(*) FROM orders WHERE sent < 1000000000000000' 0
expect_sql "SELECT count(*) FROM ${own}done_rows" 0
expect_sql "SELECT count(*) FROM ${own}items" 0

app 'a hundred rows, by workers that are killed'
orders 100
"$LK_PROGRAM" work --table orders --where 'sent = 0' --workers 4 --ttl 2s --drain --done \
    'INSERT INTO journal VALUES (:id, :token, :owner, :attempt)' -q -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
until_logged 20
# shellcheck disable=SC2046 # words are meant
kill -9 $(cat "/proc/$pool/task/$pool/children")
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'
expect_sql 'SELECT count(*) - count(DISTINCT id) FROM journal' 0
expect_sql 'SELECT count(*) FROM journal' 100
expect_sql 'SELECT count(*) FROM journal WHERE owner IS NULL OR attempt < 1' 0
expect_sql "SELECT count(*) FROM ${own}done_rows" 100
lk work --table orders --where 'sent = 0' --drain -- false
expect_code 0
expect_sql "SELECT done FROM ${own}queues" 100

app 'what is done is remembered until its row fits no more'
orders 3
lk work --table orders --where 'sent = 0' --drain -- true
expect_code 0
sql 'UPDATE orders SET sent = 1 WHERE id = 2'
lk work --table orders --where 'sent = 0' --announce-only --drain
expect_code 0
expect_sql "SELECT min(id) FROM ${own}done_rows" 1
expect_sql "SELECT max(id) FROM ${own}done_rows" 3
expect_sql "SELECT count(*) FROM ${own}done_rows" 2
sql 'UPDATE orders SET sent = 0 WHERE id = 2'
lk work --table orders --where 'sent = 0' --drain -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
[ "$(cat "$log")" = 2 ] || complain "again: $(cat "$log")"

app 'items whose rows fit no more are dropped, however many'
orders 150
lk work --table orders --where 'sent = 0' --order id --announce-only --drain
expect_sql "SELECT count(*) FROM ${own}items" 150
lk push orders nobody
sql 'UPDATE orders SET sent = 1 WHERE id <> 140'
lk work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
[ "$(cat "$log")" = 140 ] || complain "worked on: $(cat "$log")"
expect_sql "SELECT count(*) FROM ${own}items" 0

app 'an item that is locked by hand, or whose needs are not free, is passed over'
orders 3
lk work --table orders --where 'sent = 0' --order id --announce-only --drain
lk acquire orders/1 --owner somebody
lk acquire pool --owner somebody
sql "DELETE FROM ${own}items WHERE id = '2'"
lk push orders 2 --needs pool
"$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
until_logged 1
[ "$(cat "$log")" = 3 ] || complain "worked on: $(cat "$log")"
lk release orders/1 --owner somebody
until_logged 2
lk release pool --owner somebody
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'
[ "$(tr '\n' ' ' <"$log")" = '3 1 2 ' ] || complain "worked on: $(cat "$log")"

app 'a statement that fails gives the item back, and says why'
orders 1
sql 'CREATE TABLE one (id integer UNIQUE); INSERT INTO one VALUES (1)'
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
    --done 'INSERT INTO one VALUES (:id)' -- true
expect_code 0
expect_err 'lk: NOT DONE: 1 is given back: *one*'
expect_sql 'SELECT count(*) FROM one' 1
expect_sql "SELECT state FROM ${own}items" parked
expect_sql "SELECT attempts FROM ${own}items" 1

app 'what is wrong is said at once'
orders 1
try_done() {
    lk work --table orders --drain --done "$1" -- sh -c 'echo ran >>"$log"'
    failure 64 "lk: INVALID: R17: $2"
}
try_done 'UPDATE orders SET sent = 1; DELETE FROM orders' '*more than one statement'
try_done 'UPDATE orders SET sent = :x' '*:id, :token, :owner and :attempt alone'
try_done 'UPDATE nix SET sent = 1' '*nix*'
try_done 'UPDATE orders SET nix = 1' '*nix*'
for word in COMMIT ROLLBACK 'BEGIN' 'DROP TABLE orders' 'SET x = 1' 'SAVEPOINT x'; do
    try_done "$word" '*neither transactions, nor the schema, nor the session*'
done
try_done 'UPDATE' '*statement for what is done*'
try_done ' -- nothing' '*it is empty'
for where in 'sent = ' 'x = 1' 'sent = :id' '1); DELETE FROM orders; SELECT (1'; do
    lk work --table orders --where "$where" --drain -- true
    failure 64 'lk: INVALID: R17: *'
done
lk work --table nix --drain -- true
failure 64 'lk: INVALID: R17: *no such table: nix'
lk work --table orders --id nix --drain -- true
failure 64 'lk: INVALID: R17: *no such column: orders.nix'
expect_sql 'SELECT count(*) FROM orders' 1
[ ! -s "$log" ] || complain 'it ran'

app 'rows that come later are found, by a finder of its own'
"$LK_PROGRAM" work --table orders --where 'sent = 0' --announce-only &
finder=$!
"$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
orders 2
until_logged 2
sql 'INSERT INTO orders (id) VALUES (3)'
until_logged 3
kill "$finder" "$pool"
wait "$finder"
[ $? -eq 0 ] || complain 'the finder failed'
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'

app 'more workers than the work needs are told of'
orders 1
sql "UPDATE orders SET sent = 0"
lk work --table orders --where 'sent = 0' --announce-only --drain
sql "UPDATE ${own}$counts SET claims = 100, steals = 50"
lk work --table orders --where 'sent = 0' --drain --done "$done" -- true
expect_code 0
expect_err 'lk: HINT: *stolen*'
lk stats orders
expect_err 'lk: HINT: *stolen*'

# shellcheck source=/dev/null
. "${0%/*}/server_$dialect.sh"
finish
