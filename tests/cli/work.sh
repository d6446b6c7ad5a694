#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk work: a pool of workers, with real processes that are killed (R16).
. "${0%/*}/harness.sh"

log=$work/log
export log

# Begins `lk work ARGS...` in the background as $pool, which a script's shell has ignore SIGINT and
# SIGQUIT otherwise.
begin_work() {
    : >"$work/err" # else it may be that of the pool before
    command="lk work $*"
    : >"$log"
    rm -f "$work"/go*
    env --default-signal=INT,QUIT "$LK_PROGRAM" work "$@" >"$work/out" 2>"$work/err" </dev/null &
    pool=$!
}

end_work() {
    wait "$pool"
    code=$?
}

# Waits until a line matches in the log; every CMD here writes what it does.
await() {
    until grep -q "$1" "$log"; do :; done
}

await_gone() {
    while [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do :; done
}

# Waits until the process has read its signals and done what they say: it sleeps, and none is left.
await_obeyed() {
    until awk '/^State:.S/ { sleeps = 1 } /^ShdPnd:.*[1-9a-f]/ { sleeps = 0 } END { exit !sleeps }' \
        "/proc/$1/status"; do :; done
}

children() {
    cat "/proc/$1/task/$1/children"
}

push() {
    for id in "$@"; do
        "$LK_PROGRAM" push q "$id" || complain "push $id"
    done
}

expect_log() {
    [ "$(sort "$log" | tr '\n' ' ')" = "$1 " ] || complain "log: expected $1, found $(sort "$log" | tr '\n' ' ')"
}

expect_counts() {
    lk stats q --json
    expect '[.pushed, .duplicates, .claims, .steals, .done, .retried, .parked] | join(" ")' "\"$1\""
}

scenario 'drains a queue: each item once, by several workers'
push 1 2 3 4 5 6 7 8 9 10 11 12
begin_work q --workers 3 --drain -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
end_work
expect_code 0
expect_out ''
expect_err 'lk: ENDED: q: 12 done'
expect_log '1 10 11 12 2 3 4 5 6 7 8 9'
expect_counts '12 0 12 0 12 0 0'
lk ls
expect_out ''

scenario 'an empty queue is drained'
lk work q --drain -- false
expect_code 0
expect_out ''
expect_err ''

scenario 'the command finds its item in words, environment and stdin'
lk push a/q 7 'the value'
LK_OWNER=env LK_ITEM_ID=old LK_QUEUE=old lk work /a/q/ --drain --ttl 90 -- \
    sh -c 'printf "%s|" "$@" "$LK_QUEUE" "$LK_ITEM_ID" "$LK_PATH" "$LK_TTL_MS" "$LK_STORE"; cat; echo; env | grep ^LK_ | sort >"$log"' \
    '{id}' 'x{id}y{id}' '{}' '{id'
expect_code 0
expect_out "x7y7|{}|{id|a/q|7|a/q/7|90000|$LK_STORE|the value"
grep -qE '^LK_TOKEN=[1-9][0-9]{15}$' "$log" || complain 'no token'
grep -q '^LK_OWNER=env$' "$log" && complain 'the owner of the environment'
[ "$(grep -c '^LK_ITEM_ID=\|^LK_QUEUE=' "$log")" -eq 2 ] || complain 'variables twice'

scenario 'a value of any bytes, also the longest, and none'
input '%065535d\0' 7
lk push q 1 -
lk push q 2
: >"$log"
lk work q --drain -- sh -c 'wc -c >>"$log"'
expect_code 0
[ "$(sort -n "$log" | tail -2 | tr -d ' ' | tr '\n' ' ')" = '0 65536 ' ] || complain "$(cat "$log")"

scenario 'a command that does not read its value'
input '%065535d\0' 7
lk push q 1 -
lk work q --drain -- true
expect_code 0
expect_counts '1 0 1 0 1 0 0'

scenario 'another exit code gives the item back for later'
push 1
begin_work q -- sh -c 'echo "$LK_ITEM_ID" >>"$log"; until [ -e "$log.go" ]; do sleep 0.05; done; exit 3'
await 1
worker=$(children "$pool")
kill -TERM "$pool" # so that it is not claimed again
await_obeyed "$pool"
await_obeyed "${worker% }"
: >"$log.go"
end_work
rm -f "$log.go"
expect_code 0
grep -qx 'lk: FAILED: q/1: exit 3; attempt 1; again in [0-9]*m*s' "$work/err" || complain 'no line'
lk items q --json
case $(field .state) in
delayed) expect '.due_in_ms > 0 and .due_in_ms <= 1000' true ;;
ready) ;; # a second later
*) complain 'neither delayed nor ready' ;;
esac
expect .attempts 1
expect_counts '1 0 1 0 0 1 0'

