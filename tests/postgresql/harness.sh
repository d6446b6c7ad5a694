# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts here share: tests/procedures/harness.sh with this server's client.
#
#   run_file FILE [DATABASE]  a text of SQL, up to its first error
. "${0%/*}/../procedures/harness.sh"

unset PGPASSWORD
PGPASSFILE=$work/none
export PGPASSFILE
server="host=$LK_TEST_SERVER" # in a URL

sql() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atqc "$1" "${2:-postgres}" 2>"$work/err"
}

run_file() {
    psql -h "$LK_TEST_SERVER" -U postgres -v ON_ERROR_STOP=1 -qf "$1" "${2:-postgres}" \
        >"$work/out" 2>"$work/err"
}
