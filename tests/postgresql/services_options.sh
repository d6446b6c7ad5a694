#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh services_options.sh LK
#
# lk serve --store: what it refuses, each with its exit code and a sentence that says what to do, and
# nothing changed in the database. Passwords are shown nowhere. Prints TAP.
. "${0%/*}/harness.sh"

url="postgresql://postgres@/postgres?$server"
unset LK_SERVE_STORE LK_SERVE_DIR

refuses() { # CODE PATTERN [OPTION...]: one line, and no password in it
    expected=$1 pattern=$2
    shift 2
    "$lk" serve --http none "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [ "$code" -eq "$expected" ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] \
        && ! grep -q secret "$work/err" || return
    # shellcheck disable=SC2254 # the pattern is meant to be one
    case $(cat "$work/err") in
    $pattern) ;;
    *) return 1 ;;
    esac
}
untouched() {
    [ "$(sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'lockkeeper_service'")" = 0 ]
}

# ---- options ----

for other in mysql://ann:secret@db/locks redis://db:6379 sqlite:locks.db postgresql:locks secret; do
    ok "no other store can be shared: ${other%%:*}" \
        refuses 64 '*INVALID: --store*PostgreSQL*postgresql://HOST/DATABASE' --store "$other"
done
ok 'a service keeps no file beside it' refuses 64 '*--dir*--store*' --store "$url" --dir "$work/d"
ok 'nor memory alone' refuses 64 '*--ephemeral*--store*' --store "$url" --ephemeral
ok '--failover needs --store' refuses 64 '*name it by --store URL' --failover 2s --dir "$work/d"
ok '--advertise needs it too' refuses 64 '*name it by --store URL' --advertise a:1 --dir "$work/d"
ok 'a failover of no time is refused' refuses 64 '*--failover*500 ms*' --store "$url" --failover 1ms
for address in here : :1 here: here:0 here:70000 here:1x a:b:1 ::1:1 http://here:1 a@here:1 'a b:1'; do
    ok "no address: $address" \
        refuses 64 "*--advertise*HOST:PORT*" --store "$url" --advertise "$address"
done
ok 'other services cannot send clients to every interface' \
    refuses 64 '*0.0.0.0:0*--advertise HOST:PORT' --store "$url" --insecure --listen 0.0.0.0:0
ok 'nor to none' refuses 64 '*--listen ADDR:PORT' --store "$url" --listen none --unix "$work/s"
ok 'nor to a socket of this machine' refuses 64 '*--listen ADDR:PORT' --store "$url" --unix "$work/s"
ok 'the schema cannot be chosen' refuses 64 '*remove schema=*' --store "$url&schema=app"
printf 'listen = 127.0.0.1:0\nstore = mysql://ann:secret@db/locks\n' >"$work/conf"
ok 'a file is told with its line' refuses 64 "*$work/conf:2: --store*" --config "$work/conf"
LK_SERVE_STORE=redis://ann:secret@db
export LK_SERVE_STORE
ok 'a variable with its name' refuses 64 '*LK_SERVE_STORE: --store*'
unset LK_SERVE_STORE
ok 'none of them has made anything' untouched

# ---- the database ----

ok 'a server that is not there is UNAVAILABLE' \
    refuses 69 '*UNAVAILABLE*is the server there*' --store postgresql://ann:secret@127.0.0.1:1/postgres
ok 'a password with an @ is not shown' \
    refuses 64 '*INVALID*%40*' --store postgresql://ann:a@secret@127.0.0.1:1/postgres
ok 'an unknown user is DENIED' \
    refuses 77 '*DENIED*user*' --store "postgresql://stranger:secret@/postgres?$server"
sql 'CREATE ROLE app LOGIN'
ok 'so is one that may not make the tables' \
    refuses 77 '*DENIED*grant it CREATE*' --store "postgresql://app@/postgres?$server"
ok 'nothing is made' untouched

# ---- a service that starts ----

start() { # OPTION...
    rm -f "$work/address"
    "$lk" serve --http "${http-none}" --listen 127.0.0.1:0 --log-level debug "$@" \
        >"$work/address" 2>"$work/log" &
    service=$!
    tries=0
    until [ -s "$work/address" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] && kill -0 "$service" 2>/dev/null || return
        sleep 0.025
    done
}
stop() {
    kill "$service"
    wait "$service"
}
secretless() {
    tr '\0' ' ' <"/proc/$service/cmdline" >"$work/title"
    ! grep -q secret "$work/title" "$work/log" "$work/address"
}
leads() {
    address=$(sed -n 1p "$work/address")
    tries=0
    until "$lk" -S "$address" doctor 2>&1 | grep -q 'is_leader: *1'; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || return
        sleep 0.1
    done
}

ok 'a service makes the tables and leads' start --store "postgresql://postgres:secret@/postgres?$server"
ok 'it leads' leads
ok 'its password is in no title and no log' secretless
ok 'it ends' stop
printf 'store = postgres://postgres:secret@/postgres?%s\nfailover = 2s\nadvertise = here:7420\n' \
    "$server" >"$work/conf"
ok 'a file can say all of it' start --config "$work/conf"
ok 'it leads as well' leads
ok 'its address is the one that it advertises' \
    test "$(sql 'SELECT address, lease_us FROM lockkeeper_service.leader')" = 'here:7420|2000000'
ok 'it ends as well' stop
http=127.0.0.1:0
ok 'a service with HTTP on loopback alone' start --store "$url" --advertise here:7420
ok 'leads too' leads
ok 'does not send clients of HTTP there from other machines' \
    test "$(sql 'SELECT address FROM lockkeeper_service.leader')" = 'here:7420'
ok 'ends' stop
ok 'a service that is advertised on loopback' start --store "$url" --advertise 127.0.0.1:7420
ok 'leads there' leads
ok 'sends clients of HTTP to its port' \
    test "$(sql 'SELECT address FROM lockkeeper_service.leader')" = \
    "127.0.0.1:7420 $(sed -n 's,^http://,,p' "$work/address")"
ok 'ends, too' stop
python3 -c 'import socket, time
silent = socket.create_server(("127.0.0.1", 0))
print(silent.getsockname()[1], flush=True)
time.sleep(600)' >"$work/port" &
silent=$!
until [ -s "$work/port" ]; do
    sleep 0.02
done
http=none
ok 'a host of the URL that does not answer does not keep it from the next one' \
    start --store "postgresql://postgres@/postgres?host=127.0.0.1,$LK_TEST_SERVER&port=$(cat "$work/port"),5432"
ok 'and leads at last' leads
ok 'ends as all' stop
kill "$silent"
ok 'tables of another user are DENIED' \
    refuses 77 '*DENIED*owner*' --store "postgresql://app@/postgres?$server"
sql 'UPDATE lockkeeper_service.leader SET format = 2'
ok 'tables of another version are UNSUPPORTED' \
    refuses 79 '*UNSUPPORTED*format 2*run the same version*' --store "$url"
finish
