#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh groups.sh LK
#
# A claim reads no more rows beside 10,000 items whose needs are taken than beside 10, or behind one that
# is their head, and the order of claims is that of all items. Prints TAP.
. "${0%/*}/counting.sh"

# Whether `lk doctor` misses none of the items that a claim has to look at.
sound() {
    "$lk" doctor >"$work/out" 2>"$work/err"
    grep -q '^format: 1$' "$work/out" && ! grep -q 'behind none' "$work/out" "$work/err"
}

behind="SELECT GROUP_CONCAT(i.id ORDER BY i.arrival SEPARATOR ' ') FROM lk_items AS i
        WHERE i.state = 'ready' AND i.due_us <> 0 AND i.queue ="

# ---- costs ----

# SIZE items in a queue of that name: a half need what ann holds, or both of two; the others as FREE says:
# nothing that is there, or what is full.
fill_queue() { # QUEUE SIZE FREE
    sql "INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits, need_units, need_roots, has_value)
         SELECT '$1', CONCAT('item-', d.n), d.n, 'ready', 0, c.needs, c.limits, c.units, c.roots, FALSE
         FROM (SELECT a.n + 1000 * (b.n - 1) AS n
               FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 10) AS d
         JOIN (SELECT 0 AS n, 'cust/a' AS needs, '0' AS limits, '0' AS units, 'cust' AS roots
               UNION ALL SELECT 1, 'cust/a cust/b', '0 0', '0 0', 'cust'
               UNION ALL SELECT 2, '$3', '9', '1', 'pool'
               UNION ALL SELECT 3, 'cust/c $3', '0 9', '0 1', 'cust pool') AS c ON c.n = d.n MOD 4
         WHERE d.n <= $2;
         INSERT INTO lk_queues (path) VALUES ('$1');
         CALL lk_make_groups()"
}

quietly acquire --ttl 1h --owner ann cust/a
quietly acquire --ttl 1h --owner ann 'pool/full?limit=9&units=9'
for size in 10 10000; do
    fill_queue "q$size/taken" "$size" pool/full
    ok "$size: a claim that finds nothing" counted nothing 75 claim --owner w "q$size/taken"
    quietly push "q$size/taken" last --needs cust/d
    ok "$size: a claim of the last one" counted last 0 claim --owner w "q$size/taken"
    ok "$size: is that of the last one" grep -q '^last' "$work/out"
    ok "$size: its return" counted retry 0 retry --owner w "q$size/taken" last
    quietly claim --owner w "q$size/taken"
    ok "$size: its end" counted 'done' 0 'done' --owner w "q$size/taken" last
    ok "$size: a push of one more" counted push 0 push "q$size/taken" more --needs cust/a
    ok "$size: and its removal" counted drop 0 drop "q$size/taken" more
    ok "$size: a claim of one of the many that are free" eval \
        "fill_queue q$size/half $size pool/free && counted half 0 claim --owner w q$size/half"
    ok "$size: is that of the oldest" grep -q '^item-2	' "$work/out"
    ok "$size: and of two" counted_call two "CALL lk_take_many('q$size/half', 'q$size', 'w', 3600000, 0, '',
        '[{\"ask_number\": 0}, {\"ask_number\": 0}]')"
    ok "$size: which are the next" eval 'grep -q item-3 "$work/out" && grep -q item-6 "$work/out"'
    ok "$size: each item is in its group" sound
done
for what in nothing last retry 'done' push drop half two; do
    ok "$what: reads as much beside 10 as beside 10,000" as_many "$what"
done

# Items that all need the same strictly.
fill_line() { # QUEUE SIZE
    sql "INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits, need_units, need_roots, has_value)
         SELECT '$1', CONCAT('item-', d.n), d.n, 'ready', 0, 'cust/s', '0', '-1', 'cust', FALSE
         FROM (SELECT a.n + 1000 * (b.n - 1) AS n
               FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 10) AS d
         WHERE d.n <= $2;
         INSERT INTO lk_queues (path) VALUES ('$1');
         CALL lk_make_groups()"
}

