# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What lk work --table does on every store (R17): read by tests/cli/table.sh and server.sh, each of
# which says before how its store is made and queried:
#
#   app TITLE        a scenario in a database of the user's own, $log empty
#   sql SQL          in that database
#   items, done_rows, queues, counts   names of the store's tables; counts: where it counts claims
#   rows, ttl        how many rows workers that are killed are to do, with leases how long
#   taken            what the store says of a value that is there already, a pattern

log=$work/log
export log

expect_sql() {
    [ "$(sql "$1")" = "$2" ] || complain "$1: expected $2, found $(sql "$1")"
}

orders() { # ROWS
    sql "INSERT INTO orders (id) WITH RECURSIVE n (i) AS
         (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n"
}

# The last attempt at row 1 of orders has failed of its statement, and that is said.
expect_parked() { # PATTERN
    expect_code 1
    sed -n 1p "$work/err" >"$work/first"
    # shellcheck disable=SC2254 # the pattern is meant to be one
    case $(cat "$work/first") in
    "lk: NOT DONE: orders/1: "$1"; attempt 1 of 1; parked (R17)") ;;
    *) complain "stderr: expected $1" ;;
    esac
}

has_lines() { [ "$(wc -l <"$log")" -ge "$1" ]; }
until_logged() { # LINES
    until_true has_lines "$1"
}

done='UPDATE orders SET sent = :token WHERE id = :id'

app 'each row once, in order, and marked in the same breath'
orders 30
lk work --table orders --where 'sent = 0' --order 'id DESC' --done "$done" --drain -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
expect_err 'lk: ENDED: orders: 30 announced, 30 claimed, 30 done'
[ "$(tr '\n' ' ' <"$log")" = "$(seq 30 -1 1 | tr '\n' ' ')" ] || complain "order: $(cat "$log")"
expect_sql 'SELECT count(*) FROM orders WHERE sent < 1000000000000000' 0
expect_sql "SELECT count(*) FROM $done_rows" 0
expect_sql "SELECT count(*) FROM $items" 0

app "$rows rows, by workers that are killed"
orders "$rows"
"$LK_PROGRAM" work --table orders --where 'sent = 0' --workers 4 --ttl "$ttl" --drain --done \
    'INSERT INTO journal VALUES (:id, :token, :owner, :attempt)' -q -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
until_logged 20
# shellcheck disable=SC2046 # words are meant
kill -9 $(cat "/proc/$pool/task/$pool/children")
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'
expect_sql 'SELECT count(*) - count(DISTINCT id) FROM journal' 0
expect_sql 'SELECT count(*) FROM journal' "$rows"
expect_sql 'SELECT count(*) FROM journal WHERE owner IS NULL OR attempt < 1' 0
expect_sql "SELECT count(*) FROM $done_rows" "$rows"
lk work --table orders --where 'sent = 0' --drain -- false
expect_code 0
expect_sql "SELECT done FROM $queues" "$rows"

app 'what is done is remembered until its row fits no more'
orders 3
lk work --table orders --where 'sent = 0' --drain -- true
expect_code 0
sql 'UPDATE orders SET sent = 1 WHERE id = 2'
lk work --table orders --where 'sent = 0' --announce-only --drain
expect_code 0
expect_sql "SELECT min(id) FROM $done_rows" 1
expect_sql "SELECT max(id) FROM $done_rows" 3
expect_sql "SELECT count(*) FROM $done_rows" 2
sql 'UPDATE orders SET sent = 0 WHERE id = 2'
lk work --table orders --where 'sent = 0' --drain -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
[ "$(cat "$log")" = 2 ] || complain "again: $(cat "$log")"

app 'items whose rows fit no more are dropped, however many'
orders 150
lk work --table orders --where 'sent = 0' --order id --announce-only --drain
expect_sql "SELECT count(*) FROM $items" 150
lk items orders --json
expect 'select(.id | tonumber <= 3) | .id' '"1"
"2"
"3"'
lk push orders unmatched
sql 'UPDATE orders SET sent = 1 WHERE id <> 140'
lk work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
[ "$(cat "$log")" = 140 ] || complain "worked on: $(cat "$log")"
expect_sql "SELECT count(*) FROM $items" 0

