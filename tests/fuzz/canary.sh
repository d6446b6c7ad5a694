#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: canary.sh path/to/fuzz-canary
#
# The driver of the fuzz targets is worth something only if it notices. Here it drives a target that
# fails in every way that a target can.
set -u
canary=$1
place=$(mktemp -d "${TMPDIR:-/tmp}/lk-canary.XXXXXX")
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM HUP
TMPDIR=$place/tmp
LK_TEST_SEED=1
LK_TEST_SCALE=100
export TMPDIR LK_TEST_SEED LK_TEST_SCALE
mkdir "$TMPDIR" "$place/good" "$place/aborts" "$place/hangs" "$place/ends" "$place/empty" "$place/near"
printf 'good' >"$place/good/1"
printf 'good' >"$place/aborts/1"
printf 'A' >"$place/aborts/2"
printf 'better' >"$place/aborts/3"
printf 'Abc' >"$place/aborts/4"
printf 'H' >"$place/hangs/1"
printf 'E' >"$place/ends/1"
printf '@' >"$place/near/1" # one bit from `A`
number=0
status=0

said() { # PATTERN: as an extended regular expression, a whole line
    grep -qxE -- "$1" "$place/said"
}

drive() { # ARGUMENT...
    "$canary" "$@" >"$place/said" 2>"$place/err"
    code=$?
}

check() { # WHAT COMMAND...
    number=$((number + 1))
    what=$1
    shift
    if "$@"; then
        echo "ok $number - $what"
    else
        sed 's/^/# /' "$place/said" "$place/err"
        echo "not ok $number - $what (code $code)"
        status=1
    fi
}

passes() { [ "$code" -eq 0 ] && said 'ok 1 - .*' && said 'ok 2 - .*'; }
fails_in_the_corpus() { [ "$code" -ne 0 ] && said 'not ok 1 - .*' && said "# $1; once more by: --input $2"; }
fails_inventing() { [ "$code" -ne 0 ] && said 'ok 1 - .*' && said 'not ok 2 - .*'; }
refuses() { [ "$code" -ne 0 ] && ! said 'ok .*' && [ -s "$place/err" ]; }

drive --milliseconds 0 "$place/good"
check "inputs that are good pass" passes
drive --milliseconds 0 "$place/aborts"
check "an input that aborts is told" fails_in_the_corpus '.*signal 6.*' 41
check "so is the one behind it" fails_in_the_corpus '.*signal 6.*' 416263
drive --milliseconds 0 "$place/ends"
check "an input that ends the process is told" fails_in_the_corpus '.*code 77' 45
drive --milliseconds 0 --patience 1 "$place/hangs"
check "an input that hangs is told" fails_in_the_corpus '.*more than 1 s' 48
drive --input 41
check "a told input fails once more by itself" test "$code" -ne 0
drive --input 42
check "another does not" test "$code" -eq 0

drive --milliseconds 60000 --patience 5 "$place/near"
check "inputs are made that fail" fails_inventing
cp "$place/said" "$place/said.first"
drive --milliseconds 60000 --patience 5 "$place/near"
check "the same number makes the same ones" cmp -s "$place/said" "$place/said.first"

drive --milliseconds 0 "$place/empty"
check "a corpus that is empty is refused" refuses
drive --milliseconds 0 "$place/missing"
check "a corpus that is missing is refused" refuses
check "nothing is left behind" test -z "$(ls "$TMPDIR")"
echo "1..$number"
exit "$status"
