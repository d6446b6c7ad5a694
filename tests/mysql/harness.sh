# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts here share: tests/procedures/harness.sh with this server's client.
. "${0%/*}/../procedures/harness.sh"

unset MYSQL_PWD
server="socket=$LK_TEST_SERVER/socket" # in a URL

sql() {
    mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -N -B -e "$1" "${2:-test}" 2>"$work/err"
}
