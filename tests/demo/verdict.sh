#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: verdict.sh path/to/tools/demo/verdict
#
# The demonstration's verdict is worth something only if it condemns a bad record. Here it gets
# records written by hand: one as it should be, and the same one with one thing wrong at a time. What
# it says, and what is drawn, is to be true of a slow machine, too.
set -e
. "${0%/*}/../tap.sh"
verdict=$1
demo=$(dirname "$verdict")
DEMO_DIR=$work
export DEMO_DIR
# shellcheck source=tools/demo/record.sh
. "$demo/record.sh"

# An unused pid: that of a process that has ended.
sh -c : &
gone=$!
wait "$gone"

good_record() {
    rm -f "$DEMO_DIR/record.db"
    query "$(cat "$demo/record.sql")"
    query "INSERT INTO record (at_ms, run, path, what, pid, token) VALUES
        (  10, 'reset1', 'mydatabase',       'begins', $gone, 10),
        (  20, 'reset1', 'mydatabase',       'ends',   $gone, 10),
        (  30, 'test1',  'mydatabase/test1', 'begins', $gone, 20),
        (  40, 'test2',  'mydatabase/test2', 'begins', $gone, 21),
        (  50, 'test3',  'mydatabase/test3', 'begins', $gone, 22),
        (  60, 'test3',  'mydatabase/test3', 'works',  $gone, 22),
        ( 100, 'test3',  'mydatabase/test3', 'killed', $gone, NULL),
        ( 200, 'test1',  'mydatabase/test1', 'ends',   $gone, 20),
        ( 210, 'test2',  'mydatabase/test2', 'ends',   $gone, 21),
        (3050, 'reset2', 'mydatabase',       'begins', $gone, 30),
        (3100, 'reset2', 'mydatabase',       'ends',   $gone, 30),
        (3110, 'test5',  'mydatabase/test5', 'begins', $gone, 40),
        (3120, 'test6',  'mydatabase/test6', 'begins', $gone, 41),
        (3150, 'test5',  'mydatabase/test5', 'ends',   $gone, 40),
        (3160, 'test6',  'mydatabase/test6', 'ends',   $gone, 41)"
}

# judges WHAT EXPECTED [FAILURES]: EXPECTED are the numbers of the checks that must fail.
judges() {
    failed=$("$verdict" "${3:-0}" 3 | sed -n 's/^not ok \([0-9]*\).*/\1/p' | tr '\n' ' ')
    echo "failed: $failed, expected: $2" >"$work/out"
    ok "$1" [ "${failed% }" = "$2" ]
}

# says WHAT SENTENCE: the sentence of check 6.
says() {
    "$verdict" 0 3 | sed -n 's/^ok 6 - \(.*\)/\1/p' >"$work/out"
    ok "$1" [ "$(cat "$work/out")" = "$2" ]
}

# draws WHAT COLUMNS: how long the lease of the killed run is, of 72 columns.
draws() {
    query "$(sed 's/:ttl_ms/3000/' "$demo/timeline.sql")" | awk -f "$demo/timeline.awk" >"$work/out"
    ok "$1" [ "$(grep '^test3' "$work/out" | tr -cd '~' | wc -c)" -eq "$2" ]
}

limit=' (20000 ms at most)'
good_record
judges "a good record" ""
says "the reset began within the ttl of the killed test" \
    "the reset began within the killed test's ttl of 3 s: 2950 ms after the kill$limit"
draws "its lease ends when the reset begins" 67
query "UPDATE record SET at_ms = at_ms + 9000 WHERE at_ms > 3000"
judges "a machine that is slow" ""
says "the reset began when the other tests had ended, too" \
    "the reset began 8950 ms after the killed test's ttl of 3 s and the last live test had ended$limit"
draws "its lease ends with its ttl" 18
good_record
judges "a run that failed" "1" 1

good_record
query "UPDATE record SET what = 'misses' WHERE run = 'test5' AND what = 'ends'"
judges "a test that missed its rows" "2"

good_record
query "INSERT INTO record (at_ms, run, path, what, pid, token)
       VALUES (3200, 'reset2', 'mydatabase', 'works', $gone, 30)"
judges "a reset that went on beside tests" "3"

good_record
query "INSERT INTO record (at_ms, run, path, what, pid, token)
       VALUES (3060, 'test3', 'mydatabase/test3', 'works', $gone, 22)"
judges "a killed test that went on beside the reset" "3"

good_record
query "UPDATE record SET path = 'mydatabase/test1' WHERE run = 'test2'"
judges "a test beside itself" "3"

good_record
query "DELETE FROM record WHERE run LIKE 'test%' AND what IN ('works', 'ends')"
judges "tests one after the other" "4"

good_record
query "UPDATE record SET pid = $$ WHERE run = 'test3'"
judges "a command that outlived its lk" "5"

good_record
query "UPDATE record SET at_ms = at_ms + 21000 WHERE at_ms > 3000"
judges "a reset that came too late" "6"

good_record
query "UPDATE record SET id = id + 100 WHERE run = 'reset2'"
judges "a reset that was overtaken" "7 8"

good_record
query "UPDATE record SET token = 15 WHERE run = 'reset2'"
judges "a token that did not rise" "8"

finish
