#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh ... restart.sh
#
# Kills the server (SIGKILL), and starts it again.
set -u
: "${LK_TEST_SERVER:?is set by with_server.sh}" "${LK_TEST_PORT:?}"

server=$(cat "$LK_TEST_SERVER/pid")
kill -9 "$server"
while kill -0 "$server" 2>/dev/null; do
    sleep 0.02
done
# Another process may have had the port for a moment.
tries=0
until "$LK_TEST_SERVER/start" "$LK_TEST_PORT"; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || exit 1
    sleep 1
done