for size in 10 10000; do
    line=q$size/line
    fill_line "$line" "$size"
    ok "$size strict: a claim of the first" counted first 0 claim --owner w --max-attempts 1 "$line"
    ok "$size strict: which is parked" counted park 0 retry --owner w "$line" item-1
    ok "$size strict: a claim behind it" counted behind 75 claim --owner w "$line"
    ok "$size strict: a push behind it" counted join 0 push "$line" more --needs 'cust/s?strict'
    ok "$size strict: a removal there" counted leave 0 drop "$line" item-2
    quietly push "$line" beside --needs 'cust/other?strict'
    ok "$size strict: a claim beside it" counted beside 0 claim --owner w "$line"
    ok "$size strict: is that of the other one" grep -q '^beside' "$work/out"
    ok "$size strict: each item is in its group" sound
    ok "$size strict: the parked one is removed" counted next 0 drop "$line" item-1
    ok "$size strict: a claim after that" counted second 0 claim --owner w "$line"
    ok "$size strict: is that of the next one" grep -q '^item-3' "$work/out"
    ok "$size strict: which is done" counted over 0 'done' --owner w "$line" item-3
    ok "$size strict: and again is each item in its group" sound
done
for what in first park behind join leave beside next second over; do
    ok "strict: $what: reads as much before 10 as before 10,000" as_many "$what"
done

# ---- temporary tables on disk ----

# A call makes none: each takes longer than all else in it.
in_memory() { # CALL
    sql "$1; SHOW SESSION STATUS LIKE 'Created_tmp_disk_tables'" >"$work/out"
    tail -n 1 "$work/out" | grep -q "Created_tmp_disk_tables.0$"
}

for id in 1 2; do
    ok "$id: a push with two needs makes no table on disk" in_memory "CALL lk_push_item('disk', '$id', 'disk', NULL, 0,
        'cust/e pool', '0 3', '0 1', 'cust pool', 0, 0, 0)"
    ok "$id: nor does its claim" in_memory "CALL lk_take('disk', 'disk', 'w', 3600000, 0, 0, '')"
    ok "$id: a push with two strict needs makes none" in_memory "CALL lk_push_item('heads', '$id', 'heads', NULL, 0,
        'cust/g cust/h', '0 0', '-1 -1', 'cust', 0, 0, 0)"
    ok "$id: nor does its claim" in_memory "CALL lk_take('heads', 'heads', 'w$id', 3600000, 0, 0, '')"
    ok "$id: nor its end" in_memory "CALL lk_finish_claim('heads', '$id', 'heads', 'w$id', 0, NULL, NULL, NULL, FALSE, FALSE, NULL, 0)"
done
ok 'nor does the check of an ask of two paths' in_memory "CALL lk_check_parts(
    UNHEX(SHA2('a/1 b/1\nw', 256)), 'w', 'a/1 b/1', 'a b')"

# ---- order ----

claimed() { # ID...: claims give these items, in this order
    for id in "$@"; do
        says 0 "$id*" claim --owner w order || return 1
    done
    says 75 '*' claim --owner w order
}

quietly push order 1 --needs 'a?shared'
quietly push order 2 --needs 'b?shared'
quietly push order 3
quietly push order 4 --needs 'a?shared' --priority 1
quietly push order 5 --needs 'a?shared'
quietly push order 6 --needs 'b?shared'
ok 'of each group the first leads' is "$behind 'order'" '1 5 6'
quietly acquire --ttl 1h --owner ann order/1
ok 'an item that is locked itself hides no other, and their order is that of all' claimed 4 2 3 5 6
ok 'nothing is in a group that is not ready' sound
for id in 4 2 3 5 6; do
    quietly retry --owner w order "$id"
done
quietly release --owner ann order/1
ok 'given back, they are claimed in the same order' claimed 4 1 2 3 5 6
ok 'and are in no group' is "SELECT COUNT(*) FROM lk_groups WHERE queue = 'order'" 0

# ---- all that makes an item ready, or takes it away ----

