#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh cliffs.sh LK
#
# What a call reads does not grow with the locks below its path, nor with the queue at it: a decision
# ends at the first blocker, an explanation at 1024 of each kind (R20), a grant at the head of the
# queue. Only an answer that is as long reads as much. Prints TAP.
. "${0%/*}/counting.sh"

# A queue at a path: the first one holds it.
queue() { # PATH LENGTH
    fill FALSE 1 "$2" "$1-"
    sql "UPDATE lk_requests
         SET path = '$1', root = '$1', roots = '$1', ticket = 1000000 + ticket,
             identity = UNHEX(SHA2(CONCAT('$1', '\\n', owner), 256)),
             held = ticket = 1000001, token = IF(held, ticket, 0)
         WHERE path LIKE '$1-%';
         INSERT INTO lk_roots (root, last_draw, due_us, has_waiting)
         SELECT '$1', 0, UNIX_TIMESTAMP() * 1000000 + 80000000000, TRUE"
}

below() { # PATH
    counted try 75 acquire --try --owner "eve-$1" "$1" &&
        counted below 75 acquire --queue --ttl 1h --owner "eve-$1" "$1" &&
        counted again 75 acquire --queue --ttl 1h --owner "eve-$1" "$1" &&
        counted withdraw 0 release --owner "eve-$1" "$1"
}

in_line() { # PATH
    counted refused 75 acquire --try --owner "eve-$1" "$1" &&
        counted last 75 acquire --queue --ttl 1h --owner "eve-$1" "$1" &&
        counted later 75 acquire --queue --ttl 1h --owner "eve-$1" "$1"
}

ahead() { # PATH
    counted leave 0 release --owner "eve-$1" "$1" &&
        counted grant 0 release --owner "other-$1-1" "$1" &&
        counted granted 0 acquire --queue --ttl 1h --owner "other-$1-2" "$1" &&
        counted end 0 release --owner "other-$1-2" "$1"
}

fill TRUE 1 2000 few/
fill TRUE 1 10000 many/
ok 'a path with 2,000 held below it is asked for' below few
ok 'and one with 10,000' below many
ok 'a try that is refused reads no more' as_many try
ok 'nor does one that is queued' as_many below
ok 'nor does one that is repeated' as_many again
ok 'nor its withdrawal' as_many withdraw

queue short 2000
queue long 10000
ok 'a queue of 2,000 is joined' in_line short
ok 'and one of 10,000' in_line long
ok 'a try that is refused there reads no more' as_many refused
ok 'nor does the last one in the queue' as_many last
ok 'nor when it asks again' as_many later

queue ten 10
ok 'a queue of ten' quietly acquire --queue --ttl 1h --owner eve-ten ten
ok 'gives the lock on twice' ahead ten
ok 'so does one of 10,000' ahead long
ok 'to leave it reads no more' as_many leave
ok 'nor does the release that lets the next one in' as_many grant
ok 'nor does its own ask for what it holds' as_many granted
ok 'nor its release' as_many end

# The answer itself is as long.
ok 'a parent of 2,000 is shown' counted shown 0 show few
ok 'and one of 10,000' counted shown 0 show many
# shellcheck disable=SC2046 # two numbers
set -- $(cat "$work/read-shown")
ok 'which reads five times as much' [ "$2" -le $((6 * $1)) ]

finish
