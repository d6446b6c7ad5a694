#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh internals.sh LK
#
# The internal procedures take what they are given; what no program of the library can read does not
# come into the store by them, nor by statements on its tables. Prints TAP.
. "${0%/*}/harness.sh"

store="postgresql://postgres@/postgres?host=$LK_TEST_SERVER"
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
    grep -Eq 'are_sound|LK064|R[0-9]+:|null value' "$work/err" && readable
}

ask() { # OWNER PATHS LIMITS UNITS SORTED ROOTS TTL NOTE
    echo "CALL lockkeeper.lk_ask('$1', '$2', '$3', '$4', '$5', '$6', 'try', $7, 0, '$8', 4, false,
        ARRAY[('$2'::text[])[1]])"
}

ok 'all is readable' readable
ok 'an ask of a path with a blank' refuses "$(ask bob '{a b}' '{0}' '{0}' 'a b' '{a b}' 60000 '')"
ok 'of an empty path' refuses "$(ask bob '{""}' '{0}' '{0}' '' '{""}' 60000 '')"
ok 'of a path with a slash at its end' refuses "$(ask bob '{a/}' '{0}' '{0}' 'a/' '{a}' 60000 '')"
ok 'of dots' refuses "$(ask bob '{a/../b}' '{0}' '{0}' 'a/../b' '{a}' 60000 '')"
ok 'of a path that is too long' refuses "$(ask bob "{$(printf 'a%.0s' $(seq 300))}" '{0}' '{0}' \
    "$(printf 'a%.0s' $(seq 300))" "{$(printf 'a%.0s' $(seq 300))}" 60000 '')"
ok 'that is too deep' refuses "$(ask bob "{a$(printf '/a%.0s' $(seq 32))}" '{0}' '{0}' \
    "a$(printf '/a%.0s' $(seq 32))" '{a}' 60000 '')"
ok 'of more units than the limit' refuses \
    "$(ask bob '{a}' '{2}' '{3}' a '{a}' 60000 '' | sed 's/try/queue/')"
ok 'of less than nothing' refuses "$(ask bob '{a}' '{0}' '{-1}' a '{a}' 60000 '')"
ok 'without an owner' refuses "$(ask '' '{a}' '{0}' '{0}' a '{a}' 60000 '')"
ok 'with a long owner' refuses "$(ask "$(printf 'o%.0s' $(seq 129))" '{a}' '{0}' '{0}' a '{a}' 60000 '')"
ok 'with a long note' refuses "$(ask bob '{a}' '{0}' '{0}' a '{a}' 60000 "$(printf 'n%.0s' $(seq 256))")"
ok 'with a long ttl' refuses "$(ask bob '{a}' '{0}' '{0}' a '{a}' 99999999999 '')"
ok 'with another identity, by which it would be there twice' refuses \
    "$(ask alice '{db}' '{0}' '{0}' other '{db}' 60000 '')"
ok 'of two parts, too' refuses "$(ask bob '{a,b}' '{0,0}' '{0,0}' 'b a' '{a,b}' 60000 '')"
ok 'under another root' refuses "$(ask bob '{a}' '{0}' '{0}' a '{c}' 60000 '')"
ok 'of a path twice' refuses "$(ask bob '{a,a}' '{0,0}' '{0,0}' 'a a' '{a}' 60000 '')"
ok 'of a bad path that is refused, which would be an event' refuses \
    "$(ask bob '{db,"x {y}"}' '{0,0}' '{0,0}' 'db x {y}' '{db,"x {y}"}' 60000 '')"

push="CALL lockkeeper.lk_push_item"
ok 'a push into a queue that is no path' refuses "$push('a b', '1', 'a b', '', 0, '{}', '{}', '{}', '{}', 0, 0, 0)"
ok 'of an id that is no segment' refuses "$push('q', 'a/b', 'q', '', 0, '{}', '{}', '{}', '{}', 0, 0, 0)"
ok 'of an empty one' refuses "$push('q', '', 'q', '', 0, '{}', '{}', '{}', '{}', 0, 0, 0)"
ok 'of too much' refuses "$push('q', '1', 'q', convert_to(repeat('v', 65537), 'UTF8'), 0, '{}', '{}', '{}', '{}', 0, 0, 0)"
ok 'with needs that no claim could take' refuses "$push('q', '1', 'q', '', 0, '{a b}', '{0}', '{0}', '{a b}', 0, 0, 0)"
ok 'with units of less than nothing' refuses "$push('q', '1', 'q', '', 0, '{a}', '{0}', '{-2}', '{a}', 0, 0, 0)"
ok 'with a strict need that has a limit' refuses "$push('q', '1', 'q', '', 0, '{a}', '{2}', '{-1}', '{a}', 0, 0, 0)"
ok 'with lists of several lengths' refuses "$push('q', '1', 'q', '', 0, '{a}', '{}', '{0}', '{a}', 0, 0, 0)"
ok 'with roots of other needs' refuses "$push('q', '1', 'q', '', 0, '{a}', '{0}', '{0}', '{b}', 0, 0, 0)"
ok 'that is kept for less than no time' refuses "$push('q', '1', 'q', '', 0, '{}', '{}', '{}', '{}', 0, 0, -1)"
ok 'or for too long' refuses "$push('q', '1', 'q', '', 0, '{}', '{}', '{}', '{}', 0, 0, 99999999999)"
ok 'a progress that is too long' refuses "UPDATE lockkeeper.items SET progress = convert_to(repeat('p', 1025), 'UTF8')"
ok 'several at once' refuses "SELECT lockkeeper.lk_push_many('q', 'q', '[{\"id\":\"a/b\",\"delay_ms\":0,
    \"needs\":\"{}\",\"limits\":\"{}\",\"counts\":\"{}\",\"roots\":\"{}\",\"priority\":0}]')"
ok 'a claim without an owner' refuses \
    "CALL lockkeeper.lk_take('q', '{q}', 'q', '', 60000, 0, 0, '')"
ok 'for too long' refuses \
    "CALL lockkeeper.lk_take('q', '{q}', 'q', 'w', 99999999999, 0, 0, '')"
ok 'a put to what is no path' refuses "CALL lockkeeper.lk_put('a b', '{a b}', 'a b', '', 0, 'x')"
ok 'of too much' refuses \
    "CALL lockkeeper.lk_put('v', '{v}', 'v', '', 0, convert_to(repeat('v', 65537), 'UTF8'))"
ok 'a renewal for too long' refuses \
    "CALL lockkeeper.lk_renew('alice', '{db}', 'db', '{db}', 0, 99999999999)"
ok 'a row of the tables' refuses "UPDATE lockkeeper.parts SET path = 'a b'"
ok 'or another' refuses "UPDATE lockkeeper.items SET id = 'a/b'"
ok 'the item can be claimed still' says 0 'one*' -S "$store" claim --owner w q
"$lk" -S "$store" watch --after 1 >"$work/events" 2>"$work/err" &
watch=$!
until [ -s "$work/events" ] || ! kill -0 "$watch"; do
    sleep 0.1
done
kill "$watch"
ok 'and its event can be read' grep -q claimed "$work/events"

finish
