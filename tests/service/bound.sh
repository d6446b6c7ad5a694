#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk run --bound and lk hold --bound: leases that end with their connection to a service (R18).
. "${0%/*}/harness.sh"

begin() { # TITLE
    scenario "$1"
    again
    LK_STORE=lk+unix:$work/s
}

again() {
    serve --unix "$work/s" --http none --ephemeral
}

held_by() { # OWNER: or a waiter
    [ "$("$LK_PROGRAM" ls x --json | jq -r 'select(.owner == "'"$1"'").state')" = "${2:-held}" ]
}

# Starts a run that says when its command runs.
start_run() { # OPTION...
    "$LK_PROGRAM" run --bound x --owner ben "$@" -- sh -c 'echo "$$" >"$0"; exec sleep 1000' \
        "$work/command" 2>"$work/said" &
    runner=$!
}

has_command() {
    [ -s "$work/command" ] && held_by ben
}

begin 'a lease without a ttl lives as long as its connection, and is released'
lk run --bound x -- sh -c 'echo "$LK_TTL_MS"'
expect_out 31622400000
lk run x --bound -w $((10 * stretch)) -- sh -c "'$LK_PROGRAM' ls x --json | jq -r .state; exit 3"
expect_out held
expect_code 3
lk run --bound 'x?limit=3' --ttl $((5 * stretch))s -- sh -c 'echo "$LK_TTL_MS"'
expect_out $((5000 * stretch))
lk run --bound x --until "$(date -d '+1 hour' +%H:%M:%S)" -- true
expect_code 0
lk ls --json
expect_out ''
stop

begin 'if lk is killed, the next one is granted at once, when the command is dead'
cat >"$work/is_dead" <<'END'
! grep -q '^[0-9]* (.*) [^Z]' "/proc/$(cat "$1")/stat" 2>/dev/null && echo dead >"$2"
END
start_run --cleanup "sh '$work/is_dead' '$work/command' '$work/cleaned'"
until_true has_command
"$LK_PROGRAM" run x --owner eve -- sh "$work/is_dead" "$work/command" "$work/next" &
next=$!
until_true held_by eve waiting
kill -KILL "$runner"
wait "$next" || complain "the next one ended with $?"
[ -s "$work/next" ] || complain 'the command lived on beside it'
[ -s "$work/cleaned" ] || complain 'the clean-up did not run, or too early'
stop

begin 'a service that is killed ends the command at once, also if it is back'
rm -f "$work/command"
start_run
until_true has_command
stop KILL
again
wait "$runner"
code=$?
expect_code 78
until_true grep -q '^lk: LOST: ' "$work/said"
lk ls --json
expect_out ''
stop

begin 'a break ends it, and so does a service that is silent'
rm -f "$work/command"
start_run
until_true has_command
lk break x --now --reason test
wait "$runner"
code=$?
expect_code 78
rm -f "$work/command"
start_run --ttl $((2 * stretch))s
until_true has_command
kill -STOP "$served"
wait "$runner"
code=$?
expect_code 78
kill -CONT "$served"
lk run x -- true
expect_code 0
stop

begin 'a request that waits ends with lk, and is granted bound after a wait'
lk acquire x --owner ana --ttl 1h
rm -f "$work/command"
start_run
until_true held_by ben waiting
kill -KILL "$runner"
wait "$runner"
until_true sh -c '! "$0" ls x --json | grep -q ben' "$LK_PROGRAM"
start_run
until_true held_by ben waiting
lk release x --owner ana
until_true has_command
kill "$runner"
wait "$runner"
code=$?
expect_code 143
lk ls --json
expect_out ''
stop

begin 'lk hold: as long as the caller lives'
"$LK_PROGRAM" run --owner eve y -- sh -c '"$0" hold --bound x --owner ben >/dev/null; kill -KILL $$' \
    "$LK_PROGRAM" 2>/dev/null
lk run x -w 1h -- true
expect_code 0
token=$("$LK_PROGRAM" hold --bound x --owner ben)
held_by ben || complain 'nothing is held'
lk release x --token "$token"
expect_code 0
stop

scenario 'other stores have no connection to end with'
LK_STORE=sqlite:$work/other.db
for name in 'run --bound x -- true' 'hold x --bound'; do
    # shellcheck disable=SC2086 # words
    lk $name
    failure 79 'lk: UNSUPPORTED: a store of sqlite: cannot bind a request to a connection: a service can (lk:)'
done

finish
