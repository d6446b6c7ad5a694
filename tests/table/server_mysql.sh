# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # read by server.sh
# What a table can be in MySQL and MariaDB alone. Read by server.sh.

app 'a table of another database'
sql "CREATE DATABASE other$scenarios; CREATE TABLE other$scenarios.\`All orders\` (
         \`the id\` bigint unsigned PRIMARY KEY, state varchar(8) NOT NULL);
     INSERT INTO other$scenarios.\`All orders\` VALUES (7, 'new'), (18446744073709551615, 'new')"
lk work q --table "other$scenarios.All orders" --id 'the id' --where "state = 'new'" --drain \
    --done "UPDATE other$scenarios.\`All orders\` SET state = 'done' WHERE \`the id\` = :id" -- true
expect_code 0
expect_sql "SELECT count(*) FROM other$scenarios.\`All orders\` WHERE state = 'done'" 2

app 'ids that are no segments, and texts that look like SQL'
sql "CREATE TABLE t (\`the id\` varchar(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin UNIQUE, d integer);
     INSERT INTO t VALUES ('a/b', 0), ('x''); DROP TABLE t; --', 0), ('%', 0), ('..', 0), ('007', 0),
         ('ä ü', 0), ('\\n', 0), ('line\\n', 0), ('\\\\', 0), ('', 0), (repeat('x', 256), 0), (NULL, 0)"
lk work 'my/queue' --table t --id 'the id' --where "d = 0 -- comment" \
    --done 'UPDATE t SET d = 1 WHERE `the id` = :id' --drain -- \
    sh -c 'printf "%s|%s\n" "$LK_ITEM_ID" "$LK_PATH" >>"$log"'
expect_code 0
expect_sql 'SELECT count(*) FROM t WHERE d = 1' 9
grep -qxF "a/b|my/queue/a%2Fb" "$log" || complain "log: $(cat "$log")"
grep -qxF '|my/queue/line%0A' "$log" || complain "log: $(cat "$log")"
grep -qxF '..|my/queue/%2E%2E' "$log" || complain "log: $(cat "$log")"
grep -qxF 'ä ü|my/queue/ä%20ü' "$log" || complain "log: $(cat "$log")"

app 'ids of other types'
for type in 'char(5)' 'varchar(9) CHARACTER SET latin1' smallint 'int unsigned' bigint; do
    sql "CREATE TABLE t (id $type PRIMARY KEY, d integer DEFAULT 0); INSERT INTO t (id) VALUES ('12')"
    lk work --table t --where 'd = 0' --done 'UPDATE t SET d = 1 WHERE id = :id' --drain -- true
    expect_code 0
    expect_sql 'SELECT sum(d) FROM t' 1
    sql 'DROP TABLE t'
done
sql 'CREATE TABLE t (id datetime)'
lk work --table t --drain -- true
failure 64 'lk: INVALID: *datetime*whole numbers or texts (R17)'

app 'a procedure that ends the transaction, and one that does not'
orders 1
mariadb --no-defaults -S "$LK_TEST_SERVER/socket" -u root --delimiter=// test \
    -e 'CREATE PROCEDURE sly(the_id integer) BEGIN UPDATE journal SET id = 1; COMMIT; END'
sql "CREATE PROCEDURE fair(the_id integer) UPDATE orders SET sent = 2 WHERE id = the_id"
lk work --table orders --where 'sent = 0' --max-attempts 1 --drain --done 'CALL sly(:id)' -- true
expect_parked '*must not begin or end transactions*'
lk unpark orders 1
lk work --table orders --where 'sent = 0' --drain --done 'CALL fair(:id)' -- true
expect_err 'lk: ENDED: *1 done'
expect_sql 'SELECT sent FROM orders' 2

app 'the store'\''s own tables are kept out of it'
orders 1
lk work --table orders --drain --done 'DELETE FROM lk_items' -- true
failure 64 'lk: INVALID: *must not touch the store'\''s own tables (R17)'

app 'rights'
orders 1
lk limits # makes the store
sql "CREATE USER clerk@localhost; GRANT EXECUTE ON $place.* TO clerk@localhost"
for table in meta roots requests values queues items item_values done_rows ended audits numbers; do
    sql "GRANT SELECT, INSERT, UPDATE, DELETE ON lk_$table TO clerk@localhost"
done
LK_STORE=$(echo "$LK_STORE" | sed 's/root@/clerk@/')
lk work --table orders --where 'sent = 0' --done "$done" --drain -- true
failure 77 'lk: DENIED: *denied*(R17)'
sql 'GRANT SELECT, UPDATE ON orders TO clerk@localhost'
lk work --table orders --where 'sent = 0' --done "$done" --drain -- true
expect_code 0
expect_sql 'SELECT count(*) FROM orders WHERE sent > 0' 1
