#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/without-a-library.md: each program holds a lock of a real service and ends it; what is bound
# dies with its connection; a lock that is held makes each of them wait.
. "${0%/*}/harness.sh"
page=$docs/without-a-library.md

# That of the packages, if the first one in the path has no redis-py.
python=python3
python3 -c 'import redis' 2>/dev/null || python=/usr/bin/python3

# A service with both ports, which keeps its events.
begin() {
    recipe "$1"
    served_lines=2
    serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --ephemeral
    resp=$(sed -n 's|^lk://.*:||p' "$work/served")
    http=$(sed -n 's|^http://.*:||p' "$work/served")
    [ -n "$resp" ] && [ -n "$http" ] || complain "no ports: $(cat "$work/served")"
    cli LIMIT EVENTS 100 >"$work/out"
}

cli() { timeout 60 redis-cli -3 --json -p "$resp" "$@"; }

show() { block "$1" "$2" "$3" | sed "s/7420/$resp/; s/7421/$http/"; }

# What happened to the lock: a field of each event but the first, which says that there may have been others.
events() { cli EVENTS '' AFTER 1 | jq -r "[.[1][] | select(.event != \"gap\") | .$1] | join(\" \")"; }

is_waiting() { cli LIST backup | grep -q '"waiting"'; }

# hold KIND COMMAND...: the program holds the lock, tells its token, and releases it. It waits while another owner has it.
hold() {
    kind=$1
    shift
    play "$@"
    expect_code 0
    grep -q '^working, ' "$work/out" || complain "it has not worked: $(cat "$work/out" "$work/err")"
    [ "$(events event)" = 'granted released' ] || complain "events: $(events event)"
    owner=$(events owner)
    case $kind,$owner in
    bound,conn:*) ;;
    named,conn:*) complain "a lease of the connection: $owner" ;;
    named,?*) ;;
    *) complain "a lease that is not $kind: $owner" ;;
    esac
    cli ACQUIRE backup OWNER first TTL 60000 >"$work/held"
    (cd "$here" && exec timeout 120 "$@") >"$work/second" 2>&1 </dev/null &
    second=$!
    until_true is_waiting
    [ "$(cat "$work/second")" = '' ] || complain "it has not waited: $(cat "$work/second")"
    cli RELEASE backup OWNER first >"$work/out"
    wait "$second" || complain "after a wait: $(cat "$work/second")"
    grep -q '^working, ' "$work/second" || complain "after a wait: $(cat "$work/second")"
    stop
}

# killed COMMAND...: what was bound to the program's connection ends with it, though it waits for hours.
killed() {
    cli ACQUIRE backup OWNER first TTL 60000 >"$work/held"
    (cd "$here" && exec "$@") >"$work/second" 2>&1 </dev/null &
    second=$!
    until_true is_waiting
    kill -KILL "$second"
    wait "$second" 2>/dev/null
    until_true is_alone
    cli RELEASE backup OWNER first >"$work/out"
}

is_alone() { ! is_waiting; }

begin 'Python with redis-py'
show Python python 1 >"$here/backup.py"
killed "$python" "$here/backup.py"
stop
begin 'Python with redis-py, to its end'
show Python python 1 >"$here/backup.py"
hold bound "$python" backup.py

begin 'Python, a time-out below WAIT'
show Python python 1 | sed 's/socket_timeout=30/socket_timeout=0.2/' >"$here/backup.py"
cli ACQUIRE backup OWNER first TTL 60000 >"$work/held"
play "$python" backup.py
[ "$code" -ne 0 ] && grep -q TimeoutError "$work/err" || complain "no time-out: $(cat "$work/err")"
until_true is_alone
stop

begin 'Python with urllib'
show Python python 2 >"$here/backup.py"
hold named "$python" backup.py

begin 'Node.js with node-redis'
NODE_PATH=/usr/share/nodejs
export NODE_PATH
show Node.js js 1 >"$here/backup.js"
hold bound node backup.js

begin 'Node.js with fetch'
show Node.js js 2 >"$here/backup.js"
hold named node backup.js

begin 'Go with a plain connection'
show Go go 1 >"$here/backup.go"
play gccgo -o backup backup.go
expect_code 0
hold bound ./backup

begin 'Go with net/http'
show Go go 2 >"$here/backup.go"
play gccgo -o backup backup.go
expect_code 0
hold named ./backup

begin 'Java with a plain connection'
show Java java 1 >"$here/Backup.java"
hold bound java Backup.java

begin 'Java with java.net.http'
show Java java 2 >"$here/Backup.java"
hold named java Backup.java

begin 'several owners on one connection'
show 'Several locks on one connection' redis 1 | timeout 60 redis-cli -p "$resp" >"$work/out"
[ "$(grep -cx granted "$work/out") $(grep -cx busy "$work/out") $(grep -cx OK "$work/out")" = '1 1 1' ] ||
    complain "answers: $(cat "$work/out")"
stop

recipe 'a resource that refuses smaller tokens'
block 'Which lease, and who renews it' sql 1 >"$here/update.sql"
update() { sed "s/:token/$1/g" "$here/update.sql"; }
{
    echo 'CREATE TABLE account (id INTEGER, balance INTEGER, token INTEGER);'
    echo 'INSERT INTO account VALUES (1, 100, 0);'
    for token in 7 7 9 8; do
        update "$token"
        echo 'SELECT changes();'
    done
    echo 'SELECT balance, token FROM account;'
} | sqlite3 "$here/accounts.db" >"$work/out"
[ "$(tr '\n' ' ' <"$work/out")" = '1 1 1 0 70|9 ' ] || complain "$(cat "$work/out")"

finish_page
