#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh failovers.sh COMMAND [ARGUMENT...]
#        failovers.sh --restart MS URL
#
# Runs a command beside the private server and an asynchronous standby, in {store}. The other way: a
# fail-over. The standby has all that was answered, and nothing of what comes in the MS milliseconds
# until the primary is killed; then it is promoted, and the other one is made a standby of it.
set -eu
. "${0%/*}/servers.sh"
. "${0%/*}/../procedures/directory.sh"
. "${0%/*}/../procedures/restarts.sh"

ask() { # DIRECTORY SQL...: each statement by itself
    directory=$1
    shift
    for statement in "$@"; do
        echo "$statement;"
    done | psql -h "$directory" -U postgres -v ON_ERROR_STOP=1 -Atq postgres
}

poll() { # CONDITION: a statement that lasts until it is true
    echo "DO \$\$ BEGIN WHILE NOT ($1) LOOP PERFORM pg_sleep(0.01); END LOOP; END \$\$"
}

fail_over() { # MS
    primary=$LK_TEST_SERVER standby=$LK_TEST_STANDBY
    if [ -e "$primary/data/standby.signal" ]; then
        primary=$LK_TEST_STANDBY standby=$LK_TEST_SERVER
    fi
    kept=$(before_us)
    flushed=$(ask "$primary" 'SELECT pg_current_wal_flush_lsn()')
    ask "$standby" "$(poll "pg_last_wal_receive_lsn() >= '$flushed'")" \
        "ALTER SYSTEM SET primary_conninfo = ''" 'SELECT pg_reload_conf()' \
        "$(poll 'NOT EXISTS (SELECT FROM pg_stat_wal_receiver)')" >/dev/null
    taken=$(after_us)
    pass "$1"
    gone=$(before_us)
    on_server "$primary" -m immediate -w -s stop >&2
    on_server "$standby" -w -s promote >&2
    restarted "$gone" "$(after_us)" "$kept" "$taken"
    rm -rf "$primary/data"
    make_standby "$standby" "$primary" '-c fsync=off' >&2
}

if [ "$1" = --restart ]; then
    fail_over "$2"
    exit
fi

LK_TEST_STANDBY=$(server_directory)
export LK_TEST_STANDBY
# shellcheck disable=SC2317 # called by the trap
stop() {
    on_server "$LK_TEST_STANDBY" -m immediate stop >/dev/null 2>&1
    rm -rf "$LK_TEST_STANDBY"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP
chmod 755 "$LK_TEST_STANDBY"
make_standby "$LK_TEST_SERVER" "$LK_TEST_STANDBY" '-c fsync=off' >&2
run_on "$LK_TEST_STANDBY" "$@"
