#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh --server --log-bin ... binlog.sh LK
#
# A server with a binary log: in STATEMENT format it can keep no store, which is said; in the others
# users make theirs without rights over the server. Prints TAP.
set -u
lk=${1:?the program under test}
: "${LK_TEST_SERVER:?is set by with_server.sh}"

url="mysql://app@/test?socket=$LK_TEST_SERVER/socket"
out=$LK_TEST_SERVER/out
count=0 failures=0

sql() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -e "$1" test
}

report() { # CODE TITLE
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' "$out"
        failures=$((failures + 1))
    fi
}

asks() {
    "$lk" -S "$url" acquire --try --owner me db/t1 >"$out" 2>&1
}

sql "CREATE USER app; GRANT ALL ON test.* TO app; SET GLOBAL binlog_format = 'STATEMENT'"
asks
[ $? -eq 69 ] && grep -q 'STATEMENT.*ROW or MIXED' "$out"
report $? 'a log in STATEMENT format is UNAVAILABLE, with what to do'
sql "SHOW TABLES; SELECT ROUTINE_NAME FROM information_schema.ROUTINES
     WHERE ROUTINE_SCHEMA = 'test'" >"$out"
[ ! -s "$out" ]
report $? 'and nothing is made'
for format in MIXED ROW; do
    sql "SET GLOBAL binlog_format = '$format'"
    asks
    report $? "in $format it is kept"
done
sql "SET GLOBAL binlog_format = 'STATEMENT'"
"$lk" -S "$url" release --owner me db/t1 >"$out" 2>&1
[ $? -eq 69 ] && grep -q 'STATEMENT.*ROW or MIXED' "$out"
report $? 'a store that is there says the same'
sql "SET GLOBAL binlog_format = 'ROW'"
"$lk" -S "$url" release --owner me db/t1 >"$out" 2>&1
report $? 'and has lost nothing'

echo "1..$count"
[ "$failures" -eq 0 ]
