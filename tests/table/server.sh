#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: WITH_SERVER server.sh DIALECT
#
# lk work --table on a database server (R17): what it does on every store (rows.sh), and what these
# have of their own. Prints TAP.
. "${0%/*}/../cli/harness.sh"

dialect=${1:?postgresql or mysql}
: "${LK_TEST_SERVER:?is set by with_server.sh}"
rows=100 ttl=2s taken='*one*' # for rows.sh
case $dialect in
postgresql) items=items done_rows=done_rows queues=queues counts=queue_counts ;;
mysql) items=lk_items done_rows=lk_done_rows queues=lk_queues counts=lk_queues ;;
esac

# A scenario in a database of the user's own, where the store is, too.
app() {
    scenario "$1"
    : >"$log"
    place=app$scenarios
    case $dialect in
    postgresql)
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

# shellcheck source=/dev/null
. "${0%/*}/rows.sh"

app 'so is what is wrong on a database server'
orders 1
for word in COMMIT ROLLBACK 'BEGIN' 'DROP TABLE orders' 'SET x = 1' 'SAVEPOINT x'; do
    refused "$word" '*neither transactions, nor the schema, nor the session*'
done
refused 'UPDATE' '*--done statement*'
refused ' -- nothing' '*it is empty'
expect_sql 'SELECT count(*) FROM orders' 1
[ ! -s "$log" ] || complain 'it ran'

# What a table can be in MySQL and MariaDB alone.
mysql_alone() {
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
}

