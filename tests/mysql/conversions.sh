#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh conversions.sh LK
#
# Conversions of waiting requests in cycles over two roots, and of a lease whose grant comes late (tests/procedures/conversions.sh). Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/../procedures/conversions.sh"

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

play_delayed_grant
play_conversions
finish
