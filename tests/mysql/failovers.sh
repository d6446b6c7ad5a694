#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh --server --log-bin --server --server-id=1 with_server.sh --server --log-bin
#            --server --server-id=2 failovers.sh {server} {port} COMMAND [ARGUMENT...]
#        failovers.sh --restart MS URL
#
# Runs a command beside two servers, one of which replicates the other asynchronously; {store} in an
# argument is replaced by a directory whose `socket` leads to the primary. The other way: a fail-over. The
# replica has all that was answered, and nothing of what comes in the MS milliseconds until the primary
# is killed; then it takes over, and a replica of it is made of the other one.
set -eu
. "${0%/*}/replica.sh"
. "${0%/*}/../procedures/restarts.sh"

lead_to() { # DIRECTORY: clients go there
    ln -s "$1/socket" "$LK_TEST_STORE/next"
    mv -T "$LK_TEST_STORE/next" "$LK_TEST_STORE/socket"
    echo "$1" >"$LK_TEST_STORE/primary"
}

fail_over() { # MS
    primary=$LK_TEST_FIRST primary_port=$LK_TEST_FIRST_PORT
    replica=$LK_TEST_SERVER replica_port=$LK_TEST_PORT
    if [ "$(cat "$LK_TEST_STORE/primary")" = "$replica" ]; then
        primary=$LK_TEST_SERVER primary_port=$LK_TEST_PORT
        replica=$LK_TEST_FIRST replica_port=$LK_TEST_FIRST_PORT
    fi
    speak "$primary"
    kept=$(before_us)
    place=$(position "$primary")
    at "$replica" "DO $reached('${place%%	*}', ${place##*	}, 60); $stop"
    taken=$(after_us)
    pass "$1"
    gone=$(before_us)
    end_process "$(cat "$primary/pid")"
    forget "$replica"
    place=$(position "$replica") # before a client changes something there
    mariadb-dump --no-defaults -u root -S "$replica/socket" --routines --single-transaction test \
        >"$LK_TEST_STORE/dump.sql"
    lead_to "$replica"
    restarted "$gone" "$(after_us)" "$kept" "$taken"
    until_true "$primary/start" "$primary_port"
    at "$primary" 'DROP DATABASE test; CREATE DATABASE test' ''
    mariadb --no-defaults --comments -u root -S "$primary/socket" test <"$LK_TEST_STORE/dump.sql"
    replicate "$primary" "$replica_port" "$place"
}

if [ "$1" = --restart ]; then
    fail_over "$2"
    exit
fi

LK_TEST_FIRST=$1 LK_TEST_FIRST_PORT=$2
LK_TEST_STORE=$(mktemp -d "${TMPDIR:-/tmp}/lk-test.XXXXXX")
export LK_TEST_FIRST LK_TEST_FIRST_PORT LK_TEST_STORE
shift 2
trap 'rm -rf "$LK_TEST_STORE"' EXIT
trap 'exit 143' TERM INT HUP
speak "$LK_TEST_FIRST"
for server in "$LK_TEST_FIRST" "$LK_TEST_SERVER"; do
    at "$server" "CREATE USER copy@127.0.0.1; GRANT REPLICATION SLAVE ON *.* TO copy@127.0.0.1"
done
replicate "$LK_TEST_SERVER" "$LK_TEST_FIRST_PORT" "$(position "$LK_TEST_FIRST")"
lead_to "$LK_TEST_FIRST"
run_on "$LK_TEST_STORE" "$@"