app 'a parked row that is repaired is worked on again, and one that is gone goes away'
orders 2
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain -- false
expect_code 1
expect_sql "SELECT count(*) FROM $items WHERE state = 'parked'" 2
sql 'UPDATE orders SET sent = 9 WHERE id = 1'
sql 'DELETE FROM orders WHERE id = 2'
lk work --table orders --where 'sent = 0' --drain -- false
expect_code 0
expect_sql "SELECT count(*) FROM $items" 0
sql 'UPDATE orders SET sent = 0 WHERE id = 1'
sql 'INSERT INTO orders (id) VALUES (2)'
lk work --table orders --where 'sent = 0' --order id --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
[ "$(tr '\n' ' ' <"$log")" = '1 2 ' ] || complain "worked on: $(cat "$log")"

app 'parked rows that fit stay parked, and a finder drops the others, however many'
orders 300
lk work --table orders --where 'sent = 0' --announce-only --drain
sql "UPDATE $items SET state = 'parked', attempts = 1"
sql 'UPDATE orders SET sent = 9 WHERE id <> 290'
lk work --table orders --where 'sent = 0' --announce-only --drain
expect_code 0
expect_sql "SELECT id FROM $items" 290
sql 'UPDATE orders SET sent = 0 WHERE id <= 2'
"$LK_PROGRAM" work --table orders --where 'sent = 0' --announce-only &
finder=$!
has_items() { [ "$(sql "SELECT count(*) FROM $items WHERE state = '$1'")" = "$2" ]; }
until_true has_items ready 2
sql 'UPDATE orders SET sent = 9 WHERE id = 290'
until_true has_items parked 0
kill "$finder"
wait "$finder"
[ $? -eq 0 ] || complain 'the finder failed'
expect_sql "SELECT count(*) FROM $items WHERE state = 'ready'" 2

app 'a row that is done and fits no more is forgotten by the next drain, however many'
orders 600
lk work --table orders --where 'sent = 0' --announce-only --drain
sql "INSERT INTO $done_rows (queue, id) SELECT queue, id FROM $items"
sql "DELETE FROM $items"
sql 'UPDATE orders SET sent = 9 WHERE id <> 1'
lk work --table orders --where 'sent = 0' --drain -- false
expect_code 0
expect_sql "SELECT id FROM $done_rows" 1

