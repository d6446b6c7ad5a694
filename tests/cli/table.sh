#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk work --table: work that lives in a table of the user's (R17).
. "${0%/*}/harness.sh"

log=$work/log
export log

# A scenario in a database of the user's own: $app, to be shared as $LK_STORE.
app() {
    scenario "$1"
    app=$work/$scenarios.app.db
    LK_STORE="sqlite:$app?share=yes"
    : >"$log"
    sql "PRAGMA application_id = 7;
         CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER NOT NULL DEFAULT 0);
         CREATE TABLE journal (id, token, owner, attempt)"
}

sql() {
    sqlite3 -cmd '.timeout 20000' "$app" "$1"
}

expect_sql() {
    [ "$(sql "$1")" = "$2" ] || complain "$1: expected $2, found $(sql "$1")"
}

orders() {
    sql "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
         INSERT INTO orders (id) SELECT i FROM n"
}

done='UPDATE orders SET sent = :token WHERE id = :id'

app 'somebody else'\''s database is left alone unless it is shared'
before=$(cksum <"$app")
LK_STORE=sqlite:$app
lk ls
failure 64 'lk: INVALID: *nothing was changed*?share=yes*'
[ "$(cksum <"$app")" = "$before" ] || complain 'the file is another'
LK_STORE="sqlite:$app?share=maybe"
lk ls
failure 64 'lk: INVALID: *share=maybe*'

app 'a store in a shared database keeps to itself'
lk acquire x --owner me
expect_code 0
expect_sql 'PRAGMA application_id' 7
LK_STORE="sqlite:$app?durability=relaxed&share=yes"
lk release x --owner me
expect_code 0

app 'a file that does not say what it is becomes a store'
sql 'PRAGMA application_id = 0'
lk acquire x --owner me
expect_code 0
LK_STORE=sqlite:$app
lk release x --owner me
expect_code 0

app 'a name that is taken is a clear refusal'
sql 'CREATE TABLE Items (x)'
before=$(sql .schema)
lk ls
failure 64 'lk: INVALID: *'\''items'\''*nothing was changed*'
[ "$(sql .schema)" = "$before" ] || complain 'the schema is another'

app 'each row once, in order, and marked in the same breath'
orders 30
lk work --table orders --where 'sent = 0' --order 'id DESC' --done "$done" --drain -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
expect_err ''
[ "$(tr '\n' ' ' <"$log")" = "$(seq 30 -1 1 | tr '\n' ' ')" ] || complain "order: $(cat "$log")"
expect_sql 'SELECT count(*) FROM orders WHERE sent < 1000000000000000' 0
expect_sql 'SELECT count(*) FROM done_rows' 0

app 'two hundred rows, by workers that are killed'
orders 200
"$LK_PROGRAM" work --table orders --where 'sent = 0' --workers 4 --ttl 500ms --drain --done \
    'INSERT INTO journal VALUES (:id, :token, :owner, :attempt)' -q -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
until [ "$(wc -l <"$log")" -ge 20 ]; do :; done
# shellcheck disable=SC2046 # words are meant
kill -9 $(cat "/proc/$pool/task/$pool/children")
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'
expect_sql 'SELECT count(*), count(DISTINCT id) FROM journal' '200|200'
expect_sql 'SELECT count(*) FROM journal WHERE owner IS NULL OR attempt < 1' 0
expect_sql 'SELECT count(*) FROM done_rows' 200
lk work --table orders --where 'sent = 0' --drain -- false
expect_code 0
expect_sql 'SELECT done FROM queues' 200

app 'what is done is remembered until its row fits no more'
orders 3
lk work --table orders --where 'sent = 0' --drain -- true
sql 'UPDATE orders SET sent = 1 WHERE id = 2'
lk work --table orders --where 'sent = 0' --announce-only --drain
expect_code 0
expect_sql 'SELECT group_concat(id) FROM done_rows' 1,3
sql 'UPDATE orders SET sent = 0 WHERE id = 2'
lk work --table orders --where 'sent = 0' --drain -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
[ "$(cat "$log")" = 2 ] || complain "again: $(cat "$log")"

app 'an item whose row fits no more is dropped'
orders 3
lk work --table orders --where 'sent = 0' --announce-only --drain
lk items orders --json
expect .id '"1"
"2"
"3"'
sql 'UPDATE orders SET sent = 1 WHERE id <> 2'
lk work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
[ "$(cat "$log")" = 2 ] || complain "worked on: $(cat "$log")"
expect_sql 'SELECT count(*) FROM items' 0

app 'ids that are no segments, and texts that look like SQL'
sql "CREATE TABLE t (\"the \"\"id\" TEXT UNIQUE, d);
     INSERT INTO t VALUES ('a/b', 0), ('x''); DROP TABLE t; --', 0), ('%', 0), ('..', 0), ('007', 0)"
