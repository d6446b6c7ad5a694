#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh cliffs.sh LK
#
# What a call reads does not grow with the locks below its path, nor with the queue at it: a decision
# ends at the first blocker, an explanation at 64 of each kind (R20), a grant at the head of the
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

queue short 100
queue long 10000
ok 'a queue of a hundred is joined' in_line short
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

# Ten slots that are held, and a line of this length for them.
slots() { # PATH LENGTH
    queue "$1" $(($2 + 10))
    sql "UPDATE lk_requests
         SET unit_limit = 10, units = 1, held = ticket <= 1000010, token = IF(held, ticket, 0)
         WHERE path = '$1'"
}

slot() { # PATH
    counted slot-try 75 acquire --try --limit 10 --owner "eve-$1" "$1" &&
        counted slot-last 75 acquire --queue --ttl 1h --limit 10 --owner "eve-$1" "$1" &&
        counted slot-later 75 acquire --queue --ttl 1h --limit 10 --owner "eve-$1" "$1" &&
        counted slot-leave 0 release --owner "eve-$1" "$1" &&
        counted slot-grant 0 release --owner "other-$1-1" "$1" &&
        counted slot-granted 0 acquire --queue --ttl 1h --limit 10 --owner "other-$1-11" "$1" &&
        counted slot-end 0 release --owner "other-$1-11" "$1"
}

slots few-slots 100
slots many-slots 10000
ok 'a slot of ten is tried for, queued for and given on in a line of a hundred' slot few-slots
ok 'and in one of 10,000' slot many-slots
ok 'a try that is refused reads no more' as_many slot-try
ok 'nor does the last one in the line' as_many slot-last
ok 'nor when it asks again' as_many slot-later
ok 'nor when it leaves' as_many slot-leave
ok 'nor the release that lets the next one in' as_many slot-grant
ok 'nor its own ask for what it holds' as_many slot-granted
ok 'nor its release' as_many slot-end

# A queue of items in this state, with seven priorities: the highest is 3.
work() { # PATH LENGTH STATE
    sql "INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits, need_units,
             need_roots, has_value, priority)
         SELECT '$1', d.n, d.n, '$3', 0, '', '', '', '', FALSE, d.n MOD 7 - 3
         FROM (SELECT a.n + 1000 * (b.n - 1) AS n
               FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 10) AS d WHERE d.n <= $2;
         INSERT INTO lk_queues (path) VALUES ('$1')"
}

claims() { # QUEUE: by the long way, for a root that is new, and by the short one
    counted claim-long 0 claim --owner "eve-$1" "$1" && grep -q '^6	' "$work/out" &&
        counted claim 0 claim --owner "eve-$1" "$1" && grep -q '^13	' "$work/out"
}

work less/q 2000 ready
work more/q 10000 ready
ok 'of 2,000 items the oldest of the highest priority are claimed' claims less/q
ok 'and of 10,000' claims more/q
ok 'which reads no more' as_many claim
ok 'nor by the long way' as_many claim-long

# Counts read each item once, and the age of the oldest ready one reads none besides.
counts() { # QUEUE
    counted counts 0 stats --json "$1" && grep -q '"oldest_ready_ms":[1-9]' "$work/out"
}

work ten/q 10 ready
work thousand/q 1000 ready
ok 'the counts of a queue of ten, with the age of its oldest ready item' counts ten/q
ok 'and of a thousand' counts thousand/q
# shellcheck disable=SC2046 # two numbers
set -- $(cat "$work/read-counts")
ok 'read each item once' [ $(($2 - $1)) -le 1000 ]

