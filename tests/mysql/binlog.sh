#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh --server --log-bin ... binlog.sh LK
#
# A server with a binary log: in STATEMENT format it can keep no store, which is said; in the others
# users make theirs without rights over the server. Prints TAP.
. "${0%/*}/harness.sh"

url="mysql://app@/test?$server"

asks() {
    "$lk" -S "$url" acquire --try --owner me db/t1 >"$work/out" 2>&1
}

sql "CREATE USER app; GRANT ALL ON test.* TO app; SET GLOBAL binlog_format = 'STATEMENT'"
asks
[ $? -eq 69 ] && grep -q 'STATEMENT.*ROW or MIXED' "$work/out"
report $? 'a log in STATEMENT format is UNAVAILABLE, with what to do'
sql "SHOW TABLES; SELECT ROUTINE_NAME FROM information_schema.ROUTINES
     WHERE ROUTINE_SCHEMA = 'test'" >"$work/out"
[ ! -s "$work/out" ]
report $? 'and nothing is made'
for format in MIXED ROW; do
    sql "SET GLOBAL binlog_format = '$format'"
    asks
    report $? "in $format it is kept"
done
sql "SET GLOBAL binlog_format = 'STATEMENT'"
"$lk" -S "$url" release --owner me db/t1 >"$work/out" 2>&1
[ $? -eq 69 ] && grep -q 'STATEMENT.*ROW or MIXED' "$work/out"
report $? 'a store that is there says the same'
sql "SET GLOBAL binlog_format = 'ROW'"
"$lk" -S "$url" release --owner me db/t1 >"$work/out" 2>&1
report $? 'and has lost nothing'

finish
