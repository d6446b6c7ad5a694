/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker of a pool waits for all. The workers take turns at it as in the pattern
 * Leader/Followers (Schmidt, Stal, Rohnert, Buschmann: Pattern-Oriented Software Architecture 2,
 * 2000): the leader waits at the store until an item can be claimed; the followers wait until the
 * leader has one, and one of them leads then. So an idle pool costs its store as much as one
 * worker does, and an item that is pushed wakes one worker.
 *
 * It saves work, and decides nothing: a claim by a worker that does not lead does no harm.
 */
#ifndef LK_CLIENT_WORK_LEADER_H
#define LK_CLIENT_WORK_LEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/waker.h"
#include "client/store.h"
#include "lockkeeper/work.h"

/* ---- a leader -------------------------------------------------------------------------------- */

/* Zero: no member leads. In memory of one process, or mapped by all processes of the pool. */
struct lk_pool_leader {
    uint32_t member; /* that leads; 0: none */
    uint32_t ends;   /* a futex: grows when one has ceased to lead */
};

/*
 * Makes the member (not 0; one of the pool's) the leader as soon as there is none. Blocks for
 * `duration_us` at most, 0: not at all, or until the waker is thrown. Returns whether it leads now.
 * Thread-safe.
 */
bool lk_pool_leader_become(struct lk_pool_leader *leader, uint32_t member, int64_t duration_us,
                           struct lk_waker *waker);

/* The member does not lead any more, if it did; another process may say so of one that is dead. */
void lk_pool_leader_cease(struct lk_pool_leader *leader, uint32_t member);

/* ---- the leader of a queue ------------------------------------------------------------------- */

/* Of all pools over a queue that use one lk_store: a binding may begin a pool for each worker. */
struct lk_queue_leader {
    struct lk_pool_leader leader;
    char *key; /* the queue and, of a table (R17), its rows */
    size_t pools;
    uint32_t last_member;
    struct lk_queue_leader *next; /* of the store */
};

/*
 * Finds or makes the queue's leader, for `workers` more members, of which *ret_member is the first.
 * End with lk_queue_leader_leave(), before the store is closed. Two pools lead each other only if
 * what one of them can claim, the other can: `table` NULL: items that are pushed; else its rows.
 * NULL: memory is exhausted. Thread-safe, both.
 */
struct lk_queue_leader *lk_queue_leader_join(lk_store *store, const struct lk_path *queue,
                                             const lk_work_table *table, size_t workers,
                                             uint32_t *ret_member);
void lk_queue_leader_leave(lk_store *store, struct lk_queue_leader *leader);

#endif
