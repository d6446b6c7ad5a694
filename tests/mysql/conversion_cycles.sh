#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh conversion_cycles.sh LK
#
# Conversions of waiting requests in cycles over two roots (tests/procedures/conversion_cycles.sh). Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/../procedures/conversion_cycles.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE

session() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -n test
}

rename_sql() {
    echo "UPDATE lk_requests
          SET owner = 'a-$1', identity = UNHEX(SHA2(CONCAT(path, '\\n', 'a-$1'), 256))
          WHERE owner = 'other'"
}

# Withdrawals follow each other by the lock of this row.
hold_sql() {
    echo 'SELECT format FROM lk_meta FOR UPDATE'
}

blocked_sql() {
    echo "SELECT count(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
}

play_conversions
finish
