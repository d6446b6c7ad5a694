# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Servers and their standbys. A server is a directory with its socket and, in data, its files.
#
#   on_server DIRECTORY PG_CTL-ARGUMENT...
#   make_standby PRIMARY DIRECTORY [SETTING...]
#                  makes and starts a standby that streams from the primary
. "${0%/*}/unprivileged.sh"
programs=${LK_TEST_POSTGRES_BIN:?is set by with_server.sh}

on_server() {
    data=$1/data
    shift
    (cd / && unprivileged "$programs/pg_ctl" -D "$data" "$@")
}

make_standby() {
    primary=$1 copy=$2
    shift 2
    [ "$(id -u)" -ne 0 ] || chown postgres "$copy"
    (cd / && unprivileged "$programs/pg_basebackup" -h "$primary" -U postgres -R -N \
        -c fast -D "$copy/data") &&
        on_server "$copy" -l "$copy/log" -w -s -o "-k $copy -c listen_addresses='' \
            -c hot_standby=on -c max_connections=200 $*" start
}
