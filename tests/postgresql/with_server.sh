#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh [--durable] [--server SETTING]... COMMAND [ARGUMENT...]
#
# Runs a command beside a private PostgreSQL server: on a unix socket in a temporary directory, for
# as long as the command runs. {server} in an argument is replaced by that directory, and
# $LK_TEST_SERVER is it: libpq's host=, user postgres, database postgres. What the server wrote
# is in its file `log`; its last errors are shown when the command fails. --durable: the
# server flushes to the disk, as a real one does; otherwise not. --server: one more setting, NAME=VALUE.
#
# The server's programs are those that are installed, or those in $LK_TEST_POSTGRES_BIN, which the
# command gets these.
set -u
. "${0%/*}/servers.sh"
. "${0%/*}/../procedures/directory.sh"

settings='-c fsync=off' durable=''
while :; do
    case ${1-} in
    --durable)
        settings='' durable=--durable
        shift
        ;;
    --server)
        settings="$settings -c $2"
        shift 2
        ;;
    *) break ;;
    esac
done

programs=${LK_TEST_POSTGRES_BIN-}
[ -n "$programs" ] || programs=$(pg_config --bindir) || exit 1
for directory in /usr/lib/postgresql/*/bin; do # the client's pg_config may know of no server
    [ -x "$programs/initdb" ] || programs=$directory
done
# shellcheck disable=SC2086 # a word, or none
server=$(server_directory $durable) || exit 1
child=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    unprivileged "$programs/pg_ctl" -D "$server/data" -m immediate stop >/dev/null 2>&1
    rm -rf "$server"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP

chmod 755 "$server"
if [ "$(id -u)" -eq 0 ]; then
    chown postgres "$server"
fi

# shellcheck disable=SC2317 # called by made_once
make_cluster() {
    (cd / && unprivileged "$programs/initdb" -D "$server/data" -A trust -U postgres \
        -E UTF8 --locale=C.UTF-8 -N >"$server/initdb.log" 2>&1)
}
if ! made_once "postgresql$(echo "$programs" | tr / -)" "$server/data" make_cluster; then
    cat "$server/initdb.log" >&2
    exit 1
fi
if ! (cd / && unprivileged "$programs/pg_ctl" -D "$server/data" -l "$server/log" -w -s \
    -o "-k $server -c listen_addresses='' -c max_connections=200 $settings" start); then
    cat "$server/log" >&2
    exit 1
fi
LK_TEST_SERVER=$server LK_TEST_POSTGRES_BIN=$programs
export LK_TEST_SERVER LK_TEST_POSTGRES_BIN

arguments_left=$#
while [ "$arguments_left" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    *'{server}'*) argument=${argument%%'{server}'*}$server${argument#*'{server}'} ;;
    esac
    set -- "$@" "$argument"
    arguments_left=$((arguments_left - 1))
done
"$@" &
child=$!
wait "$child"
code=$?
child=''
[ "$code" -eq 0 ] ||
    grep -E 'ERROR|FATAL|PANIC' "$server/log" | tail -n 20 | sed 's/^/# server: /'
exit "$code"
