#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk push --needs 'PATH?strict': the order is kept also when an item fails (R16).
. "${0%/*}/harness.sh"

push() {
    for id in "$@"; do
        "$LK_PROGRAM" push q "$id" --needs 'customer/7?strict' || complain "push $id"
    done
}

# A is parked, B and C wait for it.
park_first() {
    push A B C
    lk push q D --needs 'customer/8?strict'
    lk work q --drain --max-attempts 1 -- sh -c '[ $LK_ITEM_ID != A ]'
    expect_code 1
}

expect_line() {
    grep -qxF "$1" "$work/err" || complain "stderr: expected the line $1"
}

hint='lk: HINT: q: 2 ready items wait for the order of a parked one (lk items q); lk unpark or lk drop lets them go on'

scenario 'an item that has failed is done before those behind it'
push A B C
lk work q --drain --workers 2 --backoff 50ms -- \
    sh -c "[ \$LK_ITEM_ID != A ] || [ -e $work/once ] || { : >$work/once; exit 1; }
        echo \$LK_ITEM_ID >>$work/log"
expect_code 0
expect_line 'lk: ENDED: q: 3 done, 1 given back'
[ "$(tr '\n' ' ' <"$work/log")" = 'A B C ' ] || complain "done in the order: $(cat "$work/log")"

scenario 'a drained queue says what waits for the order of a parked item'
park_first
expect_line "$hint"
lk items q --json
expect '[.id, .state, .needs[0]] | join(" ")' '"A parked customer/7?strict"
"B ready customer/7?strict"
"C ready customer/7?strict"'

scenario 'and does so where it had been parked before'
park_first
lk work q --drain -- true
expect_code 1
expect_line "$hint"
lk work q --drain --quiet -- true
expect_code 1
expect_err ''

scenario 'a parked item that is dropped lets the next one go'
park_first
lk drop q A
lk work q --drain -- true
expect_code 0
expect_err 'lk: ENDED: q: 2 done'

scenario 'a parked item that is unparked is the first one'
park_first
lk unpark q A
lk claim q
expect_code 0
[ "$(cut -f 1 "$work/out")" = A ] || complain 'claimed: expected A'
lk claim q
expect_code 75

scenario 'only what an item needs is strict, and exclusive'
lk acquire 'x?strict' --try
failure 64 "lk: INVALID: part 1, \"x?strict\": only what an item needs can be strict: *"
lk push q A --needs 'x?strict&limit=2'
failure 64 'lk: INVALID: *a strict need is exclusive: neither shared nor with a limit (R16)'
lk push q A --needs 'x?strict?strict'
failure 64 "lk: INVALID: *'strict' is said once*"
lk push q A --needs '?strict'
expect_code 64

finish
