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

unset PGPASSWORD
PGPASSFILE=$work/none
export PGPASSFILE
server="host=$LK_TEST_SERVER" # in a URL
requests=lockkeeper.requests
count_made="SELECT count(*) FROM pg_namespace WHERE nspname = 'lockkeeper'"

sql() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atqc "$1" "${2:-postgres}" 2>"$work/err"
}

run_file() {
    psql -h "$LK_TEST_SERVER" -U postgres -v ON_ERROR_STOP=1 -qf "$1" "${2:-postgres}" \
        >"$work/out" 2>"$work/err"
}

client() {
    psql -h "$LK_TEST_SERVER" -U postgres -Atq postgres
}

lock_root() {
    echo "BEGIN; SELECT '$1'
        FROM pg_advisory_xact_lock(hashtextextended('lockkeeper/$1', 0));"
}