quietly push ways 1 --needs 'a?shared'
quietly push ways 2 --needs 'a?shared'
quietly push ways 3 --needs 'a?shared' --delay 1h
quietly push ways 4 --needs 'a?shared'
quietly drop ways 1
ok 'behind one that is dropped the next leads' is "$behind 'ways'" 4
quietly claim --owner w --max-attempts 1 ways
quietly retry --owner w ways 2
ok 'behind one that is claimed, and is parked then, the next' is "$behind 'ways'" NULL
quietly unpark ways 2
ok 'which one that is unparked is before' is "$behind 'ways'" 4
quietly claim --owner w ways
quietly "break" --now ways/2 --reason why
ok 'as one is whose claim is broken' is "$behind 'ways'" 4
sql "UPDATE lk_items SET due_us = 1 WHERE id = 3 AND queue = 'ways'; UPDATE lk_roots SET due_us = 1 WHERE root = 'ways'"
quietly claim --owner w ways
ok 'one whose time has come is behind none that has been claimed' is "$behind 'ways'" 4
quietly 'done' --owner w ways 2
ok 'the last of them' says 0 '3*' claim --owner w ways
ok 'are' says 0 '4*' claim --owner w ways
quietly retry --owner w ways 4 --delay 1h
quietly 'done' --owner w ways 3
ok 'in no group' is "SELECT COUNT(*) FROM lk_groups WHERE queue = 'ways'" 0
ok 'and all groups are right' sound

# ---- heads ----

strict() { # ID [OPTION...]: pushes it
    item=$1
    shift
    quietly push heads "$item" --needs 's/a?strict' "$@"
}
strict 1
strict 2
strict 3
quietly acquire --ttl 1h --owner ann heads/1
ok 'an item that is locked itself lets the next one go' says 0 '2*' claim --owner w heads
quietly release --owner ann heads/1
quietly push heads 4 --needs 's/b?strict' --priority -1
quietly retry --owner w heads 2
ok 'and is behind that from then on' says 0 '2*' claim --owner w heads
quietly retry --owner w heads 2 --delay 1h
ok 'as all are, but those with other needs' says 0 '4*' claim --owner w heads
ok 'all groups are right' sound
quietly push heads 2 --needs 's/a?strict' --delay 1h --again
ok 'one that is replaced lets the first go' says 0 '1*' claim --owner w heads
quietly push heads 1 --needs 's/b?strict' --again
ok 'one that is pushed again keeps its lock' says 75 '*' claim --owner v heads
quietly 'done' --owner w heads 1
ok 'and then is no head' says 0 '3*' claim --owner v heads
quietly cancel heads 3 --reason why
ok 'all groups are right still' sound
quietly 'done' --owner v heads 3
quietly 'done' --owner w heads 4
ok 'the last ones' says 0 '1*' claim --owner w heads
quietly 'done' --owner w heads 1
quietly drop heads 2
ok 'leave no group' is "SELECT COUNT(*) FROM lk_groups WHERE queue = 'heads'" 0
ok 'and no head' is "SELECT COUNT(*) FROM lk_heads WHERE queue = 'heads'" 0

strict 5
strict 6
quietly claim --owner w --max-attempts 1 heads
quietly retry --owner w heads 5
"$lk" claim --wait 1m --owner v heads >"$work/waited" 2>"$work/err" &
quietly drop heads 5
ok 'a worker that waits gets what a head lets go' wait $!
ok 'which is the next one' grep -q '^6' "$work/waited"
quietly 'done' --owner v heads 6

# ---- lk doctor ----

quietly push damaged 1 --needs 'a?shared'
quietly push damaged 2 --needs 'a?shared'
sql "UPDATE lk_items SET state = 'parked' WHERE queue = 'damaged' AND id = '1'"
ok 'lk doctor finds an item that no claim would look at' eval '! sound'
sql 'CALL lk_make_groups()'
ok 'and names the call that mends it' sound
ok 'so that it is claimed' says 0 '2*' claim --owner w damaged
quietly push damaged 3 --needs 's/b?strict'
quietly push damaged 4 --needs 's/b?strict'
quietly claim --owner w damaged
sql "DELETE FROM lk_requests WHERE path = 'damaged/3'; DELETE FROM lk_items WHERE queue = 'damaged' AND id = '3'"
ok 'lk doctor finds the head that is gone' eval '! sound'
sql 'CALL lk_make_groups()'
ok 'the call mends that, too' sound
ok 'and the next one is claimed' says 0 '4*' claim --owner w damaged
sql "UPDATE lk_groups SET head = '' WHERE queue = 'damaged'"
ok 'lk doctor finds a head that its group does not know' eval '! sound'
sql 'CALL lk_make_groups()'
ok 'which is mended, too' sound

finish