lk work 'my/queue' --table t --id 'the "id' --where "d = 0 -- comment" \
    --done 'UPDATE t SET d = 1 WHERE "the ""id" = :id' --drain -- \
    sh -c 'printf "%s|%s\n" "$LK_ITEM_ID" "$LK_PATH" >>"$log"'
expect_code 0
expect_sql 'SELECT count(*) FROM t WHERE d = 1' 5
grep -qxF "a/b|my/queue/a%2Fb" "$log" || complain "log: $(cat "$log")"
grep -qxF '..|my/queue/%2E%2E' "$log" || complain "log: $(cat "$log")"

app 'a statement that fails gives the item back, and says why'
orders 1
sql 'CREATE TABLE one (id UNIQUE); INSERT INTO one VALUES (1)'
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
    --done 'INSERT INTO one VALUES (:id)' -- true
expect_code 0
expect_err 'lk: NOT DONE: 1 is given back: *UNIQUE*'
expect_sql 'SELECT state, attempts FROM items' 'parked|1'

app 'a trigger that rolls back, and rows of others that it must keep'
orders 1
sql "CREATE TABLE child (id REFERENCES one (id)); CREATE TABLE one (id PRIMARY KEY);
     CREATE TRIGGER no BEFORE UPDATE ON orders BEGIN SELECT raise(ROLLBACK, 'not today'); END"
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain --done "$done" -- true
expect_code 0
expect_err 'lk: NOT DONE: 1 is given back: *not today*'
lk unpark orders 1
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
    --done 'INSERT INTO child VALUES (:id)' -- true
expect_err 'lk: NOT DONE: 1 is given back: *FOREIGN KEY*'
expect_sql 'SELECT state FROM items' parked

app 'what is wrong is said at once'
orders 1
try_done() {
    lk work --table orders --drain --done "$1" -- sh -c 'echo ran >>"$log"'
    failure 64 "lk: INVALID: R17: $2"
}
try_done 'DELETE FROM items' '*must not write to the store'\''s own table items'
try_done 'UPDATE META SET format = 1' '*own table*'
try_done 'UPDATE orders SET sent = 1; DELETE FROM orders' '*more than one statement'
try_done 'UPDATE orders SET sent = :x' '*:id, :token, :owner and :attempt alone'
try_done 'UPDATE orders SET sent = ?' '*:id, :token, :owner and :attempt alone'
try_done 'UPDATE nix SET sent = 1' '*no such table: nix'
try_done 'COMMIT' '*must not begin or end transactions'
try_done "ATTACH 'x.db' AS x" '*must not attach*'
try_done 'DROP TABLE orders' '*must not change the schema'
try_done 'PRAGMA journal_mode = DELETE' '*must not use PRAGMA journal_mode'
try_done 'UPDATE' '*incomplete input'
sql 'CREATE TRIGGER sly AFTER UPDATE ON orders BEGIN DELETE FROM requests; END'
try_done "$done" '*own table requests'
sql 'DROP TRIGGER sly'
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

app 'options that contradict each other'
lk work --where 1 q -- true
failure 64 'lk: INVALID: work: --where needs --table*'
lk work -- true
failure 64 'lk: INVALID: work needs QUEUE*'
lk work --table orders --announce-only -- true
failure 64 'lk: INVALID: work: --announce-only runs no command*'
lk work --table orders --announce-only --no-announce
failure 64 'lk: INVALID: *'
lk work --table orders --no-announce
failure 64 'lk: INVALID: work needs -- and a command*'

app 'rows that come later are found, by a finder of its own'
"$LK_PROGRAM" work --table orders --where 'sent = 0' --announce-only &
finder=$!
"$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --done "$done" -- \
    sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
pool=$!
orders 2
until [ "$(wc -l <"$log")" -eq 2 ]; do :; done
sql 'INSERT INTO orders (id) VALUES (3)'
until [ "$(wc -l <"$log")" -eq 3 ]; do :; done
kill "$finder" "$pool"
wait "$finder"
[ $? -eq 0 ] || complain 'the finder failed'
wait "$pool"
[ $? -eq 0 ] || complain 'the pool failed'

app 'a line on a terminal tells of announcing'
orders 4
TERM=xterm script -qec '"$LK_PROGRAM" work --table orders --where "sent = 0" --drain --done \
    "UPDATE orders SET sent = 1 WHERE id = :id" -- sh -c "sleep 0.3"' /dev/null >"$work/out"
tr '\r' '\n' <"$work/out" | grep -q 'orders: .* 4 announced, .* claimed, .* done, .* left' \
    || complain 'no progress'

scenario 'a store that has no tables'
LK_STORE=mem:
lk work --table orders --drain -- true
failure 79 'lk: UNSUPPORTED: *take work from a table*'

finish
