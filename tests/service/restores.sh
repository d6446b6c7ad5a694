#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: restores.sh LK COMMAND [ARGUMENT...]
#        restores.sh --restart MS lk+unix:SOCKET|sqlite:FILE
#
# Runs a command beside a service; {store} in an argument is replaced by its directory, in which its
# socket is `socket`. The other way: a backup of the service's file, MS milliseconds in which it is
# used, the service killed, the backup put in its place as docs/operations.md has it, and the service
# started again; or a backup of a file without a service, these milliseconds, and the backup restored
# in place.
set -eu
. "${0%/*}/../procedures/restarts.sh"

start() { # DIRECTORY: returns when the service says that it is there
    mkfifo "$1/says"
    "$LK_PROGRAM" serve --unix "$1/socket" --http none --dir "$1/state" >"$1/says" &
    echo $! >"$1/pid"
    read -r _ <"$1/says"
    rm "$1/says"
}

by_hand() { # COMMAND
    sqlite3 -batch -bail -cmd '.timeout 60000' "$file" "$1" >&2
}

restart() { # MS DIRECTORY
    file=$2/state/locks.db
    kept=$(before_us)
    by_hand ".backup '$2/copy'"
    taken=$(after_us)
    pass "$1"
    gone=$(before_us)
    end_process "$(cat "$2/pid")"
    mv "$2/copy" "$file"
    rm -f "$file-wal" "$file-shm"
    start "$2"
    restarted "$gone" "$(after_us)" "$kept" "$taken"
}

restore() { # MS FILE
    file=$2
    kept=$(before_us)
    by_hand ".backup '$file.copy'"
    taken=$(after_us)
    pass "$1"
    gone=$(before_us)
    by_hand ".restore '$file.copy'"
    restarted "$gone" "$(after_us)" "$kept" "$taken" unnoticed
}

if [ "$1" = --restart ]; then
    case $3 in
    sqlite:*) restore "$2" "${3#sqlite:}" ;;
    *)
        directory=${3#lk+unix:}
        restart "$2" "${directory%/socket}"
        ;;
    esac
    exit
fi

LK_PROGRAM=$1
export LK_PROGRAM
shift
service=$(mktemp -d "${TMPDIR:-/tmp}/lk-test.XXXXXX")
# shellcheck disable=SC2317 # called by the trap
stop() {
    kill -9 "$(cat "$service/pid")" 2>/dev/null
    rm -rf "$service"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP
start "$service"
run_on "$service" "$@"
