#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh stopped_processes.sh LK
#
# Stopped processes block no other: a client stopped at any moment of a call, and a server whose
# clients have other things to do. Prints TAP.
. "${0%/*}/harness.sh"

url="mysql://root@/test?$server"
children=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    kill -CONT "$(cat "$LK_TEST_SERVER/pid")" 2>/dev/null
    for child in $children; do
        kill -9 "$child" 2>/dev/null
    done
    rm -rf "$work"
}
trap stop EXIT

asked_beside() { # ROOT
    "$lk" -S "$url" acquire --try --ttl 20s --owner beside "$1/beside" &&
        "$lk" -S "$url" release --owner beside "$1/beside"
}

"$lk" -S "$url" limits >"$work/out" 2>&1
report $? 'a store exists'

# Stops clients that are in the middle of something, wherever that is, and asks beside each. Their
# owners wait one after the other, so that all of them work on one row of roots.
seed=${LK_TEST_SEED:-$$}
echo "# LK_TEST_SEED=$seed"
answered=0 stops=20
for number in $(seq "$stops"); do
    "$lk" -S "$url" bench --pattern many --clients 4 --seconds 600 -q >/dev/null 2>&1 &
    child=$!
    children="$children $child"
    sleep "0.$(awk -v seed="$seed$number" 'BEGIN { srand(seed); printf "%03d", rand() * 400 }')"
    kill -STOP "$child"
    for root in $("$lk" -S "$url" ls --json | jq -r '.path | split("/")[0]' | sort -u); do
        asked_beside "$root" >>"$work/out" 2>&1 || continue 2
    done
    answered=$((answered + 1))
done
[ "$answered" -eq "$stops" ]
report $? "beside a client that is stopped others are answered ($answered of $stops)"
for child in $children; do
    kill -9 "$child"
done

# A server that is stopped: an ask has an answer when patience is over, and one that is interrupted
# at once.
mariadbd=$(cat "$LK_TEST_SERVER/pid")
kill -STOP "$mariadbd"
timeout 60 "$lk" -S "$url" acquire --try --owner me db/t1 >"$work/out" 2>&1
[ $? -eq 69 ]
report $? 'a server that is stopped is UNAVAILABLE'
grep -q 'did not answer within the time given' "$work/out"
report $? 'with a message'
"$lk" -S "$url" acquire --owner me db/t1 >"$work/out" 2>&1 &
child=$!
while ! grep -q 'State:.S' "/proc/$child/status"; do
    sleep 0.02
done
kill -TERM "$child"
wait "$child"
[ $? -eq 143 ]
report $? 'a client that is signalled while it is stopped ends'
kill -CONT "$mariadbd"
timeout 60 "$lk" -S "$url" acquire --try --owner me db/t1 >"$work/out" 2>&1
report $? 'when it continues, so do its clients'

finish
