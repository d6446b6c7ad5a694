#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh delayed_grant.sh LK SERVER URL
#
# A release cannot grant a batch while another transaction has the batch's other root locked. The
# batch's next ask finds it waiting and grantable: the grant comes first, and what that ask asks for
# is a conversion of a lease (R9). SERVER: the directory of the server's harness. Prints TAP.
# shellcheck source=/dev/null
. "${0%/*}/../${2:?the directory of a harness}/harness.sh"
url=${3:?a store that is empty}

# `me` waits for r/a and a place in pool/p, which `other` blocks, and could be granted
# both after this.
overlook_a_grant() {
    says 0 '*' -S "$url" acquire --try --ttl 1h --owner other r/a &&
        says 75 '*' -S "$url" acquire --queue --ttl 1h --owner me r/a 'pool/p?limit=3' &&
        keep_root pool &&
        says 0 '*' -S "$url" release --owner other r/a &&
        let_go &&
        is "SELECT DISTINCT 'waits' FROM $requests WHERE owner = 'me' AND NOT held" waits
}

says 0 '*' -S "$url" acquire --try --ttl 1h --owner reader 'pool?shared'
report $? 'a reader holds the pool'
overlook_a_grant
report $? 'a release leaves a batch waiting whose other root is locked'
says 75 '*' -S "$url" acquire --try --ttl 1h --owner me 'r/a?shared' pool/p
report $? 'a try for more than can be had is BUSY, though less is granted meanwhile'
is "SELECT DISTINCT 'holds' FROM $requests WHERE owner = 'me' AND held" holds &&
    says 75 '*' -S "$url" acquire --try --owner other 'r/a?shared' &&
    says 0 '*' -S "$url" acquire --try --owner other 'pool/p?limit=3&units=2' &&
    says 0 '*' -S "$url" release --owner other 'pool/p'
report $? 'what it waited for is held, as it was asked for'
says 0 '*' -S "$url" release --owner me r/a pool/p &&
    says 0 '*' -S "$url" release --owner reader pool
report $? 'all of it is released'

# A younger waiter blocks an ask behind it in the queue, but not a lease.
overlook_a_grant && says 75 '*' -S "$url" acquire --queue --ttl 1h --owner younger r
report $? 'the same again, and a younger waiter'
says 0 '*' -S "$url" acquire --try --ttl 1h --owner me 'r/a?shared' pool/p
report $? 'a try for more that can be had is granted'
says 75 '*' -S "$url" acquire --try --owner other 'pool/p?limit=3'
report $? 'and held, as it was asked for'

finish
