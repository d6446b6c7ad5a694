#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clients that others wrote: redis-cli, the client of Node.js, curl.
. "${0%/*}/harness.sh"

scenario 'redis-cli'
serve --listen 127.0.0.1:0 --http none --ephemeral
port=$(sed 's/.*://' "$work/served")
cli() { timeout 60 redis-cli -p "$port" "$@"; }
# Maps are asked for as RESP3, and by redis-cli before version 7, which has no --json, as RESP2: a line for
# each name, and one for its value.
if redis-cli --help 2>&1 | grep -q -e --json; then
    title="$title, in RESP3"
    field() { name=$1 && shift && cli -3 --json "$@" | jq -r ".$name"; }
    wait_x() { timeout 90 redis-cli -3 --json -p "$port" ACQUIRE x OWNER ben WAIT 60000 | jq -r .status; }
    bound() { cli -3 --json LIST bound | jq '.[1] | length'; }
else
    title="$title, in RESP2: $(redis-cli --version) has no --json"
    field() { name=$1 && shift && cli "$@" | sed -n "/^$name\$/{n;p;q;}"; }
    wait_x() { timeout 90 redis-cli -p "$port" ACQUIRE x OWNER ben WAIT 60000 | sed -n '/^status$/{n;p;}'; }
    bound() { cli LIST bound | grep -cv '^[0-9]*$'; } # lines behind the revision
fi
[ "$(cli PING)" = PONG ] || complain 'PING'
[ "$(field status ACQUIRE a/b OWNER ana TTL 60000)" = granted ] || complain 'ACQUIRE'
[ "$(field status ACQUIRE a/b OWNER ben)" = busy ] || complain 'busy'
[ "$(cli RENEW a/b OWNER ana)" = OK ] || complain 'RENEW'
cli RELEASE a/b OWNER ben | grep -q '^LOST' || complain 'LOST'
[ "$(cli RELEASE a/b OWNER ana)" = OK ] || complain 'RELEASE'
[ "$(cli PUT k v) $(cli GET k)" = 'OK v' ] || complain 'PUT and GET'
[ "$(cli PUSH q 1 VALUE v) $(cli PUSH q 1)" = '1 0' ] || complain 'PUSH'
[ "$(field id CLAIM q OWNER ana)" = 1 ] || complain 'CLAIM'
[ "$(cli DONE q 1 OWNER ana)" = OK ] || complain 'DONE'
cli ACQUIRE | grep -q '^ERR' || complain 'arity'
cli CLIENT LIST | grep -Eq '^id=[0-9]+ addr=127\.0\.0\.1:[0-9]+ ' || complain 'CLIENT LIST'
[ "$(cli COMMAND COUNT)" -gt 20 ] && [ "$(cli -3 HELLO 2 | grep -c lockkeeper)" = 1 ] ||
    complain 'COMMAND and HELLO'
cli NONSENSE | grep -q '^ERR unknown command' || complain 'an unknown command'
# A grant is pushed to the waiting client.
cli ACQUIRE x OWNER ana TTL 60000 >/dev/null
wait_x >"$work/waited" &
waits=$!
waiting() { cli LIST x | grep -q waiting; }
until_true waiting
cli RELEASE x OWNER ana >/dev/null
wait "$waits"
[ "$(cat "$work/waited")" = granted ] || complain "waited: $(cat "$work/waited")"
# What dies with its connection: without an owner a request is bound.
printf 'ACQUIRE bound TTL 60000\r\n' | timeout 60 redis-cli -p "$port" >/dev/null
free() { [ "$(bound)" = 0 ]; }
until_true free
stop

# What client.js calls is of node-redis 4: of promises.
version=$(jq -r .version /usr/share/nodejs/redis/package.json)
if [ "${version%%.*}" -ge 4 ]; then
    scenario 'the client of Node.js'
    serve --listen 127.0.0.1:0 --http none --ephemeral
    port=$(sed 's/.*://' "$work/served")
    NODE_PATH=/usr/share/nodejs timeout 60 node "${0%/*}/client.js" "$port" >"$work/out" 2>"$work/err" ||
        complain 'client.js has failed'
    stop
else
    echo "# left out: the client of Node.js, as node-redis is $version here, and 4 or later is needed"
fi

finish
