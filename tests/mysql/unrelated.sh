#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh unrelated.sh LK
#
# What a call reads depends on the locks that it asks about, not on all others: each call is made
# beside 200 unrelated locks and beside 5,000, and reads as many rows. Prints TAP.
. "${0%/*}/counting.sh"

# bob waits for ann and ann for bob: the ask that closes the cycle goes through what is below a path.
# Two wait when ann releases, and one is granted.
each_call() {
    quietly acquire --try --ttl 1h --owner ann db/t pool &&
        counted queue 75 acquire --queue --ttl 1h --owner bob db/t &&
        counted again 75 acquire --queue --ttl 1h --owner bob db/t &&
        counted try 75 acquire --try --owner eve db/t &&
        counted batch 75 acquire --try --owner eve db/t db/v pool &&
        counted show 0 show db/t &&
        quietly release --owner bob db/t &&
        quietly acquire --try --ttl 1h --owner bob tree/1 &&
        quietly acquire --queue --ttl 1h --owner ann tree &&
        counted deadlock 76 acquire --queue --ttl 1h --owner bob db/t &&
        counted below 0 show tree/1 &&
        quietly release --owner ann tree &&
        quietly release --owner bob tree/1 &&
        quietly acquire --queue --ttl 1h --owner bob db/t &&
        quietly acquire --queue --ttl 1h --owner eve db/t &&
        counted release 0 release --owner ann db/t pool &&
        counted next 0 release --owner bob db/t &&
        quietly release --owner eve db/t &&
        counted claim 75 claim --owner ann db/queue
}

# Below db/w, which is held, others wait.
quietly acquire --try --ttl 1h --owner holder db/w
fill TRUE 1 100 far/ db/u/
fill FALSE 1 100 db/w/
ok 'each call beside 200 locks and 100 that wait, in other trees and beside the path' each_call
fill TRUE 101 2500 far/ db/u/
fill FALSE 101 300 db/w/
ok 'each call beside 5,000 and 300' each_call
ok 'an ask that is queued reads as many rows' as_many queue
ok 'so does one that is repeated there' as_many again
ok 'and one that is refused' as_many try
ok 'and one for three paths' as_many batch
ok 'and a search for deadlocks, which finds one' as_many deadlock
ok 'and a release of two paths that lets in one of two' as_many release
ok 'and one that lets in the next' as_many next
ok 'and a claim that finds nothing' as_many claim
ok 'and what shows a path' as_many show
ok 'also where another request waits above it' as_many below

# To show a parent, each lock below it is read a few times.
fill TRUE 1 2500 parent/
ok 'a parent of 2,500 is shown' counted parent 0 show parent
ok 'which reads a few rows for each' [ "$(cat "$work/read-parent")" -le 40000 ]

# Nor is a line gone through for each that waits in it, to find no deadlock, though the asker holds a lock
# elsewhere.
quietly acquire --try --ttl 1h --owner ann long
quietly acquire --queue --ttl 1h --owner zoe long
fill TRUE 1 300 line/
sql "UPDATE lk_requests AS r JOIN lk_roots AS l ON l.root = 'long'
     SET r.path = 'long', r.root = 'long', r.roots = 'long', r.held = FALSE, r.token = 0,
         r.ticket = l.last_draw + r.ticket, r.identity = UNHEX(SHA2(CONCAT('long\\n', r.owner), 256))
     WHERE r.root = 'line'"
quietly acquire --try --ttl 1h --owner bob tree/1
ok 'there is a line of 300 behind one' counted line 75 acquire --queue --ttl 1h --owner bob long
ok 'an ask behind them reads each a few times' [ "$(cat "$work/read-line")" -le 30000 ]

finish