scenario 'drain waits for what is given back, and parks what fails too often'
push 1 2
begin_work q --drain --max-attempts 2 -- sh -c 'echo "$LK_ITEM_ID" >>"$log"; [ "$LK_ITEM_ID" = 2 ]'
end_work
expect_code 1
expect_log '1 1 2'
grep -qx 'lk: FAILED: q/1: exit 1; attempt 1 of 2; again in [0-9]*m*s' "$work/err" || complain 'not once more'
grep -qx 'lk: FAILED: q/1: exit 1; attempt 2 of 2; parked' "$work/err" || complain 'not parked'
[ "$(tail -n 1 "$work/err")" = 'lk: ENDED: q: 1 done, 1 given back, 1 parked' ] || complain 'no summary'
[ "$(wc -l <"$work/err")" -eq 3 ] || complain 'more lines than failures'
lk items q --json
expect '[.id, .state, .attempts]' '["1","parked",2]'
lk work q --drain -- true
expect_code 0
expect_err ''

scenario 'what an item fails of is said in its line, and nothing with -q'
push 1
lk work q --drain --max-attempts 1 -- sh -c 'kill -9 $$'
expect_code 1
grep -qx 'lk: FAILED: q/1: signal 9; attempt 1 of 1; parked' "$work/err" || complain 'no signal'
lk unpark q 1
lk work q --drain --max-attempts 1 -q -- false
failure 1 ''

scenario 'what a command writes to stderr is passed on as it comes, before the line of its failure'
push 1
rm -f "$log.go"
begin_work q --drain --max-attempts 1 -- \
    sh -c 'printf half >&2; until [ -e "$log.go" ]; do sleep 0.05; done; echo " line" >&2; exit 3'
