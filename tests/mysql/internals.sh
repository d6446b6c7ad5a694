#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh internals.sh LK
#
# The internal procedures take what they are given; what no program of the library can read does not
# come into the store by them, nor by statements on its tables. Prints TAP.
. "${0%/*}/harness.sh"

store="mysql://root@/test?$server"
"$lk" -S "$store" acquire --owner alice --ttl 1h db >"$work/out"
"$lk" -S "$store" push q one
"$lk" -S "$store" put v good >"$work/out"
"$lk" -S "$store" limits events=100 >"$work/out"

readable() { # by all that lists anything
    for words in 'show db' 'items q' queues 'get v' audit ls; do
        # shellcheck disable=SC2086 # words
        "$lk" -S "$store" $words >"$work/listed" 2>&1 || return 1
    done
    grep -q alice "$work/listed"
}

refuses() { # SQL
    sql "$1" >"$work/out" && return 1
    grep -Eq 'are_sound|LK064|ERROR 1(264|300|406) ' "$work/err" && readable
}

ask() { # OWNER PATHS LIMITS UNITS SORTED ROOTS TTL NOTE [STYLE]
    echo "CALL lk_ask('$1', '$2', '$3', '$4', '$5', '$6', '${9-try}', $7, 0, '$8', 4, FALSE)"
}
long=$(printf 'a%.0s' $(seq 300))
deep="a$(printf '/a%.0s' $(seq 32))"
tab=$(printf '\t')

ok 'all is readable' readable
for style in try wait; do
    ok "an ask of a path with a tab ($style)" refuses \
        "$(ask bob "a${tab}b" 0 0 "a${tab}b" "a${tab}b" 60000 '' $style)"
    for path in 61e2808362 61c2a062 61e38080 61ff; do # white space that is not of ASCII; no text
        ok "of the bytes $path" refuses \
            "CALL lk_ask('bob', x'$path', '0', '0', x'$path', x'$path', '$style', 60000, 0, '', 4, FALSE)"
    done
    ok 'of an empty path' refuses "$(ask bob '' 0 0 '' '' 60000 '' $style)"
    ok 'of a path with a slash at its end' refuses "$(ask bob a/ 0 0 a/ a 60000 '' $style)"
    ok 'of dots' refuses "$(ask bob a/../b 0 0 a/../b a 60000 '' $style)"
    ok 'with a brace' refuses "$(ask bob 'a{b' 0 0 'a{b' 'a{b' 60000 '' $style)"
    ok 'of a segment that is too long' refuses "$(ask bob "$long" 0 0 "$long" "$long" 60000 '' $style)"
    ok 'of a path that is too deep' refuses "$(ask bob "$deep" 0 0 "$deep" a 60000 '' $style)"
    ok 'of more units than the limit' refuses "$(ask bob a 2 3 a a 60000 '' $style)"
    ok 'of less than nothing' refuses "$(ask bob a 0 -1 a a 60000 '' $style)"
    ok 'without an owner' refuses "$(ask '' a 0 0 a a 60000 '' $style)"
    ok 'with a long owner' refuses "$(ask "$(printf 'o%.0s' $(seq 129))" a 0 0 a a 60000 '' $style)"
    ok 'with a long note' refuses "$(ask bob a 0 0 a a 60000 "$long" $style)"
    ok 'with a long ttl' refuses "$(ask bob a 0 0 a a 99999999999 '' $style)"
    ok 'with another identity, by which it would be there twice' refuses \
        "$(ask bob a 0 0 other a 60000 '' $style)"
    ok 'of two parts, too' refuses "$(ask bob 'a b' '0 0' '0 0' 'b a' 'a b' 60000 '' $style)"
    ok 'under another root' refuses "$(ask bob a 0 0 a c 60000 '' $style)"
    ok 'of two parts, too' refuses "$(ask bob 'a b' '0 0' '0 0' 'a b' 'a c' 60000 '' $style)"
    ok 'of a path twice' refuses "$(ask bob 'a a' '0 0' '0 0' 'a a' a 60000 '' $style)"
    ok 'of a bad path that is refused, which would be an event' refuses \
        "$(ask bob 'db x{y}' '0 0' '0 0' 'db x{y}' 'db x{y}' 60000 '' $style)"
