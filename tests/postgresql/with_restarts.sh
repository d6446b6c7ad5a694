#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh with_restarts.sh COMMAND [ARGUMENT...]
#
# Runs a command while the private server is restarted again and again: at once, as after a crash,
# and in an orderly way, which ends the connections of all clients too.
set -u
. "${0%/*}/servers.sh"
: "${LK_TEST_SERVER:?is set by with_server.sh}"

data=$LK_TEST_SERVER/data
programs=${LK_TEST_POSTGRES_BIN:?is set by with_server.sh}

# Twice as long as elsewhere: half of the time the server is away. And long enough for restarts.
scale=$((${LK_TEST_SCALE:-100} * 2))
[ "$scale" -ge 100 ] || scale=100
LK_TEST_SCALE=$scale "$@" &
command=$!
trap 'kill "$command" 2>/dev/null' EXIT
trap 'exit 143' TERM INT HUP

restarts=0 mode=immediate
while [ "$restarts" -lt 8 ]; do
    sleep 1 # of work, between two of them
    kill -0 "$command" 2>/dev/null || break
    # The server goes on with what it was started with; its words go to the log, not to us.
    (cd / && unprivileged "$programs/pg_ctl" -D "$data" -m "$mode" -w -s \
        -l "$LK_TEST_SERVER/log" restart) >/dev/null 2>&1 || break
    restarts=$((restarts + 1))
    [ "$mode" = fast ] && mode=immediate || mode=fast
done
wait "$command"
code=$?
echo "# $restarts restarts of the server"
if [ "$code" -eq 0 ] && [ "$restarts" -lt 2 ]; then
    echo 'the server was not restarted: nothing was tested' >&2
    exit 1
fi
exit "$code"
