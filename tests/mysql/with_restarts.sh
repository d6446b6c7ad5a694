#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh with_restarts.sh COMMAND [ARGUMENT...]
#
# Runs a command while the server is killed (SIGKILL) and started again, over and over. On a slow
# machine it works for longer in between: as long as it takes to start.
set -u
: "${LK_TEST_SERVER:?is set by with_server.sh}" "${LK_TEST_PORT:?}"

"$@" &
child=$!
trap 'kill "$child" 2>/dev/null' TERM INT HUP
restarts=0 pause_s=2
while sleep "$pause_s" && kill -0 "$child" 2>/dev/null; do
    begun_s=$(date +%s)
    "${0%/*}/restart.sh" || exit 1
    restarts=$((restarts + 1))
    pause_s=$(($(date +%s) - begun_s + 1))
    [ "$pause_s" -ge 2 ] || pause_s=2
done
wait "$child"
code=$?
echo "# the server was killed and started again $restarts times"
[ "$restarts" -gt 0 ] || exit 1
exit "$code"
