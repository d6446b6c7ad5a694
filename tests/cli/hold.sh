#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk hold: a lease that lives as long as the process it is held for.
. "${0%/*}/harness.sh"

# The state of a path, as the store lists it; nothing if it is free.
state_of() {
    "$LK_PROGRAM" ls "$1" --json | jq -r .state
}

is_free() {
    [ -z "$(state_of "$1")" ]
}

# The keepers of this scenario's store.
keepers() {
    for status in /proc/[0-9]*/stat; do
        # shellcheck disable=SC2013 # fields without blanks
        case $(cat "$status" 2>/dev/null) in
        *"(lk-hold)"*) grep -zqx "LK_STORE=$LK_STORE" "${status%stat}environ" 2>/dev/null && echo "$status" ;;
        esac
    done
}

has_no_keeper() {
    [ -z "$(keepers)" ]
}

scenario 'hold prints the token, and the lease ends with the script'
sh -c '"$0" hold x >"$1" && "$0" ls x --json; :' "$LK_PROGRAM" "$work/token" >"$work/out"
expect .state '"held"'
expect .token "$(cat "$work/token")"
until_true is_free x
until_true has_no_keeper

scenario 'through a command substitution it is held for the script, whose pipe has an end'
sh -c 'token=$("$0" hold x 2>/dev/null); "$0" ls x --json; echo "$token" >"$1"' "$LK_PROGRAM" "$work/token" >"$work/out"
expect .token "$(cat "$work/token")"
until_true is_free x

scenario 'no descriptor of the caller stays open in the keeper'
mkfifo "$work/pipe"
sh -c 'exec 7>"$1"; "$0" hold x --ttl "$3" --for-pid "$2" >&7' "$LK_PROGRAM" "$work/pipe" $$ $((4 * stretch))s &
timeout 60 cat "$work/pipe" >"$work/out" || complain 'the pipe has no end'
expect_number
wait $!
lk release x --token "$(cat "$work/out")"
expect_code 0
until_true has_no_keeper

scenario 'the lease is kept alive past its ttl'
lk hold x --ttl $((4 * stretch))s
expect_code 0
first=$(cat "$work/out")
kept() { # its deadline is another one than the first
    lk ls x --json
    [ "$(field .token)" = "$first" ] && [ "$(field ".age_ms > $((4000 * stretch))")" = true ]
}
until_true kept
lk release x
expect_code 0
until_true has_no_keeper

scenario 'kill -9 of the shell releases'
mkfifo "$work/input"
sh -c '"$0" hold x >/dev/null; echo held; read -r line' "$LK_PROGRAM" >"$work/said" <"$work/input" &
shell=$!
exec 8>"$work/input"
until_true grep -q held "$work/said"
[ "$(state_of x)" = held ] || complain 'not held'
kill -9 "$shell"
until_true is_free x
exec 8>&-
rm "$work/input"
until_true has_no_keeper

scenario 'a release with the token ends it early, without the clean-up'
lk hold x --ttl $((4 * stretch))s --cleanup "echo cleaned >$work/cleaned"
sh -c '"$0" release x --token "$1"; exit' "$LK_PROGRAM" "$(cat "$work/out")" || complain 'release'
until_true has_no_keeper
[ ! -e "$work/cleaned" ] || complain 'the clean-up ran'

scenario 'the clean-up runs once before the release, with the variables of the lease'
sh -c '"$0" hold x --cleanup "$1" >"$2"; exit' "$LK_PROGRAM" \
    "\"$LK_PROGRAM\" ls x --json >$work/seen; echo \$LK_PATH \$LK_TOKEN >>$work/cleaned" "$work/token"
until_true is_free x
until_true has_no_keeper
cp "$work/seen" "$work/out"
expect .state '"held"'
[ "$(cat "$work/cleaned")" = "x $(cat "$work/token")" ] || complain 'LK_PATH and LK_TOKEN'
rm "$work/cleaned"

scenario 'a lease that was broken is lost: the clean-up runs, and the caller lives on'
lk hold x --ttl $((4 * stretch))s --cleanup "echo cleaned >$work/cleaned"
lk break x --now --reason test
until_true has_no_keeper
[ -e "$work/cleaned" ] || complain 'no clean-up'

scenario 'SIGTERM to the keeper releases'
lk hold x
keeper=$(keepers)
kill "$(basename "${keeper%/stat}")"
until_true is_free x
until_true has_no_keeper

scenario 'it is held for another process'
sleep 1000 &
other=$!
lk hold x --for-pid "$other"
expect_number
kill "$other"
until_true is_free x
lk hold x --for-pid "$other"
failure 64 'lk: INVALID: hold: there is no process *'
lk ls x --json
expect_out ''

scenario 'a refusal is that of acquire, and leaves nothing'
lk acquire x --owner ana
lk hold -n x
failure 75 'lk: BUSY: x is held by ana, *'
lk hold -w 50ms x -E 9 --json
expect_code 9
expect .status '"timeout"'
lk hold 'bad//path'
failure 64 'lk: INVALID: *'
until_true has_no_keeper

scenario 'a signal while it waits withdraws the request'
lk acquire x --owner ana
sh -c 'exec "$0" hold x --owner ben' "$LK_PROGRAM" 2>"$work/err" &
waiter=$!
waits() { [ "$(state_of x)" = 'held
waiting' ]; }
until_true waits
kill "$waiter"
wait "$waiter"
code=$?
expect_code 143
[ "$(state_of x)" = held ] || complain 'it waits on'
until_true has_no_keeper

scenario 'so does the end of the process that it would be held for'
lk acquire x --owner ana
sleep 1000 &
other=$!
sh -c 'exec "$0" hold x --owner ben --for-pid "$1"' "$LK_PROGRAM" "$other" 2>/dev/null &
waiter=$!
until_true waits
kill "$other"
wait "$waiter"
[ "$(state_of x)" = held ] || complain 'it waits on'
until_true has_no_keeper

scenario 'and kill -9 of lk itself'
lk acquire x --owner ana
sh -c 'exec "$0" hold x --owner ben' "$LK_PROGRAM" 2>/dev/null &
waiter=$!
until_true waits
kill -9 "$waiter"
wait "$waiter"
until_true has_no_keeper
[ "$(state_of x)" = held ] || complain 'it waits on'

finish
