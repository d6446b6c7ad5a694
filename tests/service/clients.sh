#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clients that others wrote: redis-cli, the client of Node.js, curl.
. "${0%/*}/harness.sh"

scenario 'redis-cli'
serve --listen 127.0.0.1:0 --http none --ephemeral
port=$(sed 's/.*://' "$work/served")
cli() { timeout 60 redis-cli -p "$port" "$@"; }
[ "$(cli PING)" = PONG ] || complain 'PING'
[ "$(cli -3 --json ACQUIRE a/b OWNER ana TTL 60000 | jq -r .status)" = granted ] || complain 'ACQUIRE'
[ "$(cli -3 --json ACQUIRE a/b OWNER ben | jq -r .status)" = busy ] || complain 'busy'
[ "$(cli RENEW a/b OWNER ana)" = OK ] || complain 'RENEW'
cli RELEASE a/b OWNER ben | grep -q '^LOST' || complain 'LOST'
[ "$(cli RELEASE a/b OWNER ana)" = OK ] || complain 'RELEASE'
[ "$(cli PUT k v) $(cli GET k)" = 'OK v' ] || complain 'PUT and GET'
[ "$(cli PUSH q 1 VALUE v) $(cli PUSH q 1)" = '1 0' ] || complain 'PUSH'
[ "$(cli -3 --json CLAIM q OWNER ana | jq -r .id)" = 1 ] || complain 'CLAIM'
[ "$(cli DONE q 1 OWNER ana)" = OK ] || complain 'DONE'
cli ACQUIRE | grep -q '^ERR' || complain 'arity'
cli CLIENT LIST | grep -Eq '^id=[0-9]+ addr=127\.0\.0\.1:[0-9]+ ' || complain 'CLIENT LIST'
[ "$(cli COMMAND COUNT)" -gt 20 ] && [ "$(cli -3 HELLO 2 | grep -c lockkeeper)" = 1 ] ||
    complain 'COMMAND and HELLO'
cli NONSENSE | grep -q '^ERR unknown command' || complain 'an unknown command'
# A grant is pushed to the waiting client.
cli ACQUIRE x OWNER ana TTL 60000 >/dev/null
timeout 90 redis-cli -3 --json -p "$port" ACQUIRE x OWNER ben WAIT 60000 >"$work/waited" &
waits=$!
waiting() { cli -3 --json LIST x | grep -q waiting; }
until_true waiting
cli RELEASE x OWNER ana >/dev/null
wait "$waits"
[ "$(jq -r .status "$work/waited")" = granted ] || complain "waited: $(cat "$work/waited")"
# What dies with its connection: without an owner a request is bound.
printf 'ACQUIRE bound TTL 60000\r\n' | timeout 60 redis-cli -p "$port" >/dev/null
free() { [ "$(cli -3 --json LIST bound | jq -c '.[1]')" = '[]' ]; }
until_true free
stop

scenario 'the client of Node.js'
serve --listen 127.0.0.1:0 --http none --ephemeral
port=$(sed 's/.*://' "$work/served")
NODE_PATH=/usr/share/nodejs timeout 60 node "${0%/*}/client.js" "$port" >"$work/out" 2>"$work/err" ||
    complain 'client.js has failed'
stop

finish
