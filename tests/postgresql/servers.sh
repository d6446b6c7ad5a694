# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Servers and their standbys. A server is a directory with its socket and, in data, its files.
#
#   unprivileged COMMAND...   as the user postgres if this is root, as which the server refuses to run
#   on_server DIRECTORY PG_CTL-ARGUMENT...
#   make_standby PRIMARY DIRECTORY [SETTING...]
#                             makes and starts a standby that streams from the primary
#
# Beside the private server, behind harness.sh: a standby in $work/standby.
#
#   start_standby    makes and starts it
#   stop_standby     stops it, if it was made
#   promote_standby  makes a primary of it
#   stop_primary     the private server is gone, as after a crash
#
# $standby is what `sql` and psql take for its database postgres.
programs=${LK_TEST_POSTGRES_BIN-} # is set by with_server.sh
standby="host=${work-}/standby dbname=postgres"
[ -z "${work-}" ] || chmod 755 "$work"

unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid postgres --regid postgres --clear-groups --inh-caps=-all "$@"
    else
        "$@"
    fi
}

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

# ---- one standby ----

start_standby() {
    mkdir "$work/standby"
    make_standby "$LK_TEST_SERVER" "$work/standby" >"$work/out" 2>&1
}

# shellcheck disable=SC2317 # called by traps
stop_standby() {
    [ ! -d "$work/standby/data" ] || on_server "$work/standby" -m immediate stop >/dev/null 2>&1
}

promote_standby() {
    on_server "$work/standby" -w -s promote >"$work/out" 2>&1
}

stop_primary() {
    on_server "$LK_TEST_SERVER" -m immediate -w -s stop >"$work/out" 2>&1
}