# What is done and kept is read by no claim, push or end, whether its time is over or not.
kept() { # PATH LENGTH SECONDS to be kept
    work "$1" "$2" 'done'
    sql "UPDATE lk_items SET due_us = (UNIX_TIMESTAMP() + $3) * 1000000 + arrival WHERE queue = '$1';
         INSERT INTO lk_kept (until_us, queue, id) SELECT due_us, queue, id FROM lk_items WHERE queue = '$1'"
}
beside_kept() { # QUEUE
    for try in 1 2; do
        counted_call "kept-push-$try" "CALL lk_push_item('$1', 'new-$try', '${1%/*}', 'v', 0, '', '', '', '', 0, 0, 3600000)" &&
            counted "kept-claim-$try" 0 claim --owner w "$1" && grep -q "^new-$try	" "$work/out" &&
            counted "kept-done-$try" 0 'done' --owner w "$1" "new-$try" &&
            counted "kept-again-$try" 0 push --again "$1" "new-$try" &&
            counted "kept-drop-$try" 0 drop "$1" "new-$try" || return 1
    done
    counted kept-none 75 claim --owner w "$1"
}
for seconds in 3600 -3600; do
    kept "few$seconds/kept" 20 "$seconds"
    kept "many$seconds/kept" 2000 "$seconds"
    sql "DELETE FROM lk_kept WHERE queue LIKE '%-%'" # a sweep would read them
    ok "$seconds: beside 20 that are kept work is done" beside_kept "few$seconds/kept"
    ok "$seconds: and beside 2,000" beside_kept "many$seconds/kept"
    for what in push-1 claim-1 done-1 again-1 drop-1 push-2 claim-2 done-2 again-2 drop-2 none; do
        ok "$seconds: $what reads no more" as_many "kept-$what"
        rm "$work/read-kept-$what"
    done
    ok "$seconds: one item of 20" counted_call "kept-item$seconds" "CALL lk_items_of('few$seconds/kept', '7')"
    ok "$seconds: and of 2,000" counted_call "kept-item$seconds" "CALL lk_items_of('many$seconds/kept', '7')"
    ok "$seconds: is read alone" as_many "kept-item$seconds"
done
sql 'DELETE FROM lk_kept'
for over in 200 2000; do
    kept "over$over/q" "$over" -3600
    ok "a sweep beside $over that are over" counted_call sweep 'CALL lk_sweep()'
    ok "removes 64" is "SELECT COUNT(*) FROM lk_items WHERE queue = 'over$over/q'" "$((over - 64))"
    ok "of them" is "SELECT COUNT(*) FROM lk_kept WHERE queue = 'over$over/q'" "$((over - 64))"
    sql 'DELETE FROM lk_kept'
done
ok 'it reads as much beside few as beside many' as_many sweep

work less/parked 2000 parked
work more/parked 10000 parked
ok 'a page of 2,000 parked items' counted_call parked "CALL lk_parked_of('less/parked', 1000, 5)"
ok 'and of 10,000' counted_call parked "CALL lk_parked_of('more/parked', 1000, 5)"
ok 'reads no more' as_many parked
ok 'and has the oldest ones' [ "$(cut -f 1 "$work/out" | tr '\n' ' ')" = '1001 1002 1003 1004 1005 ' ]
sql "INSERT INTO lk_queues (path) SELECT CONCAT('less/x/', n) FROM lk_numbers WHERE n <= 100;
     INSERT INTO lk_queues (path) SELECT CONCAT('more/x/', n) FROM lk_numbers"
ok 'a page of 100 queues' counted_call queues "CALL lk_queues('less/x', 'less/x/5', 5)"
ok 'and of 1000' counted_call queues "CALL lk_queues('more/x', 'more/x/5', 5)"
ok 'reads no more' as_many queues

# Nor does a page of values, with their doubts: a shell that completes a path reads one.
values() { # ROOT COUNT: and as many in other roots
    sql "INSERT INTO lk_values (path, in_doubt, bytes)
         SELECT CONCAT(r.root, d.n), FALSE, 'value'
         FROM (SELECT a.n + 1000 * (b.n - 1) AS n
               FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 10) AS d
         JOIN (SELECT '$1/v/' AS root UNION ALL SELECT 'before-$1/' UNION ALL SELECT 'then-$1/') AS r
         WHERE d.n <= $2"
}
values less 2000
values more 10000
ok 'a page of 2,000 values' counted values 0 __complete values less/v/
ok 'and of 10,000' counted values 0 __complete values more/v/
ok 'reads no more' as_many values
ok 'and has the first thousand' [ "$(grep -c '^more/v/' "$work/out")" -ge 990 ]

# A break of all that waits in a queue reads the same for each in it.
queue hundred 100
queue thousand 1000
ok 'a queue of a hundred is broken' counted broken 0 break hundred --reason test --now
ok 'and one of a thousand' counted broken 0 break thousand --reason test --now
# shellcheck disable=SC2046 # two numbers
set -- $(cat "$work/read-broken")
ok 'which reads ten times as much' [ "$2" -le $((11 * $1)) ]
ok 'and leaves none' is "SELECT COUNT(*) FROM lk_requests WHERE path IN ('hundred', 'thousand')" 0

# The answer itself is as long.
ok 'a parent of 2,000 is shown' counted shown 0 show few
ok 'and one of 10,000' counted shown 0 show many
# shellcheck disable=SC2046 # two numbers
set -- $(cat "$work/read-shown")
ok 'which reads five times as much' [ "$2" -le $((6 * $1)) ]

finish
