#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh --server --log-bin --server --server-id=1
#        with_server.sh --server --server-id=2 failover.sh LK {server} {port}
#
# An asynchronous replica takes over, without the last grants of its primary; then the store is restored
# from an old dump. Tokens never go back (R4), although several ask at once; and what was live lives on
# (R11), although both servers have started in the same second. Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/replica.sh"
primary=$2 primary_port=$3

url="mysql://root@/test?$server"
primary_url="mysql://root@/test?socket=$primary/socket"
roots='r1 r2 r3 r4 r5 r6'

at_primary() { # SQL
    at "$primary" "$1" 2>"$work/err"
}

end() { # DIRECTORY of a server: kills it
    process=$(cat "$1/pid")
    kill -9 "$process"
    while kill -0 "$process" 2>/dev/null; do
        sleep 0.02
    done
}

speak "$LK_TEST_SERVER"
place=$(position "$primary")
follow() {
    at_primary "CREATE USER copy@127.0.0.1; GRANT REPLICATION SLAVE ON *.* TO copy@127.0.0.1" &&
        replicate "$LK_TEST_SERVER" "$primary_port" "$place"
}

# Both servers again, until they begin in the same second.
started="SELECT UNIX_TIMESTAMP() - VARIABLE_VALUE FROM"
case $source in
MASTER) started="$started information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Uptime'" ;;
*) started="$started performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime'" ;;
esac
start_together() {
    tries=0
    while :; do
        end "$primary"
        end "$LK_TEST_SERVER"
        "$primary/start" "$primary_port" &
        other=$!
        "$LK_TEST_SERVER/start" "$LK_TEST_PORT" && wait "$other" || return 1
        [ "$(sql "$started")" != "$(at_primary "$started")" ] || return 0
        tries=$((tries + 1))
        [ "$tries" -lt 30 ] || return 1
    done
}

# The tokens of six asks at once, one for each root, in files token-NAME-ROOT.
six_ask() { # NAME URL
    processes=
    for root in $roots; do
        "$lk" -S "$2" acquire --wait 60s --owner "$1" "$root/$1" >"$work/token-$1-$root" 2>"$work/err" &
        processes="$processes $!"
    done
    all_well=0
    for process in $processes; do
        wait "$process" || all_well=1
    done
    return "$all_well"
}

six_rise() { # FORMER NAME
    for root in $roots; do
        echo "$root: $(cat "$work/token-$1-$root"), then $(cat "$work/token-$2-$root")"
    done
    for root in $roots; do
        [ "$(cat "$work/token-$2-$root")" -gt "$(cat "$work/token-$1-$root")" ] || return 1
    done
}

ok 'a replica follows its primary' follow
ok 'both start in the same second' start_together
ok 'six ask on the primary' six_ask early "$primary_url"
ok 'a lease is taken there' says 0 '*' -S "$primary_url" acquire --try --ttl "$((8 * stretch))s" --owner holder db/t
ok 'the replica has it' comes_to "SELECT COUNT(*) FROM lk_requests WHERE owner = 'holder'" 1
mariadb-dump --no-defaults -u root -S "$primary/socket" --routines --single-transaction test \
    >"$work/dump.sql" 2>"$work/err"
report $? 'the store is dumped'
sql "$stop"
ok 'six more ask, which the replica does not receive' six_ask late "$primary_url"
end "$primary"
forget "$LK_TEST_SERVER"
ok 'the primary is gone for longer than the ttl' comes_to "SELECT deadline_us < TIMESTAMPDIFF(
    MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM lk_requests WHERE owner = 'holder'" 1
# What asks first gives the grace, which is as long as the ttl.
ok 'on the replica the lease is still held' \
    says 75 '*holder*' -S "$url" acquire --try --owner other db/t
ok 'and is renewed' says 0 '*' -S "$url" renew --owner holder --ttl 1m db/t
ok 'six ask there at once' six_ask after "$url"
ok 'each gets a greater token than the one that was forgotten' six_rise late after

# A dump of yesterday.
sql "CREATE DATABASE restored"
run_file "$work/dump.sql" restored
sql "UPDATE lk_roots SET last_draw = last_draw - 86400000000;
     UPDATE lk_requests SET ticket = ticket - 86400000000, token = token - 86400000000" restored
ok 'six ask the restored store at once' six_ask again "mysql://root@/restored?$server"
ok 'each gets a greater token than before' six_rise after again

finish
