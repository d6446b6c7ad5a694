#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh [--durable] [--server OPTION]... COMMAND [ARGUMENT...]
#
# Runs a command beside a private server: on a unix socket in a temporary directory and on a port of
# loopback, for as long as the command runs. {server} in an argument is replaced by that directory, in
# which the socket is `socket`, and {port} by the port; $LK_TEST_SERVER and $LK_TEST_PORT are these.
# User root, no password, database test. What the server wrote is in its file `log`; its last
# errors are shown when the command fails. Its number is in the file `pid`, and the program `start`
# there starts it again, once it is ended, and waits until it answers.
# --durable: the server flushes to the disk, as a real one does; otherwise not. --server: one more
# option of the server.
#
# The server is the MariaDB that is installed, or what is in the directory $LK_TEST_MYSQL_BIN:
# mariadbd and mariadb-install-db, or else MySQL's mysqld. The clients are always the installed ones.
set -u
. "${0%/*}/../procedures/directory.sh"

settings='--innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --sync-binlog=0'
settings="$settings --innodb-file-per-table=0"
durable='' # making tables costs a flush each, whatever is set: not in memory
while :; do
    case ${1-} in
    --durable)
        settings='' durable=--durable
        shift
        ;;
    --server)
        settings="$settings $2"
        shift 2
        ;;
    *) break ;;
    esac
done

# shellcheck disable=SC2086 # a word, or none
server=$(server_directory $durable) || exit 1
child=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    mariadbd=$(cat "$server/pid" 2>/dev/null) && kill -9 "$mariadbd" 2>/dev/null
    while kill -0 "${mariadbd:-none}" 2>/dev/null; do
        sleep 0.02
    done
    rm -rf "$server"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP

if [ "$(id -u)" -eq 0 ]; then # as root the server needs an option for that
    as_root=--user=root
    settings="$settings $as_root"
fi
programs=${LK_TEST_MYSQL_BIN:+$LK_TEST_MYSQL_BIN/}

# shellcheck disable=SC2086,SC2317 # an option, or none; called by made_once
install_mariadb() {
    "${programs}mariadb-install-db" --no-defaults ${as_root-} --datadir="$server/data" \
        --tmpdir="$server" --skip-test-db --auth-root-authentication-method=normal \
        --innodb-log-file-size=10M >"$server/log" 2>&1
}

# shellcheck disable=SC2086 # options, each a word
if [ -z "$programs" ] || [ -x "${programs}mariadbd" ]; then
    daemon=${programs}mariadbd
    set_up='' no_tls=--skip-ssl
    settings="$settings --loose-sync-frm=0 --innodb-log-file-size=10M"
    made_once "mysql$(echo "$programs" | tr / -)" "$server/data" install_mariadb
else
    daemon=${programs}mysqld
    set_up='CREATE USER root@127.0.0.1; GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;'
    no_tls=--tls-version=
    settings="$settings --mysqlx=OFF --secure-file-priv="
    "$daemon" --no-defaults $settings $no_tls --initialize-insecure --datadir="$server/data" \
        >"$server/log" 2>&1
fi || {
    cat "$server/log" >&2
    exit 1
}

case $settings in
*--ssl-cert=*) ;;
*) settings="$settings $no_tls" ;; # it would make a certificate of its own
esac

# The clients of MariaDB 11.4 and later ask for TLS, unless they are told not to.
mkdir "$server/bin"
for client in mariadb mariadb-admin mariadb-dump; do
    printf '#!/bin/sh\n[ "$1" != --no-defaults ] || shift\nexec "%s" --no-defaults --skip-ssl "$@"\n' \
        "$(command -v "$client")" >"$server/bin/$client"
    chmod +x "$server/bin/$client"
done
case $settings in
*"$no_tls"*) PATH=$server/bin:$PATH ;;
esac

# Starts it on a port that was free a moment ago; when it is not any more, on another.
cat >"$server/start" <<END
#!/bin/sh
rm -f "$server/socket" "$server/pid"
setsid "$daemon" --no-defaults --datadir="$server/data" --tmpdir="$server" \\
    --socket="$server/socket" --bind-address=127.0.0.1 --port="\$1" --pid-file="$server/pid" \\
    --max-connections=300 --innodb-buffer-pool-size=64M \\
    --character-set-server=latin1 --skip-name-resolve $settings \\
    >>"$server/log" 2>&1 &
while ! mariadb-admin --no-defaults -u root -S "$server/socket" ping >/dev/null 2>&1; do
    kill -0 \$! 2>/dev/null || exit 1
    sleep 0.05
done
END
chmod +x "$server/start"
LK_TEST_SERVER=$server
export LK_TEST_SERVER LK_TEST_PORT
tries=0
while :; do
    LK_TEST_PORT=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    ! "$server/start" "$LK_TEST_PORT" || break
    tries=$((tries + 1))
    if [ "$tries" -eq 5 ]; then
        cat "$server/log" >&2
        exit 1
    fi
done
mariadb --no-defaults -u root -S "$server/socket" -e "$set_up CREATE DATABASE test" || exit 1

arguments_left=$#
while [ "$arguments_left" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    *'{server}'*) argument=${argument%%'{server}'*}$server${argument#*'{server}'} ;;
    esac
    case $argument in
    *'{port}'*) argument=${argument%%'{port}'*}$LK_TEST_PORT${argument#*'{port}'} ;;
    esac
    set -- "$@" "$argument"
    arguments_left=$((arguments_left - 1))
done
"$@" &
child=$!
wait "$child"
code=$?
child=''
[ "$code" -eq 0 ] || grep -E 'ERROR' "$server/log" | tail -n 20 | sed 's/^/# server: /'
exit "$code"
