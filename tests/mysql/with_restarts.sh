#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh with_restarts.sh COMMAND [ARGUMENT...]
#
# Runs a command while the server is killed (SIGKILL) and started again, over and over.
set -u
: "${LK_TEST_SERVER:?is set by with_server.sh}" "${LK_TEST_PORT:?}"

"$@" &
child=$!
trap 'kill "$child" 2>/dev/null' TERM INT HUP
restarts=0
while sleep 2 && kill -0 "$child" 2>/dev/null; do
    "${0%/*}/restart.sh" || exit 1
    restarts=$((restarts + 1))
done
wait "$child"
code=$?
echo "# the server was killed and started again $restarts times"
[ "$restarts" -gt 0 ] || exit 1
exit "$code"
