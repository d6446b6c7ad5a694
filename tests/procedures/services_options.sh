# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# lk serve --store: what the tests of services on a database server share. Read behind its harness,
# with a store's URL as $url.
#
#   refuses CODE PATTERN [OPTION...]  it ends with this code and one line, which shows no password
#   refuses_options                   the cases that no database is needed for
#   start [OPTION...], leads, stop    a service; its address is in $work/address, behind `leads` in
#                                     $address too, its log in $work/log
#   at_service WORD...                lk at this service
#   refuses_strangers URL ADD REMOVE  a service that stands by does not take over from the one that leads
#                                     once ADD has run: a stranger's code is there, until REMOVE has
#   other_formats URL TABLE           tables of another format, or of none, are refused and not changed
#   meets_the_next_format URL TABLE   a service that leads and one that stands by end with 79 once a later
#                                     version has brought the table of the leader to format 2
#   secretless                        its title and its log show no password

unset LK_SERVE_STORE LK_SERVE_DIR

refuses() {
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

refuses_options() {
    for other in redis://ann:secret@db:6379 sqlite:locks.db postgresql:locks secret; do
        ok "no other store can be shared: ${other%%:*}" \
            refuses 64 '*INVALID: --store*postgresql://HOST/DATABASE*mysql://HOST/DATABASE*' --store "$other"
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
    printf 'listen = 127.0.0.1:0\nstore = redis://ann:secret@db\n' >"$work/conf"
    ok 'a file is told with its line' refuses 64 "*$work/conf:2: --store*" --config "$work/conf"
    LK_SERVE_STORE=redis://ann:secret@db
    export LK_SERVE_STORE
    ok 'a variable with its name' refuses 64 '*LK_SERVE_STORE: --store*'
    unset LK_SERVE_STORE
}

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
at_service() {
    "$lk" -S "$(sed -n 1p "$work/address")" "$@" >"$work/out" 2>"$work/err"
}
secretless() {
    tr '\0' ' ' <"/proc/$service/cmdline" >"$work/title"
    ! grep -q secret "$work/title" "$work/log" "$work/address"
}
is_leader() {
    "$lk" -S "$address" doctor -v 2>&1 | grep -q 'is_leader: *1'
}
leads() {
    address=$(sed -n 1p "$work/address")
    soon is_leader
}
refuses_strangers() {
    ok 'two services: one leads' start --store "$1"
    ok 'it does' leads
    first=$service
    ok 'and one stands by' start --store "$1"
    ok 'a stranger has come' sql "$2"
    ok 'so no service starts' refuses 77 '*DENIED*mallory*owner=*' --store "$1"
    kill "$first"
    wait "$first"
    ok 'nor takes over' soon grep -q 'could not be loaded.*mallory.*owner=' "$work/log"
    ok 'until the stranger is gone' sql "$3"
    ok 'then it leads' leads
    ok 'and ends' stop
}
other_formats() {
    for format in 2 0; do
        case $format in
        0) told='tell no format' ;;
        *) told="have format $format" ;;
        esac
        sql "UPDATE $2 SET format = $format"
        kept=$(sql "SELECT * FROM $2")
        ok "tables that $told are UNSUPPORTED" \
            refuses 79 "*UNSUPPORTED: the tables of services $told, and this program knows format 1: use the program*" --store "$1"
        ok 'and as they were' test "$(sql "SELECT * FROM $2")" = "$kept"
    done
    sql "UPDATE $2 SET format = 1"
}
ends_outdated() { # PROCESS LOG
    wait "$1"
    [ $? -eq 79 ] && grep -q 'UNSUPPORTED: .*have format 2, and this program knows format 1' "$2"
}
meets_the_next_format() {
    ok 'two services of this version: one leads' start --store "$1"
    ok 'it does, too' leads
    first=$service
    mv "$work/log" "$work/log.first"
    ok 'and the other stands by' start --store "$1"
    ok 'a later version brings the tables up to date' sql "UPDATE $2 SET format = 2"
    epoch=$(sql "SELECT epoch FROM $2")
    ok 'no lock is granted any more' fails_to "$lk" -S "$address" acquire late --owner ann --wait 1s
    ok 'the one that led ends with 79' ends_outdated "$first" "$work/log.first"
    ok 'and so does the other' ends_outdated "$service" "$work/log"
    ok 'neither has begun to lead' test "$(sql "SELECT epoch FROM $2")" = "$epoch"
    sql "UPDATE $2 SET format = 1"
}
fails_to() {
    ! "$@" >"$work/out" 2>"$work/err"
}
