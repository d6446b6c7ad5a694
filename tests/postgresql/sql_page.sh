#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh sql_page.sh LK
#
# What docs/sql.md shows, carried out: its blocks of SQL, and the examples by psql, Python and JDBC, which
# are also made to fail. Prints TAP.
. "${0%/*}/harness.sh"

here=$(realpath "${0%/*}")
page=$here/../../docs/sql.md
sql 'CREATE DATABASE shop'
"$lk" -S "postgresql://postgres@/shop?host=$LK_TEST_SERVER" limits >"$work/out"
PGHOST=$LK_TEST_SERVER PGUSER=postgres
export PGHOST PGUSER

# The Python of the packages, and a port for JDBC.
mkdir "$work/bin"
ln -s /usr/bin/python3 "$work/bin/python3"
PATH=$work/bin:$PATH
python3 "$here/../procedures/proxy.py" "$LK_TEST_SERVER/.s.PGSQL.5432" "$work/port" &
tcp=$!
until [ -s "$work/port" ] || ! kill -0 "$tcp"; do
    sleep 0.05
done

block() { # LANGUAGE NUMBER
    awk -v language="$1" -v number="$2" '
        $0 == "```" { inside = 0 }
        inside { print }
        $0 == "```" language && ++count == number { inside = 1 }' "$page"
}
quietly() { # COMMAND: what it says is in $work/told
    "$@" >"$work/told" 2>"$work/err"
}
play() { # NUMBER: of a block of SQL
    block sql "$1" >"$work/block.sql"
    [ -s "$work/block.sql" ] && psql -v ON_ERROR_STOP=1 -Atq -f "$work/block.sql" shop >"$work/out" 2>"$work/err"
}

ok 'the first block' play 1
ok 'has locked' grep -q '^foo|held|shared|20|1|' "$work/out"
ok 'the second' play 2
ok 'has locked, and claimed the items by priority' [ "$(tail -n +3 "$work/out" | cut -d '|' -f 1,2 | tr '\n' ' ')" = \
    'ok t t t t t 5|to: 5 4|to: 4 3|to: 3 claimed {ok,ok} ok 0 1|ready 3|delayed 4|ready ' ]
ok 'the third: transactions' play 3
ok 'has paid the bill' is 'SELECT paid, (SELECT count(*) FROM lockkeeper.lk_items WHERE queue = $$bills$$) FROM bills' \
    't|0' shop
ok 'and has not written what it rolled back' is 'SELECT count(*) FROM lockkeeper.get($$invoice/7$$)' 0 shop
ok 'there are no more' [ -z "$(block sql 4)" ]

# ---- the examples ----

cd "$here/../.." || exit 1
block sh 1 | sed "s|localhost/|127.0.0.1:$(cat "$work/port")/|; s|user=app|user=postgres|" >"$work/examples"
ok 'the commands of the page' quietly sh -e "$work/examples"
cp "$work/told" "$work/all"
ok 'the script for psql has its release' is 'SELECT version FROM releases' 2.0 shop
ok 'and has let the lock go' is "SELECT count(*) FROM lockkeeper.lk_locks WHERE path = 'deploy'" 0 shop
ok 'the worker has sent all' grep -q 'sent to ben' "$work/all"
ok 'and finished all' is "SELECT count(sent), (SELECT count(*) FROM lockkeeper.lk_items WHERE queue = 'orders')
    FROM orders" '2|0' shop
ok 'by JDBC the semaphore is done' grep -q '^done$' "$work/all"
ok 'and its second end is an error with a code' grep -q '^LK078: ERROR: there is no such request' "$work/all"

sql "SELECT lockkeeper.acquire('deploy', 'another')" shop >"$work/out"
psql -v ON_ERROR_STOP=1 -qf examples/sql/deploy.sql shop >"$work/out" 2>"$work/err"
ok 'the script ends with 3 where another one deploys' [ $? -eq 3 ]
ok 'and says why' grep -q 'not granted: another holds deploy' "$work/err"
ok 'and has done nothing more' is 'SELECT count(*) FROM releases' 1 shop

sql "BEGIN; INSERT INTO orders (buyer) VALUES ('cy'); ROLLBACK" shop
ok 'an order that is rolled back is no work' is "SELECT count(*) FROM lockkeeper.lk_items WHERE queue = 'orders'" 0 shop
sql "INSERT INTO orders (buyer) VALUES ('dee')" shop
# The worker loses its claim while it sends: another one takes it.
sed 's|print("sent to", buyer)|psycopg.connect(sys.argv[1], autocommit=True).execute("SELECT lockkeeper.break(path, %s, now => true) FROM lockkeeper.lk_locks WHERE path LIKE %s", ["a test", "orders/%"])|' \
    examples/sql/worker.py >"$work/loser.py"
sed -i 's|    while (|    if (|' "$work/loser.py"
ok 'a worker that loses its claim' quietly python3 "$work/loser.py" 'dbname=shop'
ok 'says so' grep -q 'taken by another worker' "$work/told"
ok 'and has written nothing' is "SELECT sent IS NULL FROM orders WHERE buyer = 'dee'" t shop

sql "SELECT lockkeeper.acquire('report?limit=3', 'o' || n) FROM generate_series(1, 3) AS n" shop >"$work/out"
quietly java -cp /usr/share/java/postgresql.jar examples/sql/Semaphore.java \
    "jdbc:postgresql://127.0.0.1:$(cat "$work/port")/shop?user=postgres"
ok 'by JDBC the fourth is refused' [ $? -eq 75 ]
ok 'with the reason' grep -q 'not granted: o1 holds report' "$work/told"
kill "$tcp"

finish
