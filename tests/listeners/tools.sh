#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tools.sh LK
#
# Both listeners of a service with a file, used by redis-cli and curl. Prints TAP.
set -e
. "${0%/*}/../tap.sh"

lk=$1
service=''

# shellcheck disable=SC2317 # by the trap
clean_up() {
    [ -z "$service" ] || kill "$service" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

# Starts the service and sets $resp (a port) and $http (a URL) once it says where it is.
start() {
    mkfifo "$work/served"
    "$lk" serve --dir "$work/store" --listen 127.0.0.1:0 --http 127.0.0.1:0 >"$work/served" &
    service=$!
    {
        read -r resp
        read -r http
    } <"$work/served"
    rm "$work/served"
    resp=${resp##*:}
}

# check TITLE EXPECTED COMMAND...: stdout of the command is, or matches, the pattern.
check() {
    title=$1
    expected=$2
    shift 2
    "$@" >"$work/out" 2>&1 || true
    # shellcheck disable=SC2254 # a pattern
    case $(cat "$work/out") in
    $expected) report 0 "$title" ;;
    *)
        echo "expected: $expected" >"$work/said"
        report 1 "$title"
        ;;
    esac
}

resp() { timeout 60 redis-cli -p "$resp" "$@"; }
json() {
    route=$1
    body=$2
    timeout 60 curl -s -H 'Content-Type: application/json' -d "$body" "$http$route"
}

start
check 'redis-cli asks for a lease' 'status granted paths db/t1 owner a ticket *' \
    sh -c "timeout 60 redis-cli -3 -p $resp ACQUIRE db/t1 OWNER a TTL 60000 | tr '\n' ' '"
check 'curl gets the holder' '{"status":"busy",*"owner":"a"*' \
    json /v1/acquire '{"parts":["db"],"owner":"b"}'
check 'redis-cli puts a value' OK resp PUT db/v 'a b'
check 'curl reads it' 'a b' timeout 60 curl -s "$http/v1/values/db/v"
check 'redis-cli lists in RESP 2' '0*db/t1*held*' resp LIST db
check 'redis-cli gets the commands' '*Asks for a lease*' resp COMMAND DOCS ACQUIRE
check 'an error is an error' 'LOST *' resp RELEASE db/t1 OWNER other
check 'a second service on the same file is refused' 'lk: *' \
    timeout 60 "$lk" serve --dir "$work/store" --listen 127.0.0.1:0 --http none

kill -TERM "$service"
code=0
wait "$service" || code=$?
check 'it ends well when it is asked to' 0 echo "$code"

start
check 'what was held is held after a restart' '{"status":"busy",*"owner":"a"*' \
    json /v1/acquire '{"parts":["db"],"owner":"b"}'
kill -KILL "$service"
wait "$service" 2>/dev/null || true
start
check 'and after it was killed' 'a b' timeout 60 curl -s "$http/v1/values/db/v"
check 'its owner releases it' OK resp RELEASE db/t1 OWNER a
finish
