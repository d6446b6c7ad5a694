#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A service that goes away: what waits and commands under a lease say of it, and how they end.
. "${0%/*}/harness.sh"

begin() { # TITLE
    scenario "$1"
    rm -rf "$work/d"
    again
    LK_STORE=lk+unix:$work/s
}

again() {
    serve --unix "$work/s" --http unix:"$work/h" --dir "$work/d"
}

waits() { # OWNER
    [ "$("$LK_PROGRAM" ls x --json | jq -r 'select(.owner == "'"$1"'").state')" = waiting ]
}

waits_for_item() {
    curl -sf --unix-socket "$work/h" http://localhost/metrics \
        | grep -qx 'lockkeeper_calls_blocked{for="item"} 1'
}

says() { # PATTERN [TIMES]
    [ "$(grep -c "$1" "$work/said")" -ge "${2:-1}" ]
}

# Sends another signal. Whether the waiter has ended, reaped by the shell or not.
signal() {
    kill "$waiter" 2>/dev/null
    [ ! -e "/proc/$waiter" ] || grep -q '^[0-9]* (.*) Z' "/proc/$waiter/stat"
}

# Starts `lk $1 x` behind another owner; `run` has a command.
start_waiter() {
    lk acquire x --owner ana --ttl 1h
    # shellcheck disable=SC2046 # words
    "$LK_PROGRAM" "$1" x --owner ben --ttl $((3 * stretch))s $([ "$1" = run ] && echo -- true) \
        >/dev/null 2>"$work/said" &
    waiter=$!
    until_true waits ben
}

for name in run acquire hold; do
    begin "lk $name says while it waits that the service is away, again later, and that it is back"
    start_waiter "$name"
    stop KILL
    until_true says 'lk: AWAY: for .*: .*refused; the wait goes on without a limit, which -w D would set' 2
    again
    until_true says '^lk: BACK: the store answers again$'
    lk release x --owner ana
    wait "$waiter" || complain "the wait ended with $?"
    lk release x --owner ben
    stop

    begin "a second signal ends lk $name while the service does not answer"
    start_waiter "$name"
    kill -STOP "$served"
    until_true says 'lk: AWAY: '
    until_true signal
    wait "$waiter"
    code=$?
    expect_code 143
    kill -CONT "$served"
    stop
done

begin 'lk claim says while it waits that the service is away, and that it is back'
"$LK_PROGRAM" claim q --wait 1h --owner ben >"$work/claimed" 2>"$work/said" &
waiter=$!
until_true waits_for_item
stop KILL
until_true says 'lk: AWAY: for .*: .*refused; the wait goes on$'
again
until_true says '^lk: BACK: the store answers again$'
lk push q 1
wait "$waiter" || complain "the claim ended with $?"
grep -q "^1$(printf '\t')" "$work/claimed" || complain "claimed: $(cat "$work/claimed")"
stop

begin 'a command runs on, and the messages say for how long its lease is promised'
mkfifo "$work/go"
"$LK_PROGRAM" run y --ttl $((20 * stretch))s -- sh -c 'read -r line <"$0"' "$work/go" 2>"$work/said" &
runner=$!
until_true sh -c '"$0" ls y | grep -q held' "$LK_PROGRAM"
stop KILL
until_true says 'lk: AWAY: for .*: .*refused; the lease is promised for .* more'
again
until_true says 'lk: BACK: '
echo go >"$work/go"
wait "$runner" || complain "the run ended with $?"
stop

begin 'a pool of workers says that the service is away, idle and at work, and that it is back'
worked() {
    [ "$(wc -l <"$work/done")" -ge "$1" ]
}
has_no_item() {
    [ -z "$("$LK_PROGRAM" items q --json)" ]
}
: >"$work/done"
"$LK_PROGRAM" work q --workers 3 --ttl 1h -- sh -c '[ "$1" != slow ] || read -r line <"$0"; echo "$1" >>"$2"' \
    "$work/go" '{id}' "$work/done" 2>"$work/said" &
pool=$!
lk push q 1
until_true worked 1
until_true has_no_item # its worker waits again, as the others do
stop KILL
until_true says 'lk: AWAY: for .*: .*refused; the wait goes on'
again
until_true says '^lk: BACK: the store answers again$'
lk push q 2
until_true worked 2
lk push q slow
until_true sh -c '"$0" items q | grep -q claimed' "$LK_PROGRAM"
lines=$(grep -c 'lk: AWAY: ' "$work/said") # a long outage has more than one
stop KILL
until_true says 'lk: AWAY: ' $((lines + 1))
again
until_true says '^lk: BACK: the store answers again$' 2
echo go >"$work/go"
until_true worked 3
kill "$pool"
wait "$pool" || complain "the pool ended with $?"
stop

finish