done
sql "$(ask bob 'f/g e' '0 3' '0 2' 'e f/g' 'e f' 60000 '')" >"$work/granted"
sql "CALL lk_release('bob', '', 'e f/g', 'e f', 0, '', NULL)" >"$work/out"
ok 'right ones are granted' grep -q '^granted' "$work/granted"

push='CALL lk_push_item'
ok 'a push into a queue that is no path' refuses "$push('a b', '1', 'a b', '', 0, '', '', '', '', 0, 0, 0)"
ok 'of an id that is no segment' refuses "$push('q', 'a/b', 'q', '', 0, '', '', '', '', 0, 0, 0)"
ok 'of an empty one' refuses "$push('q', '', 'q', '', 0, '', '', '', '', 0, 0, 0)"
ok 'of too much' refuses "$push('q', '1', 'q', REPEAT('v', 65537), 0, '', '', '', '', 0, 0, 0)"
ok 'with needs that no claim could take' refuses "$push('q', '1', 'q', '', 0, 'a/', '0', '0', 'a', 0, 0, 0)"
ok 'of more than their limit' refuses "$push('q', '1', 'q', '', 0, 'a', '2', '3', 'a', 0, 0, 0)"
ok 'with lists of several lengths' refuses "$push('q', '1', 'q', '', 0, 'a b', '0', '0', 'a b', 0, 0, 0)"
ok 'with roots of other needs' refuses "$push('q', '1', 'q', '', 0, 'a', '0', '0', 'b', 0, 0, 0)"
ok 'of the item itself' refuses "$push('q', '1', 'q', '', 0, 'q/1', '0', '0', 'q', 0, 0, 0)"
ok 'with right ones it is pushed' is "$push('q', 'two', 'q', '', 0, 'a b c', '0 0 3', '0 1 2', 'a b c', 0, 0, 0)" '1|0|NULL'
ok 'several at once' refuses "CALL lk_push_many('q', 'q', '[{\"id\": \"a/b\", \"delay_ms\": 0,
    \"needs\": \"\", \"limits\": \"\", \"counts\": \"\", \"roots\": \"\", \"priority\": 0}]')"
ok 'a claim without an owner' refuses "CALL lk_take('q', 'q', '', 60000, 0, 0, '')"
ok 'for too long' refuses "CALL lk_take('q', 'q', 'w', 99999999999, 0, 0, '')"
ok 'several at once, too' refuses "CALL lk_take_many('q', 'q', 'w', 99999999999, 0, '', '[{\"ask_number\": 0}]')"
ok 'a put to what is no path' refuses "CALL lk_put('a b', 'a b', '', 0, 'x')"
ok 'of too much' refuses "CALL lk_put('v', 'v', '', 0, REPEAT('v', 65537))"
ok 'a renewal for too long' refuses "CALL lk_renew('alice', 'db', 'db', 'db', 0, 99999999999)"
ok 'a row of the tables' refuses "UPDATE lk_requests SET path = 'a b'"
ok 'or another' refuses "UPDATE lk_items SET id = 'a/b'"
ok 'or an event' refuses "UPDATE lk_happenings SET parts = 'a?limit='"
ok 'the item can be claimed still' says 0 'one*' -S "$store" claim --owner w q
"$lk" -S "$store" watch --after 1 >"$work/events" 2>"$work/err" &
watch=$!
until [ -s "$work/events" ] || ! kill -0 "$watch"; do
    sleep 0.1
done
kill "$watch"
ok 'and its event can be read' grep -q claimed "$work/events"

finish
