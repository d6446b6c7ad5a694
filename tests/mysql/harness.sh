# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts here share: tests/procedures/harness.sh with this server's client.
#
#   run_file FILE [DATABASE]  a text of SQL, up to its first error
#   client                    runs the statements on its stdin, each as it comes
#   lock_root ROOT            prints SQL: a transaction that locks a root and answers its name
#   $requests                 the table of requests
#   $count_made               SQL that counts what there is of the store
. "${0%/*}/../procedures/harness.sh"

unset MYSQL_PWD
server="socket=$LK_TEST_SERVER/socket" # in a URL
requests=lk_requests
count_made="SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test')
    + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'test')"

sql() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -e "$1" "${2:-test}" 2>"$work/err"
}

run_file() {
    mariadb --no-defaults --comments -u root -S "$LK_TEST_SERVER/socket" "${2:-test}" <"$1" \
        >"$work/out" 2>"$work/err"
}

client() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -n -N -B test
}

lock_root() {
    echo "START TRANSACTION; SELECT r.root FROM lk_roots AS r WHERE r.root = '$1' FOR UPDATE;"
}
