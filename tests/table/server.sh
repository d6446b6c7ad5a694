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

# shellcheck source=/dev/null
. "${0%/*}/server_$dialect.sh"
finish
