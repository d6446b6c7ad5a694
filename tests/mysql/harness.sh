# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts here share: tests/procedures/harness.sh with this server's client.
#
#   run_file FILE [DATABASE]  a text of SQL, up to its first error
. "${0%/*}/../procedures/harness.sh"

unset MYSQL_PWD
server="socket=$LK_TEST_SERVER/socket" # in a URL

sql() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -e "$1" "${2:-test}" 2>"$work/err"
}

run_file() {
    mariadb --no-defaults --comments -u root -S "$LK_TEST_SERVER/socket" "${2:-test}" <"$1" \
        >"$work/out" 2>"$work/err"
}