until_true grep -qx half "$work/err"
: >"$log.go"
end_work
expect_code 1
[ "$(head -n 2 "$work/err")" = 'half line
lk: FAILED: q/1: exit 3; attempt 1 of 1; parked' ] || complain 'other lines'
rm -f "$log.go"

scenario 'a megabyte on stderr, and a reader that leaves'
push 1 2
lk work q --drain -- sh -c 'yes "$LK_ITEM_ID" | head -c 1000000 >&2'
expect_code 0
[ "$(grep -c '^[12]$' "$work/err")" = 1000000 ] || complain "lines: $(wc -l <"$work/err")"
push 3
: >"$log"
"$LK_PROGRAM" work q --drain -- sh -c 'yes >&2; echo "$?" >>"$log"' 2>&1 >"$work/out" \
    | head -c 1 >/dev/null
until_true grep -qx 141 "$log"

scenario 'what a command leaves running keeps its stderr, and does not hold the pool'
push 1 2
rm -f "$log.go"
begin_work q --drain -- sh -c 'echo "$LK_ITEM_ID" >>"$log"
    if [ "$LK_ITEM_ID" = 1 ]; then
        { until [ -e "$log.go" ]; do sleep 0.05; done; echo late >&2; } &
    else
        until [ -e "$log.end" ]; do sleep 0.05; done
    fi'
await 2 # the first has ended
: >"$log.go"
until_true grep -qx late "$work/err"
: >"$log.end"
end_work
expect_code 0
rm -f "$log.go" "$log.end"

scenario 'an item that is parked by the death of its last worker counts too'
push 1
begin_work q --drain --max-attempts 1 --ttl $((2 * stretch))s -- sh -c 'echo "begin $$" >>"$log"; sleep 1000'
await begin
kill -KILL "$(children "$pool" | tr -d ' ')"
end_work
expect_code 1
lk items q --json
expect .state '"parked"'

scenario 'a command that hangs is ended, and its attempt has failed'
push 1
lk work q --drain --max-attempts 1 --max-time 200ms -- \
    sh -c 'exec 2>/dev/null; trap "echo signalled >>\"$log\"" TERM; while :; do sleep 0.05; done'
expect_code 1
[ "$(head -n 1 "$work/err")" = 'lk: FAILED: q/1: --max-time is up; attempt 1 of 1; parked' ] \
    || complain 'not ended'
[ "$(wc -l <"$work/err")" -eq 2 ] || complain 'more than a line an item'

scenario 'the delay of an item that failed begins where it is told to'
push 1
begin_work q --backoff 1h -- sh -c 'echo "$LK_ITEM_ID" >>"$log"; exit 1'
until grep -q FAILED "$work/err"; do :; done
kill -TERM "$pool"
end_work
lk items q --json
expect '.state == "delayed" and .due_in_ms > 1700000 and .due_in_ms <= 3600000' true

scenario 'a claim is kept alive for longer than its ttl'
push 1
begin_work q --drain --ttl $((6 * stretch))s -- sh -c 'sleep "$0"; echo "$LK_ITEM_ID" >>"$log"' $((7 * stretch))
end_work
expect_code 0
expect_log 1
expect_counts '1 0 1 0 1 0 0'

scenario 'each worker is an owner of its own, and never LK_OWNER'
export LK_OWNER=me
push 1 2
begin_work q --workers 2 --note nightly -- sh -c 'echo "$LK_ITEM_ID" >>"$log"; until [ -e "$log.go" ]; do sleep 0.05; done'
await 1
await 2
"$LK_PROGRAM" ls q --json >"$work/out"
expect '.note' '"nightly"
"nightly"'
[ "$(jq -r .owner "$work/out" | sort -u | grep -vcx me)" -eq 2 ] || complain 'owners'
: >"$log.go"
kill -TERM "$pool"
end_work
expect_code 0
rm -f "$log.go"

scenario 'a signal: claims nothing more, and lets what runs end'
push 1 2
begin_work q -- sh -c 'trap "echo signalled >>\"$log\"" TERM INT; echo "begin $LK_ITEM_ID" >>"$log"; until [ -e "$log.go" ]; do sleep 0.05; done; echo "end $LK_ITEM_ID" >>"$log"'
await 'begin 1'
worker=$(children "$pool")
kill -INT "$pool"
await_obeyed "$pool"
await_obeyed "${worker% }"
: >"$log.go"
end_work
rm -f "$log.go"
expect_code 0
expect_err 'lk: ENDED: q: 1 done'
expect_log 'begin 1 end 1'
[ -n "$worker" ] || complain 'no worker'
lk items q --json
expect '[.id, .state, .attempts]' '["2","ready",0]'

scenario 'an idle pool ends at once'
begin_work q --workers 2 -- true
until [ "$(children "$pool" | wc -w)" -eq 2 ]; do :; done
kill -TERM "$pool"
end_work
expect_code 0

scenario 'a second signal ends what runs, and its items are given back'
push 1 2
begin_work q --workers 2 -- sh -c 'echo "begin $LK_ITEM_ID $$" >>"$log"; sleep 1000'
await 'begin 1'
await 'begin 2'
kill -TERM "$pool"
while grep -q 'ShdPnd:.*[1-9a-f]' "/proc/$pool/status"; do :; done
kill -TERM "$pool"
end_work
expect_code 143
lk items q --json
expect '[.id, .state, .attempts]' '["1","ready",0]
["2","ready",0]'
for pid in $(sed 's/.* //' "$log"); do
    await_gone "$pid"
done

scenario 'SIGQUIT ends all at once, also commands that ignore SIGTERM'
push 1
begin_work q --ttl $((10 * stretch)) -- sh -c 'trap "" TERM; echo "begin $$" >>"$log"; while :; do sleep 0.1; done'
await begin
kill -QUIT "$pool"
end_work
expect_code 131
await_gone "$(sed 's/.* //' "$log")"
lk items q --json
expect .state '"ready"'

scenario 'a worker that is killed: its command goes with it, its item is claimed again'
push 1 2 3
begin_work q --workers 2 --drain --ttl $((4 * stretch))s -- \
    sh -c 'echo "begin $LK_ITEM_ID $$" >>"$log"; [ -e "$log.go" ] || sleep 1000; echo "end $LK_ITEM_ID" >>"$log"'
await 'begin 1'
await 'begin 2'
victims=$(children "$pool")
: >"$log.go"
for worker in $victims; do
    kill -KILL "$worker"
done
end_work
rm -f "$log.go"
expect_code 0
[ "$(grep -c DIED "$work/err")" -eq 2 ] || complain 'two deaths'
for pid in $(sed -n 's/begin . //p' "$log"); do
    await_gone "$pid"
done
sed -i '/begin/d' "$log"
expect_log 'end 1 end 2 end 3'
expect_counts '3 0 5 2 3 0 0'

scenario 'the pool is killed: nothing goes on'
push 1
begin_work q -- sh -c 'echo "begin $$" >>"$log"; sleep 1000'
await begin
worker=$(children "$pool")
kill -KILL "$pool"
end_work
expect_code 137
for pid in $worker $(sed 's/.* //' "$log"); do
    await_gone "$pid"
done
lk items q --json
expect .state '"ready"'

scenario 'a lost claim ends its own command only'
push 1 2
begin_work q --workers 2 --ttl 60 -- \
    sh -c 'trap "echo signalled $LK_ITEM_ID >>\"$log\"; exit 1" TERM; echo "begin $LK_ITEM_ID" >>"$log"; until [ -e "$log.go$LK_ITEM_ID" ]; do sleep 0.05; done; echo "end $LK_ITEM_ID" >>"$log"'
await 'begin 1'
await 'begin 2'
lk acquire --queue q/1 --owner hand
lk break q/1 --reason gone --now --owner "$("$LK_PROGRAM" ls q/1 --json | head -1 | jq -r .owner)"
lk renew q/1 --owner hand
expect_code 0
: >"$log.go2"
kill -TERM "$pool"
await 'end 2'
await 'signalled 1'
end_work
rm -f "$log.go2"
expect_code 0
grep -qE '^lk: LOST: q/1: the claim was revoked by [^ ]+@[^ ]+ at .*: gone$' "$work/err" || complain 'not notified'
lk items q --json
expect '[.id, .state]' '["1","ready"]'

scenario 'two pools share a queue'
push 1 2 3 4 5 6 7 8
begin_work q --drain --workers 2 -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
lk work q --drain --workers 2 -- sh -c 'echo "$LK_ITEM_ID" >>"$log"'
expect_code 0
end_work
expect_code 0
expect_log '1 2 3 4 5 6 7 8'

scenario 'what work needs is held while it runs'
lk push q 1 --needs 'pool?limit=1'
lk push q 2 --needs 'pool?limit=1'
begin_work q --drain --workers 2 -- \
    sh -c 'mkdir "$log.alone" || echo both >>"$log"; rmdir "$log.alone"; echo "$LK_ITEM_ID" >>"$log"'
end_work
expect_code 0
expect_log '1 2'

scenario 'a command under a claim may inherit it'
push 1
lk work q --drain -- "$LK_PROGRAM" run --inherit q/1/part -- echo inside
expect_code 0
expect_out inside

scenario 'a command that is not found, or no command, ends the pool'
push 1
lk work q -- /nonexistent '{id}'
failure 127 'lk: NOT FOUND: /nonexistent: *'
lk work q --workers 3 -- /etc/passwd
failure 126 'lk: NOT EXECUTABLE: /etc/passwd: *'
lk items q --json
expect .state '"ready"'

scenario 'work needs its dashes, and takes no --json'
lk work q
failure 64 'lk: INVALID: work needs -- *'
lk work q --
failure 64 'lk: INVALID: *'
lk work -- true
failure 64 'lk: INVALID: work needs QUEUE *'
lk work q --json -- true
failure 64 'lk: INVALID: work does not take --json; *'
lk work q --owner me -- true
failure 64 'lk: INVALID: work does not take --owner; *'
lk work q --workers 0 -- true
failure 64 'lk: INVALID: --workers: *'
lk work q --workers 257 -- true
failure 64 'lk: INVALID: --workers: *'
lk work 'q?shared' -- true
failure 64 'lk: INVALID: *(R1)'

scenario 'a store that is not there'
damage_store
lk work damaged --workers 4 -- true
failure 69 'lk: UNAVAILABLE: *'

scenario 'a line on a terminal tells how far it is, if no command writes there'
push 1 2 3
pause=$((3 * stretch / 10)).$((3 * stretch % 10))
export pause
TERM=xterm script -qec '"$LK_PROGRAM" work q --drain -- sleep "$pause" >/dev/null' /dev/null >"$work/out"
tr '\r' '\n' <"$work/out" | grep -q 'q: 1 running, [012] done' || complain 'no progress'
tr '\r' '\n' <"$work/out" | grep -q '\[Klk: ENDED: q: 3 done' || complain 'no summary of its own'
push 1 2 3
TERM=xterm script -qec '"$LK_PROGRAM" work q --drain -- sh -c "sleep \$pause; echo did \$LK_ITEM_ID"' \
    /dev/null | tr -d '\r' >"$work/out"
printf 'did %s\n' 1 2 3 | sed '$a lk: ENDED: q: 3 done' >"$work/known"
cmp -s "$work/known" "$work/out" || complain 'the counter is in the output of the commands'
TERM=xterm script -qec '"$LK_PROGRAM" work q -q --drain -- true' /dev/null >"$work/out"
expect_out ''

finish
