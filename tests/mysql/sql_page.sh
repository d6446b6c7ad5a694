#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh sql_page.sh LK
#
# What docs/sql-mysql.md shows, carried out: its blocks of SQL, and the examples. Prints TAP.
. "${0%/*}/harness.sh"

here=$(realpath "${0%/*}")
page=$here/../../docs/sql-mysql.md
"$lk" -S "mysql://root@/test?$server" limits >"$work/out"

play() { # NUMBER: of a block of SQL
    awk -v number="$1" '
        $0 == "```" { inside = 0 }
        inside { print }
        $0 == "```sql" && ++count == number { inside = 1 }' "$page" >"$work/block.sql"
    [ -s "$work/block.sql" ] && mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B test \
        <"$work/block.sql" >"$work/out" 2>"$work/err"
}

ok 'the first block' play 1
ok 'has locked' grep -q '^foo	held	shared	20	1	' "$work/out"
ok 'the second' play 2
ok 'has locked, released and written' [ "$(cut -f 1 "$work/out" | tr '\n' ' ')" = 'granted ok ok granted ok 42 ' ]
ok 'the third: work' play 3
ok 'has pushed, claimed and finished' [ "$(cut -f 1,2 "$work/out" | tr '\n\t' ' |')" = \
    '1|0 1|2 1|3 1|4 1|to: ann 2|to: ben 3|to: cem 0|1 ok ok|1 ok|2 ok ok|0 1|done 3|delayed 2|ready ' ]
ok 'the fourth: transactions' play 4
ok 'has paid the bill' is "SELECT GROUP_CONCAT(id, paid), (SELECT bytes FROM lk_values WHERE path = 'bills/1') FROM bills" '11,21|paid'
ok 'and has not written what it rolled back' is "SELECT COUNT(*) FROM lk_values WHERE path = 'invoice/7'" 0
ok 'but has locked' is "SELECT owner FROM lk_locks WHERE path = 'invoice/7'" me
ok 'the item of the other one is done' is "SELECT COUNT(*) FROM lk_work WHERE queue = 'bills'" 0
ok 'there are no more' [ "$(grep -c '^```sql' "$page")" -eq 4 ]

# ---- the examples ----

cd "$here/../.." || exit 1
deploy() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" test <examples/sql/deploy-mariadb.sql \
        >"$work/out" 2>"$work/err"
}
draw() { # with the Python of the packages
    /usr/bin/python3 "${1-examples/sql/counter.py}" "$LK_TEST_SERVER/socket" test >"$work/out" 2>"$work/err"
}
ok 'the script for mariadb' deploy
ok 'has its release' is 'SELECT version FROM releases' 2.0
ok 'and has let the lock go' is "SELECT COUNT(*) FROM lk_requests WHERE path = 'deploy'" 0
sql "DELETE FROM releases; CALL lk_lock_acquire('deploy', 'another', NULL)" >"$work/out"
deploy
ok 'it ends with 1 where another one deploys' [ $? -eq 1 ]
ok 'and says why' grep -q 'LK075.*not granted: another holds deploy' "$work/err"
ok 'and has done nothing more' is 'SELECT COUNT(*) FROM releases' 0

ok 'by PyMySQL a number is drawn' draw
ok 'which is the first' [ "$(cat "$work/out")" = 1 ]
ok 'and the next one' draw
ok 'is the second' [ "$(cat "$work/out")" = 2 ]
sql "CALL lk_lock_acquire('bills/number', 'another', NULL)" >"$work/out"
ok 'where another one draws' [ "$(draw; grep -c 'not granted: another holds bills/number' "$work/err")" = 1 ]
sql "CALL lk_lock_release('bills/number', 'another', NULL, NULL, NULL)" >"$work/out"
# It loses its lease while it counts: it is broken.
sed "s|^        try:|        call(cursor, 'lk_lock_break', path, 'a test', '{\"now\": true}')\n&|" \
    examples/sql/counter.py >"$work/loser.py"
ok 'a lease that is lost' [ "$(draw "$work/loser.py"; grep -c 'the lease was lost' "$work/err")" = 1 ]
ok 'writes nothing' is "SELECT bytes FROM lk_values WHERE path = 'bills/number'" 2

order() { # BUYERS, and what ends the transaction
    sql "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
        INSERT INTO orders (buyer) VALUES $1; $2"
}
work_on() { # PROGRAM
    /usr/bin/python3 "$1" "$LK_TEST_SERVER/socket" test >"$work/out" 2>"$work/err"
}
ok 'a trigger announces orders' run_file examples/sql/outbox-mariadb.sql
ok 'which are inserted' order "('ana'), ('ben')" COMMIT
ok 'or not' order "('cem')" ROLLBACK
ok 'a worker works on them' work_on examples/sql/worker-mariadb.py
ok 'on each that is there' [ "$(tr '\n' ' ' <"$work/out")" = 'sent to ana sent to ben ' ]
ok 'and says so in the table' is 'SELECT COUNT(*), COUNT(sent) FROM orders' '2|2'
ok 'nothing is left' is "SELECT COUNT(*) FROM lk_work WHERE queue = 'orders'" 0
order "('dan')" COMMIT
sed "s|^def finish(.*|&\n    call(cursor, 'lk_lock_break', 'orders/' + item['id'], 'a test', '{\"now\": true}')\n    call(cursor, 'lk_work_claim', 'orders', 1, 'thief', None)|" \
    examples/sql/worker-mariadb.py >"$work/loser.py"
ok 'a worker that loses its claim' work_on "$work/loser.py"
ok 'says so' grep -q 'was taken by another worker' "$work/out"
ok 'and writes nothing' is "SELECT COUNT(*) FROM orders WHERE buyer = 'dan' AND sent IS NULL" 1

pay() { # AMOUNT: by JDBC
    java -XX:TieredStopAtLevel=1 -cp /usr/share/java/mariadb-java-client.jar examples/sql/Payment.java \
        "jdbc:mariadb://127.0.0.1:$LK_TEST_PORT/test?user=root" "$1" >"$work/out" 2>"$work/err"
}
nothing_is_locked() {
    is "SELECT COUNT(*) FROM lk_requests WHERE path = 'payments/last'" 0
}
sql 'CREATE TABLE payments (amount INT CHECK (amount > 0)) ENGINE=InnoDB' >"$work/out"
ok 'by JDBC a payment is booked' pay 7
ok 'with its value' is "SELECT amount, (SELECT bytes FROM lk_values WHERE path = 'payments/last') FROM payments" '7|7'
ok 'and the lock is free' nothing_is_locked
pay -7
ok 'one that the table refuses' [ $? -eq 1 ]
ok 'leaves no value' is "SELECT bytes FROM lk_values WHERE path = 'payments/last'" 7
ok 'and no lock' nothing_is_locked
sql "CALL lk_lock_acquire('payments', 'another', NULL)" >"$work/out"
pay 8
ok 'where another one books' grep -q '^LK075: .*not granted: another holds payments' "$work/out"
ok 'nothing is booked' is 'SELECT COUNT(*) FROM payments' 1
finish
