#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh semaphore.sh LK
#
# At most twenty workers of one kind across a cluster, in the database that it has: lk run --limit 20
# --try foo -- worker. The twenty-first is refused, with the holders; a worker's end, its death and
# the loss of its machine admit the next. Prints TAP.
. "${0%/*}/harness.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE
children=''

# shellcheck disable=SC2317 # called by the trap
stop() {
    rm -f "$work/work"
    for child in $children; do
        kill "$child" 2>/dev/null
    done
    rm -rf "$work"
}
trap stop EXIT

# Works as long as the file `work` is there.
cat >"$work/worker" <<END
#!/bin/sh
: >"$work/at-work-\$1"
while [ -e "$work/work" ]; do
    sleep 0.1
done
rm "$work/at-work-\$1"
END
chmod +x "$work/worker"

# A worker and its number; it is known by its note.
begin() { # NUMBER [OPTION...]
    number=$1
    shift
    "$lk" run --limit 20 --wait "$((60 * stretch))s" --note "worker $number on host-$number" "$@" foo -- \
        "$work/worker" "$number" >"$work/out-$number" 2>&1 &
    children="$children $!"
}

at_work() {
    find "$work" -name 'at-work-*' | wc -l
}

until_at_work() { # COUNT
    tries=0
    while [ "$(at_work)" -ne "$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt $((600 * stretch)) ] || return 1
        sleep 0.1
    done
}

: >"$work/work"
: >"$work/out"
make_store
for number in $(seq 19); do
    begin "$number"
done
begin 20 --ttl "$((8 * stretch))s"
last=$!
until_at_work 20
report $? 'twenty workers run at once'
"$lk" run --limit 20 --try --ttl 3s foo -- "$work/worker" 21 >"$work/out" 2>&1
[ $? -eq 75 ]
report $? 'the twenty-first is refused'
grep -q 'BUSY: foo is held by .*worker [0-9]* on host-[0-9]*' "$work/out"
report $? 'and the refusal names a holder with its note'
"$lk" acquire --limit 20 --try --owner refused --json foo >"$work/out" 2>&1
[ "$(jq '[.in_use, (.blockers | length), (.blockers | all(.note | test("^worker")))] | @csv' -r \
    "$work/out")" = 20,16,true ]
report $? 'in full: how many there are, and the notes of the first sixteen'
[ "$("$lk" show foo --json | jq -r .note | sort -u | wc -l)" -eq 20 ]
report $? 'and all are in the list'

# No process renews for one that the kernel has ended: the lease ends by itself.
kill -9 "$last"
rm -f "$work/at-work-20"
"$lk" run --limit 20 --wait "$((60 * stretch))s" foo -- true >"$work/out" 2>&1
report $? 'when one is killed, the next one is granted'
is "SELECT COUNT(*) FROM lk_locks WHERE path = 'foo' AND state = 'held'" 19
report $? 'the view of the database says so'
rm "$work/work"
for child in $children; do
    wait "$child"
done
until_at_work 0 && [ -z "$("$lk" ls -q --json)" ]
report $? 'when the work is over, nothing is left'

finish
