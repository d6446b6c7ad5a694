#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh conversion_cycles.sh LK
#
# Conversions of waiting requests in cycles over two roots (tests/procedures/conversion_cycles.sh). Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/../procedures/conversion_cycles.sh"

LK_STORE="postgresql://postgres@/postgres?$server"
export LK_STORE

session() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atq postgres
}

rename_sql() {
    echo "UPDATE lockkeeper.requests
          SET owner = 'a-$1', identity = lockkeeper.identity('a-$1', 'right-$1/x')
          WHERE owner = 'other'"
}

# A part that is not converted is written by nothing but the end of its request.
hold_sql() {
    echo "SELECT FROM lockkeeper.parts AS p JOIN lockkeeper.requests AS r ON r.id = p.request
          WHERE r.owner = 'b-$1' AND NOT r.held FOR UPDATE OF p"
}

blocked_sql() {
    echo 'SELECT count(*) FROM pg_locks WHERE NOT granted'
}

play_conversions
finish
