/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of a pool: pool.c (the pool and its options), worker.c (a worker). */
#ifndef LK_CLIENT_WORK_POOL_H
#define LK_CLIENT_WORK_POOL_H

#include <pthread.h>
#include <signal.h>

#include "client/cancel.h"
#include "client/work/claim.h"
#include "client/work/finder.h"

struct lk_work_pool;

struct lk_worker {
    struct lk_work_pool *pool;
    char owner[LK_OWNER_BYTES_MAX + 1];
    struct lk_cancel_link link; /* its waker is thrown by cancellation, and when the pool ends */
    struct lk_claiming claiming;
    pthread_t thread;
    bool is_started; /* has a thread of its own */
};

struct lk_work_pool {
    lk_store *store;
    lk_work_options options; /* filled in: nothing is 0 that means something else */
    struct lk_path queue;
    struct lk_table_text table;     /* R17 */
    const struct lk_source *source; /* in it; NULL: the queue is no table */
    struct lk_finder finder;
    struct lk_cancel_link finder_link; /* as a worker's; thrown when all workers have ended, too */
    pthread_t finder_thread;
    sigset_t caller_signals; /* the mask that handlers run with; threads of the pool block all */
    struct lk_worker *workers;
    size_t worker_count;           /* those whose waker is there */
    struct lk_pool_leader *leader; /* of its workers, and maybe of others */
    uint32_t first_member;

    pthread_mutex_t mutex; /* guards what follows, and the progress callback */
    lk_work_counts counts;
    bool is_over;          /* all workers have ended */
    bool has_looked;       /* the finder has made its first round, or has ended */
    pthread_cond_t looked; /* signalled with it */
    lk_error result;       /* LK_OK until a worker ends for another reason than being drained */
};

/* Checks the options and fills in the defaults. */
lk_outcome lk_pool_check_options(struct lk_work_pool *pool, const lk_work_options *given,
                                 lk_error *error);

/* A worker has ended. Unless the queue is drained, all others end too. The first reason counts. */
void lk_pool_conclude(struct lk_work_pool *pool, const lk_error *reason);

/* Counts a step, and passes it on with the counts. */
void lk_pool_tell(struct lk_work_pool *pool, lk_work_progress *progress);

/* Sets up a worker whose link has joined the cancellation. */
void lk_worker_init(struct lk_worker *worker, struct lk_work_pool *pool);

/* Claims and handles items until there is a reason to conclude. A thread's function. */
void *lk_worker_run(void *worker);

#endif
