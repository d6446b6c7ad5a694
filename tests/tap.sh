# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Cases counted and told in TAP; read by scripts that look at things one by one (tests/cli/harness.sh
# has scenarios instead). What a script leaves behind belongs below $work, a directory that goes when
# it ends; who has more to clear away sets a trap of his own.
#
#   ok TITLE COMMAND...   a case: the command ends well
#   report CODE TITLE     a case that has been decided: 0 is well
#   finish                the last line of a script
#
# When a case fails, what the command said is told, and what stands in $work/out and $work/err.

set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/lk-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
count=0 failures=0

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