app 'a row whose id cannot be an item is skipped, and that is said'
long=$(printf 'x%.0s' $(seq 300))
sql 'CREATE TABLE t (id varchar(400), d integer DEFAULT 0)'
sql "INSERT INTO t (id) VALUES ('a'), (''), ('$long'), (NULL)"
lk work --table t --where 'd = 0' --done 'UPDATE t SET d = 1 WHERE id = :id' --drain -- true
expect_code 0
[ "$(sort "$work/err")" = "lk: ENDED: t: 1 announced, 1 claimed, 1 done, 3 skipped
lk: SKIPPED: t: an id is NULL
lk: SKIPPED: t: an id is empty
lk: SKIPPED: t: the id '$(echo "$long" | cut -c1-64)...' of 300 bytes cannot be an item's (R17)" ] ||
    complain "stderr: $(cat "$work/err")"
lk work --table t --where 'd = 0' --announce-only --drain
expect_code 0
grep -c SKIPPED "$work/err" >"$work/out"
[ "$(cat "$work/out")" = 3 ] || complain "stderr: $(cat "$work/err")"
lk work --table t --where 'd = 0' --drain -q -- true
expect_code 0
[ ! -s "$work/err" ] || complain "stderr: $(cat "$work/err")"

app 'a row whose item would have too long a path is skipped, too'
long=$(printf 'x%.0s' $(seq 200))
sql 'CREATE TABLE t (id varchar(200), d integer DEFAULT 0)'
sql "INSERT INTO t (id) VALUES ('a'), ('$long')"
lk work "$long/$long" --table t --where 'd = 0' --drain --done 'UPDATE t SET d = 1 WHERE id = :id' \
    -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
[ "$(cat "$log")" = a ] || complain "worked on: $(cat "$log")"
grep -q "^lk: SKIPPED: .*: the id 'xx.*' of 200 bytes cannot be an item's" "$work/err" ||
    complain "stderr: $(cat "$work/err")"
lk work "$(printf 'x/%.0s' $(seq 31))x" --table t --drain -- true
failure 64 'lk: INVALID: *(R16, R1)'

app 'an item that is locked by hand, or whose needs are not free, is passed over'
orders 3
lk work --table orders --where 'sent = 0' --order id --announce-only --drain
lk acquire orders/1 --owner other
lk acquire pool --owner other
sql "DELETE FROM $items WHERE id = '2'"
lk push orders 2 --needs pool
"$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
until_logged 1
[ "$(cat "$log")" = 3 ] || complain "worked on: $(cat "$log")"
lk release orders/1 --owner other
until_logged 2
lk release pool --owner other
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'
[ "$(tr '\n' ' ' <"$log")" = '3 1 2 ' ] || complain "worked on: $(cat "$log")"

app 'a statement that fails gives the item back, and says why'
orders 1
sql 'CREATE TABLE one (id integer UNIQUE); INSERT INTO one VALUES (1)'
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
    --done 'INSERT INTO one VALUES (:id)' -- true
expect_parked "$taken"
expect_sql 'SELECT count(*) FROM one' 1
expect_sql "SELECT state FROM $items" parked
expect_sql "SELECT attempts FROM $items" 1

app 'by hand: a claim checks its row again, and the end runs the statement'
orders 2
export LK_OWNER=me
lk work --table orders --where 'sent = 0' --order id --announce-only --drain
sql 'UPDATE orders SET sent = 1 WHERE id = 1'
lk claim --table orders --where 'sent = 0' --json
expect_code 0
expect '[.queue, .id, .row_id]' '["orders","2","2"]'
token=$(field .token)
lk done orders 2 --table orders --where 'sent = 0' --done "$done"
failure 64 "lk: INVALID: the claim's token must be named (R17)"
lk done orders 2 --table orders --where 'sent = 0' --done 'INSERT INTO journal (nix) VALUES (1)'
failure 64 'lk: INVALID: *nix*(R17)'
lk done orders 2 --table orders --where 'sent = 0' --done "$done" --token "$token" --owner other
failure 78 'lk: LOST: *'
expect_sql 'SELECT count(*) FROM orders WHERE sent > 1' 0
lk done orders 2 --table orders --where 'sent = 0' --done "$done" --token "$token"
expect_code 0
expect_sql 'SELECT count(*) FROM orders WHERE sent > 1' 1
expect_sql "SELECT count(*) FROM $items" 0
lk claim --table orders --where 'sent = 0'
expect_code 75
lk claim orders --where 'sent = 0'
failure 64 'lk: INVALID: claim: --where needs --table*'
unset LK_OWNER

app 'what is wrong is said at once'
orders 1
refused() { # STATEMENT PATTERN
    lk work --table orders --drain --done "$1" -- sh -c 'echo ran >>"$log"'
    failure 64 "lk: INVALID: $2 (R17)"
}
refused 'UPDATE orders SET sent = 1; DELETE FROM orders' '*more than one statement'
refused 'UPDATE orders SET sent = :x' '*:id, :token, :owner and :attempt alone'
refused 'UPDATE nix SET sent = 1' '*nix*'
refused 'UPDATE orders SET nix = 1' '*nix*'
for where in 'sent = ' 'x = 1' 'sent = :id' '1); DELETE FROM orders; SELECT (1'; do
    lk work --table orders --where "$where" --drain -- true
    failure 64 'lk: INVALID: *(R17)'
done
lk work --table nix --drain -- true
failure 64 'lk: INVALID: *no such table: nix (R17)'
lk work --table orders --id nix --drain -- true
failure 64 'lk: INVALID: *no such column: orders.nix (R17)'
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

app 'more workers than the work needs are announced'
orders 1
sql "UPDATE orders SET sent = 0"
lk work --table orders --where 'sent = 0' --announce-only --drain
sql "UPDATE $counts SET claims = 100, steals = 50"
lk work --table orders --where 'sent = 0' --drain --done "$done" -- true
expect_code 0
grep -q '^lk: HINT: .*stolen' "$work/err" || complain 'no hint'
lk stats orders
expect_err 'lk: HINT: *stolen*'
