#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/coming-from.md, played: the block of each section, with programs of this test in the place of the
# user's. Every one of them must run under a lease.
. "${0%/*}/harness.sh"
page=$docs/coming-from.md

region=lk-test-router-$$

# from SECTION RUNS LAST-RUN: plays its block, whose store is this test's; nothing stays held.
from() {
    recipe "from $1"
    for name in job report deploy worker lead send mytest reset-database call-backend; do
        program "$name"
    done
    block "$1" sh | sed "/^export LK_STORE/d; s/shm:router/shm:$region/" >"$here/block.sh"
    play sh -e "$here/block.sh"
    expect_code 0
    ran "$2" "${3-}"
    lk ls
    expect_out ''
}

from flock 4 'job  *'
from 'consul lock' 2 'worker  workers token'
from 'etcdctl lock and elect' 2 'lead  service/leader token'
from redlock 0
from database-semaphore 1 'worker  foo token'
from graphile-worker 2 'send 4711 *'
from grab 2 'reset-database  mydatabase token'
from canal_lock 2 'call-backend  db token'
rm -f "/dev/shm/canal.$region"
finish_page
