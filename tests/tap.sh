# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Test cases in TAP, for scripts that check one thing at a time (tests/cli/harness.sh has scenarios
# instead). Files belong below $work, a directory that is removed at the end; a script with more to
# clean up sets its own trap.
#
#   ok TITLE COMMAND...   a case: the command succeeds
#   report CODE TITLE     a case with a known result: 0 is success
#   finish                the last line of a script
#
# When a case fails, the command's output, $work/out and $work/err are printed. Times are multiplied
# by $stretch: it is more than 1 if a script with `env: timed` failed on a busy machine (tests/timed).

set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/lk-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
count=0 failures=0
# shellcheck disable=SC2034 # for the script that reads this
stretch=${LK_TEST_STRETCH:-1}

ok() {
    title=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        report 0 "$title"
    else
        report 1 "$title"
    fi
}

report() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        for file in said out err; do
            [ ! -f "$work/$file" ] || tail -n 30 "$work/$file" | sed "s/^/# $file: /"
        done
        failures=$((failures + 1))
    fi
    rm -f "$work/said"
}

finish() {
    echo "1..$count"
    [ "$failures" -eq 0 ]
    exit
}
