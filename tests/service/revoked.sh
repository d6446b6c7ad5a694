#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a holder at a service learns at once: the scenarios of tests/cli/revoked.sh, each at a name
# of its own for the same socket.
. "${0%/*}/harness.sh"

serve --unix "$work/s" --http none --dir "$work/d"
for number in 1 2 3 4; do
    ln -s s "$work/s$number"
done
LK_TEST_STORES=lk+unix:$work/s sh "${0%/*}/../cli/revoked.sh"
result=$?
stop
exit "$result"
