#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk run and lk hold --at-least: the lease of a job that was quick stays, so that no other machine
# does the job again.
. "${0%/*}/harness.sh"

# The lease is held, and ends within the hour that the scenarios ask for, not within its ttl.
expect_kept() {
    lk ls "$1" --json
    expect .state '"held"'
    expect '.expires_in_ms > 120000 and .expires_in_ms <= 3600000' true
}

expect_free() {
    lk ls "$1" --json
    expect_out ''
}

scenario 'a quick job runs once, although its clocks differ'
for host in 1 2; do
    lk run -n -E 0 --at-least 1h nightly -- sh -c 'echo "$1" >>"$2"' sh "$host" "$work/ran"
    failure 0 ''
done
[ "$(cat "$work/ran")" = 1 ] || complain "ran: $(cat "$work/ran")"
expect_kept nightly

scenario 'at its end the next one runs'
lk run --at-least "${stretch}s" nightly -- true
failure 0 ''
lk run -n nightly -- true
expect_code 75
lk run -w "$((60 * stretch))" nightly -- true
expect_code 0

scenario 'a job that was not quicker leaves nothing'
lk run --at-least 50ms nightly -- sleep 0.1
failure 0 ''
expect_free nightly

scenario 'a failed job stays as well, with its exit code'
lk run --at-least 1h nightly -- sh -c 'exit 7'
failure 7 ''
expect_kept nightly

scenario 'so does one that is ended for its time'
lk run --at-least 1h --max-time 100ms nightly -- sleep 60
expect_code 124
expect_kept nightly

scenario 'so does one that a signal has ended'
# shellcheck disable=SC2016 # is meant for that shell
lk run --at-least 1h nightly -- sh -c 'kill -TERM "$PPID"; exec sleep 60'
expect_code 143
expect_kept nightly

scenario 'a job that could not be started has not run'
lk run --at-least 1h nightly -- /nowhere/to/be/found
expect_code 127
expect_free nightly

scenario 'the command that cleans up runs before'
lk run --at-least 1h --cleanup "'$LK_PROGRAM' ls nightly --json >'$work/seen'" nightly -- true
failure 0 ''
[ "$(jq .expires_in_ms "$work/seen")" -le 60000 ] || complain "seen: $(cat "$work/seen")"
expect_kept nightly

scenario 'all of several parts stay, and a limit counts'
lk run --at-least 1h a/x 'a/y?limit=2' -- true
failure 0 ''
expect_kept a/x
expect_kept a/y
lk run -n a/x -- true
expect_code 75
lk run -n --at-least 1h 'a/y?limit=2' -- true
failure 0 ''
lk run -n 'a/y?limit=2' -- true
expect_code 75

scenario 'it can be longer than the ttl, and is not renewed'
lk run --ttl 2s --at-least 1h nightly -- true
failure 0 ''
expect_kept nightly

scenario 'listings show the command, and why the lease is there'
lk run --at-least 1h nightly -- true now
lk ls nightly --json
expect .note '"true now (at least 1h)"'
lk run --at-least 3600 other -- true
lk ls other --json
expect .note '"true (at least 3600s)"'
lk run --at-least 1h --note mine third -- true
lk ls third --json
expect .note '"mine"'

scenario 'it ends early by its token, or by a break'
lk run --at-least 1h nightly -- sh -c 'echo "$LK_TOKEN"'
token=$(cat "$work/out")
lk release nightly --token "$token"
expect_code 0
expect_free nightly
lk run --at-least 1h nightly -- true
lk break nightly --reason test --now
expect_code 0
expect_free nightly

scenario 'a lease that was lost does not stay'
lk run --at-least 1h nightly -- "$LK_PROGRAM" break nightly --reason test --now
expect_code 78
expect_free nightly

scenario 'a lease that was revoked ends with the job'
lk run --at-least 1h nightly -- "$LK_PROGRAM" -q break nightly --reason test
expect_free nightly

scenario 'what contradicts it is refused before anything is taken'
for options in '--at-least 49ms' '--at-least 367d' '--at-least x' '--at-least 0' '--at-least 1h --until 23:59' \
    '--at-least 1h --inherit' '--at-least 1h --bound'; do
    # shellcheck disable=SC2086 # words
    lk run $options nightly -- touch "$work/never"
    failure 64 'lk: INVALID: *'
done
lk hold --at-least 1h --value nightly
failure 64 'lk: INVALID: *'
lk acquire --at-least 1h nightly
failure 64 'lk: INVALID: acquire does not take --at-least*'
[ ! -e "$work/never" ] || complain 'the command ran'
lk ls
expect_out ''

scenario 'shared memory, whose leases end with their process, is refused'
lk -S shm:lk-test-at-least run --at-least 1h 'x?limit=1' -- touch "$work/never"
failure 79 'lk: UNSUPPORTED: *'
[ ! -e "$work/never" ] || complain 'the command ran'
rm -f /dev/shm/canal.lk-test-at-least*

scenario 'hold: the lease of a script that was quick stays'
sh -c '"$0" hold nightly --at-least 1h' "$LK_PROGRAM" >"$work/token"
kept() {
    lk ls nightly --json
    [ "$(field '.expires_in_ms > 120000')" = true ]
}
until_true kept
lk release nightly --token "$(cat "$work/token")"
expect_code 0

finish
