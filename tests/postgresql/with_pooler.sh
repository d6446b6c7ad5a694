#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh with_pooler.sh COMMAND [ARGUMENT...]
#
# Runs a command beside a pgbouncer in transaction mode, in front of the private server: no two
# transactions of a client need meet the same connection. {pool} in an argument is replaced by the
# directory of its socket, and $LK_TEST_POOL is it.
set -u
: "${LK_TEST_SERVER:?is set by with_server.sh}"

pool=$(mktemp -d) || exit 1
pooler=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    [ -z "$pooler" ] || kill -INT "$pooler" 2>/dev/null
    [ -z "$pooler" ] || wait "$pooler" 2>/dev/null
    rm -rf "$pool"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP

cat >"$pool/pgbouncer.ini" <<-END
	[databases]
	* = host=$LK_TEST_SERVER
	[pgbouncer]
	pool_mode = transaction
	default_pool_size = 6
	max_client_conn = 200
	auth_type = trust
	auth_file = $pool/users
	listen_addr =
	unix_socket_dir = $pool
	listen_port = 5432
	logfile = $pool/log
END
echo '"postgres" ""' >"$pool/users"
chmod 755 "$pool"
if [ "$(id -u)" -eq 0 ]; then # pgbouncer refuses to be root
    chown -R postgres "$pool"
    setpriv --reuid postgres --regid postgres --clear-groups --inh-caps=-all \
        pgbouncer -q "$pool/pgbouncer.ini" &
else
    pgbouncer -q "$pool/pgbouncer.ini" &
fi
pooler=$!
tries=0
while ! "$(pg_config --bindir)/psql" -h "$pool" -U postgres -Atqc 'SELECT 1' postgres >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ] || ! kill -0 "$pooler" 2>/dev/null; then
        cat "$pool/log" >&2
        exit 1
    fi
    sleep 0.1
done
LK_TEST_POOL=$pool
export LK_TEST_POOL

arguments_left=$#
while [ "$arguments_left" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    *'{pool}'*) argument=${argument%%'{pool}'*}$pool${argument#*'{pool}'} ;;
    esac
    set -- "$@" "$argument"
    arguments_left=$((arguments_left - 1))
done
"$@"
