#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: canary.sh path/to/fuzz-canary
#
# The driver of the fuzz targets is worth something only if it notices. Here it drives a target that
# fails in every way that a target can.
. "${0%/*}/../tap.sh"
canary=$1
TMPDIR=$work/tmp
LK_TEST_SEED=1
LK_TEST_SCALE=100
export TMPDIR LK_TEST_SEED LK_TEST_SCALE
mkdir "$TMPDIR"
hex() { # WORD...: each is an input
    for each; do
        printf '%s' "$each" | od -An -v -tx1 | tr -d ' \n'
        echo
    done
}
hex good >"$work/good"
hex good A better Abc >"$work/aborts"
hex H >"$work/hangs"
hex E >"$work/ends"
hex @ >"$work/near" # one bit from `A`
: >"$work/empty"

said() { # PATTERN: as an extended regular expression, a whole line
    grep -qxE -- "$1" "$work/out"
}

drive() { # ARGUMENT...
    code=0
    "$canary" "$@" >"$work/out" 2>"$work/err" || code=$?
    echo "exit code $code" >>"$work/out"
}

passes() { [ "$code" -eq 0 ] && said 'ok 1 - .*' && said 'ok 2 - .*'; }
fails_in_the_corpus() { [ "$code" -ne 0 ] && said 'not ok 1 - .*' && said "# $1; once more by: --input $2"; }
fails_inventing() { [ "$code" -ne 0 ] && said 'ok 1 - .*' && said 'not ok 2 - .*'; }
refuses() { [ "$code" -ne 0 ] && ! said 'ok .*' && [ -s "$work/err" ]; }

drive --milliseconds 0 "$work/good"
ok "inputs that are good pass" passes
drive --milliseconds 0 "$work/aborts"
ok "an input that aborts is reported" fails_in_the_corpus '.*signal 6.*' 41
ok "so is the one behind it" fails_in_the_corpus '.*signal 6.*' 416263
ok "with its place" said '# .*/aborts:4'
drive --milliseconds 0 "$work/ends"
ok "an input that ends the process is reported" fails_in_the_corpus '.*code 77' 45
drive --milliseconds 0 --patience 1 "$work/hangs"
ok "an input that hangs is reported" fails_in_the_corpus '.*more than 1 s' 48
drive --input 41
ok "a reported input fails again by itself" test "$code" -ne 0
drive --input 42
ok "another does not" test "$code" -eq 0

drive --milliseconds 60000 --patience 5 "$work/near"
ok "inputs are made that fail" fails_inventing
cp "$work/out" "$work/first"
drive --milliseconds 60000 --patience 5 "$work/near"
ok "the same number makes the same ones" cmp -s "$work/out" "$work/first"

drive --milliseconds 0 "$work/empty"
ok "a corpus that is empty is refused" refuses
drive --milliseconds 0 "$work/missing"
ok "a corpus that is missing is refused" refuses
for line in 4 4g 4A '41 ' "$(printf '%08200d' 0)"; do
    { hex good && echo "$line"; } >"$work/bad"
    drive --milliseconds 0 "$work/bad"
    ok "a line that is no input is refused: $(echo "$line" | cut -c 1-8)" refuses
    ok "as it says" grep -q '/bad:2: is no input' "$work/err"
done
ok "nothing is left behind" test -z "$(ls "$TMPDIR")"
finish