# What a table can be in PostgreSQL alone.
postgresql_alone() {
    app 'names: with a schema, as they are written, or as SQL reads them'
    sql 'SET client_min_messages = error; DROP SCHEMA IF EXISTS "Sales" CASCADE; CREATE SCHEMA "Sales"; CREATE TABLE "Sales"."All orders" ("The id" uuid PRIMARY KEY, d integer);
         INSERT INTO "Sales"."All orders" VALUES (gen_random_uuid(), 0), (gen_random_uuid(), 0)'
    lk work --table 'Sales.All orders' --id 'The id' --where 'd = 0' --drain \
        --done 'UPDATE "Sales"."All orders" SET d = 1 WHERE "The id" = :id' -- true
    expect_code 0
    expect_sql 'SELECT count(*) FROM "Sales"."All orders" WHERE d = 1' 2
    orders 1
    lk work --table "$place.ORDERS" --id ID --where 'sent = 0' --done "$done" --drain -- true
    expect_code 0
    expect_sql 'SELECT count(*) FROM orders WHERE sent > 0' 1

    app 'ids that are no segments, and texts that look like SQL'
    sql "CREATE TABLE t (\"the \"\"id\" text UNIQUE, d integer);
         INSERT INTO t VALUES ('a/b', 0), ('x''); DROP TABLE t; --', 0), ('%', 0), ('..', 0), ('007', 0),
             ('ä ü', 0), (E'\\n', 0), ('', 0), (repeat('x', 256), 0), (NULL, 0)"
    lk work 'my/queue' --table t --id 'the "id' --where "d = 0 -- comment" \
        --done 'UPDATE t SET d = 1 WHERE "the ""id" = :id' --drain -- \
        sh -c 'printf "%s|%s\n" "$LK_ITEM_ID" "$LK_PATH" >>"$log"'
    expect_code 0
    expect_sql 'SELECT count(*) FROM t WHERE d = 1' 7
    grep -qxF "a/b|my/queue/a%2Fb" "$log" || complain "log: $(cat "$log")"
    grep -qxF '..|my/queue/%2E%2E' "$log" || complain "log: $(cat "$log")"
    grep -qxF 'ä ü|my/queue/ä%20ü' "$log" || complain "log: $(cat "$log")"

    app 'ids of other types'
    for type in 'character(5)' 'varchar(9)' numeric smallint bigint name; do
        sql "CREATE TABLE t (id $type PRIMARY KEY, d integer DEFAULT 0); INSERT INTO t VALUES ('12')"
        lk work --table t --where 'd = 0' --done 'UPDATE t SET d = 1 WHERE id = :id' --drain -- true
        expect_code 0
        expect_sql 'SELECT sum(d) FROM t' 1
        sql 'DROP TABLE t'
    done
    sql 'CREATE TABLE t (id timestamp)'
    lk work --table t --drain -- true
    failure 64 'lk: INVALID: *timestamp*whole numbers, texts or uuids (R17)'

    app 'a view whose rows cannot be locked'
    orders 5
    sql 'CREATE VIEW sums AS SELECT id, sum(sent) AS sent FROM orders GROUP BY id'
    lk work --table sums --where 'sent = 0' --done "$done" --workers 2 --drain -- \
        sh -c 'echo "$LK_ITEM_ID" >>"$log"'
    expect_code 0
    [ "$(sort -n "$log" | tr '\n' ' ')" = '1 2 3 4 5 ' ] || complain "worked on: $(cat "$log")"

    app 'a row that another transaction is changing is skipped'
    orders 2
    lk work --table orders --where 'sent = 0' --order id --announce-only --drain
    # Holds the row until it may go on, and then takes it out of the query.
    mkfifo "$work/go"
    PGOPTIONS="-csearch_path=$place" psql -h "$LK_TEST_SERVER" -U postgres -Atq postgres \
        <"$work/go" >"$work/held" &
    holder=$!
    exec 3>"$work/go"
    echo 'BEGIN; UPDATE orders SET sent = 7 WHERE id = 1 RETURNING id;' >&3
    until [ -s "$work/held" ]; do sleep 0.05; done
    "$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --drain --done "$done" -- \
        sh -c 'echo "$LK_ITEM_ID" >>"$log"' &
    pool=$!
    until_logged 1
    echo 'COMMIT;' >&3
    exec 3>&-
    wait "$holder"
    wait "$pool"
    [ $? -eq 0 ] || complain 'the pool failed'
    [ "$(cat "$log")" = 2 ] || complain "worked on: $(cat "$log")"
    expect_sql 'SELECT sent FROM orders WHERE id = 1' 7

    app 'a constraint that is looked at by the end, and a trigger that refuses'
    orders 1
    sql 'CREATE TABLE parent (id integer PRIMARY KEY);
         CREATE TABLE child (id integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED)'
    lk work --table orders --where 'sent = 0' --max-attempts 1 --drain \
        --done 'INSERT INTO child VALUES (:id)' -- true
    expect_parked '*foreign key*'
    expect_sql 'SELECT count(*) FROM child' 0
    expect_sql 'SELECT state FROM items' parked
    sql "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''not today''; END';
         CREATE TRIGGER no BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION no()"
    lk unpark orders 1
    lk work --table orders --where 'sent = 0' --max-attempts 1 --drain --done "$done" -- true
    expect_parked '*not today*'

    app 'a procedure that ends the transaction, and one that does not'
    orders 1
    sql "CREATE PROCEDURE sly(the_id integer) LANGUAGE plpgsql AS
             'BEGIN UPDATE orders SET sent = 1; COMMIT; END';
         CREATE PROCEDURE fair(the_id integer) LANGUAGE plpgsql AS
             'BEGIN UPDATE orders SET sent = 2 WHERE id = the_id; END'"
    lk work --table orders --where 'sent = 0' --max-attempts 1 --drain --done 'CALL sly(:id)' -- true
    expect_parked '*invalid transaction termination*'
    expect_sql 'SELECT sent FROM orders' 0
    lk unpark orders 1
    lk work --table orders --where 'sent = 0' --drain --done 'CALL fair(:id)' -- true
    expect_err 'lk: ENDED: *1 done'
    expect_sql 'SELECT sent FROM orders' 2

    app 'the store'\''s own tables are kept out of it'
    orders 1
    for statement in 'DELETE FROM lk11.items' 'WITH x AS (UPDATE lk11.meta SET format = 9) SELECT 1'; do
        lk work --table orders --drain \
            --done "$(echo "$statement" | sed "s/lk11/lk$scenarios/")" -- true
        failure 64 'lk: INVALID: *must not touch the store'\''s own tables (R17)'
    done

    app 'rights'
    orders 1
    sql "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA $place TO clerk"
    lk limits # makes the store
    sql "GRANT USAGE ON SCHEMA lk$scenarios TO clerk;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lk$scenarios TO clerk"
    LK_STORE=$(echo "$LK_STORE" | sed 's/postgres@/clerk@/')
    lk work --table orders --where 'sent = 0' --done "$done" --drain -- true
    failure 77 'lk: DENIED: *permission denied for table orders*(R17)'
    sql 'GRANT SELECT ON orders TO clerk'
    lk work --table orders --where 'sent = 0' --done "$done" --drain -- true
    failure 77 'lk: DENIED: *--done statement: permission denied for table orders*(R17)'
    lk work --table orders --where 'sent = 0' --drain -- true # and rows that it may not lock
    expect_code 0
    sql 'GRANT UPDATE (sent) ON orders TO clerk'
    lk work again --table orders --where 'sent = 0' --done "$done" --drain -- true
    expect_code 0
    expect_sql 'SELECT count(*) FROM orders WHERE sent > 0' 1

    app 'whatever the defaults are'
    orders 2
    for level in 'repeatable\ read' serializable; do
        LK_STORE="postgresql://postgres@/postgres?host=$LK_TEST_SERVER&schema=lk$scenarios"
        LK_STORE="$LK_STORE&options=-csearch_path%3D$place%20-cdefault_transaction_isolation%3D$(
            echo "$level" | sed 's/\\/%5C/; s/ /%20/')"
        sql 'UPDATE orders SET sent = 0'
        lk work --table orders --where 'sent = 0' --done "$done" --workers 2 --drain -- true
        expect_code 0
        expect_err 'lk: ENDED: *2 done'
        expect_sql 'SELECT count(*) FROM orders WHERE sent > 0' 2
    done

    app 'a call after the deadline has changed nothing'
    orders 1
    lk work --table orders --where 'sent = 0' --announce-only --drain
    "$LK_PROGRAM" work --table orders --where 'sent = 0' --no-announce --ttl 1h --drain \
        --done 'INSERT INTO journal VALUES (:id, :token, :owner, :attempt)' -- \
        sh -c 'echo "$LK_ITEM_ID" >>"$log"; until [ -e "$log.go" ]; do sleep 0.05; done' &
    pool=$!
    until_logged 1
    lk break orders/1 --now --reason 'the test says so' # the next one has it already
    lk claim orders --owner thief
    touch "$log.go"
    sql 'UPDATE orders SET sent = 9'
    lk 'done' orders 1 --owner thief
    expect_code 0
    wait "$pool"
    expect_sql 'SELECT count(*) FROM journal' 0
}

"${dialect}_alone"
finish
