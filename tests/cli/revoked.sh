#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a holder learns at once: that its lease or claim was revoked (R12, R16). Every ttl is so long
# that its next renewal, a third of it later, is after the end of this script.
. "${0%/*}/harness.sh"

log=$work/log
export log

begin() {
    : >"$log"
    env --default-signal=INT,QUIT "$LK_PROGRAM" "$@" >"$work/held" 2>"$work/said" </dev/null &
    holder=$!
}

end() {
    wait "$holder"
    code=$?
}

say() {
    echo "trap 'echo \"ended \$LK_ITEM_ID\" >>\"\$log\"; exit 1' TERM; echo \"begun \$LK_ITEM_ID\" >>\"\$log\""
}

scenario 'a command is ended at once when its lease is revoked'
begin run --ttl 366d db/a -- sh -c "$(say); while :; do sleep 0.05; done"
until_true grep -q begun "$log"
lk break db/a --reason 'db is moved'
expect_code 0
end
expect_code 78
grep -q ended "$log" || complain 'no SIGTERM'
grep -q '^lk: LOST: the lease is not held any more' "$work/said" || complain 'the loss'
grep -qE '^lk: LOST: the lease was broken by [^ ]+@[^ ]+ at .*: db is moved$' "$work/said" || complain 'by whom, and why'

scenario 'a command is ended at once when its item is cancelled, and no other one'
"$LK_PROGRAM" push q 1 && "$LK_PROGRAM" push q 2
begin work q --ttl 366d --workers 2 -- sh -c "$(say); until [ -e '$work/go' ]; do sleep 0.05; done; echo \"done \$LK_ITEM_ID\" >>\"\$log\""
until_true grep -q 'begun 1' "$log"
until_true grep -q 'begun 2' "$log"
lk cancel q 1 --reason 'wrong customer'
expect_code 0
until_true grep -q 'ended 1' "$log"
until_true grep -q 'LOST: ' "$work/said"
grep -qE '^lk: LOST: q/1: the claim was revoked by [^ ]+@[^ ]+ at .*: wrong customer$' "$work/said" || complain 'by whom, and why'
touch "$work/go"
until_true grep -q 'done 2' "$log"
kill -TERM "$holder"
end
expect_code 0
! grep -q 'again in' "$work/said" || complain 'it is not tried again'
! grep -q 'ended 2' "$log" || complain 'the other one'
grep -qx 'lk: ENDED: q: 1 done, 1 cancelled' "$work/said" || complain 'the counts'
lk items q --json
expect_out ''
rm -f "$work/go"

scenario 'so it is when one item of a batch is cancelled'
"$LK_PROGRAM" push q 1 && "$LK_PROGRAM" push q 2
begin work q --ttl 366d --batch 2 --backoff 1h -- sh -c "$(say); while :; do sleep 0.05; done"
until_true grep -q begun "$log"
lk cancel q 2 --reason 'wrong customer'
until_true grep -q 'FAILED: q/1' "$work/said"
kill -TERM "$holder"
end
grep -qE '^lk: LOST: q/2: the claim was revoked by .*: wrong customer$' "$work/said" || complain 'by whom, and why'
! grep -q 'FAILED: q/2' "$work/said" || complain 'it has not failed'
grep -qx 'lk: ENDED: q: 0 done, 1 given back, 1 cancelled' "$work/said" || complain 'the counts'
lk items q --json
expect '[.id, .state]' '["1","delayed"]'

scenario 'an item without attempts left is cancelled, or parked when its claim is broken'
"$LK_PROGRAM" push last 1 && "$LK_PROGRAM" push last 2
begin work last --ttl 366d --workers 2 --max-attempts 1 --drain -- sh -c "$(say); while :; do sleep 0.05; done"
until_true grep -q 'begun 1' "$log"
until_true grep -q 'begun 2' "$log"
lk cancel last 1 --reason 'wrong customer'
until_true grep -q 'LOST: last/1: the claim was revoked' "$work/said"
lk break last/2 --reason 'it hangs'
expect_code 0
end
expect_code 1
grep -qx 'lk: ENDED: last: 0 done, 1 cancelled, 1 parked' "$work/said" || complain 'the counts'
! grep -q 'FAILED: last/1' "$work/said" || complain 'it was cancelled, and is not parked'
lk items last --json
expect '[.id, .state]' '["2","parked"]'

finish
