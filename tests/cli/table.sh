#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk work --table: work that lives in a table of the user's (R17): what it does on every store
# (tests/table/rows.sh), and what SQLite has of its own.
. "${0%/*}/harness.sh"

items=lk_item done_rows=lk_done_row queues=lk_queue counts=lk_queue
rows=200 ttl=500ms taken='*UNIQUE*' # for rows.sh

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

. "${0%/*}/../table/rows.sh"

app 'another program'\''s database is left alone unless it is shared'
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
sql 'CREATE TABLE Lk_Item (x)'
before=$(sql .schema)
lk ls
failure 64 'lk: INVALID: *'\''lk_item'\''*nothing was changed*'
[ "$(sql .schema)" = "$before" ] || complain 'the schema is another'

app 'tables called items and events stay the owner'\''s, and may be work'
sql 'CREATE TABLE items (id INTEGER PRIMARY KEY, sent); CREATE TABLE events (item);
     INSERT INTO items VALUES (1, 0), (2, 0)'
lk work --table items --where 'sent = 0' --drain \
    --done 'UPDATE items SET sent = 1 WHERE id = :id' -- true
expect_code 0
expect_sql 'SELECT sum(sent) FROM items' 2
lk limits events=10
expect_sql 'SELECT count(*) FROM events' 0

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

app 'a trigger that rolls back, and rows of others that it must keep'
orders 1
sql "CREATE TABLE child (id REFERENCES one (id)); CREATE TABLE one (id PRIMARY KEY);
     CREATE TRIGGER no BEFORE UPDATE ON orders BEGIN SELECT raise(ROLLBACK, 'not today'); END"
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain --done "$done" -- true
expect_parked '*not today*'
lk unpark orders 1
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
    --done 'INSERT INTO child VALUES (:id)' -- true
expect_parked '*FOREIGN KEY*'
expect_sql 'SELECT state FROM lk_item' parked

app 'so is what is wrong in SQLite'
orders 1
refused 'DELETE FROM lk_item' '*must not write to the store'\''s own table lk_item'
refused 'UPDATE LK_META SET format = 1' '*own table*'
refused 'UPDATE orders SET sent = ?' '*:id, :token, :owner and :attempt alone'
refused 'UPDATE nix SET sent = 1' '*no such table: nix'
refused 'COMMIT' '*must not begin or end transactions'
refused "ATTACH 'x.db' AS x" '*must not attach*'
refused 'DROP TABLE orders' '*must not change the schema'
refused 'PRAGMA journal_mode = DELETE' '*must not use PRAGMA journal_mode'
refused 'UPDATE' '*incomplete input'
sql 'CREATE TRIGGER sly AFTER UPDATE ON orders BEGIN DELETE FROM lk_request; END'
refused "$done" '*own table lk_request'
sql 'DROP TRIGGER sly'
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

app 'a line on a terminal tells of announcing'
orders 4
TERM=xterm script -qec '"$LK_PROGRAM" work --table orders --where "sent = 0" --drain --done \
    "UPDATE orders SET sent = 1 WHERE id = :id" -- sh -c "sleep 0.3" >/dev/null' /dev/null >"$work/out"
tr '\r' '\n' <"$work/out" | grep -q 'orders: .* 4 announced, .* claimed, .* done, .* left' \
    || complain 'no progress'

scenario 'a table in a database that does not exist makes no store'
LK_STORE="$LK_STORE?share=yes"
missing="lk: INVALID: the table is in the store's own database, which does not exist: *"
lk work --table orders --drain -- true
failure 64 "$missing"
lk claim orders --table orders
failure 64 "$missing"
lk 'done' orders 1 --token 5 --table orders
failure 64 "$missing"
[ ! -e "$store" ] || complain 'a store was made'

scenario 'a store that has no tables'
LK_STORE=mem:
lk work --table orders --drain -- true
failure 79 'lk: UNSUPPORTED: *take work from a table*'

finish
