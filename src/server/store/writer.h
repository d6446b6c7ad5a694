/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that share a loop and a store, so that the loop goes on while the disk works. One of
 * them runs the loop. The other one stands by: it does the jobs that are handed to it, one at a
 * time, and the result is fetched when the descriptor is readable.
 *
 * A change of threads takes longer than a small write. So the thread that runs the loop may write
 * by itself. If that takes longer than LK_WRITER_TAKE_OVER_US, the thread that stands by takes the
 * loop over, and the former one stands by when it has written.
 */
#ifndef LK_SERVER_STORE_WRITER_H
#define LK_SERVER_STORE_WRITER_H

#include "server/store/store.h"

struct lk_writer;

enum lk_job { LK_JOB_NONE, LK_JOB_WRITE, LK_JOB_LOAD };

struct lk_job_result {
    enum lk_job job;
    lk_outcome outcome;
    struct lk_core_snapshot *snapshot; /* of a load that succeeded */
    int64_t took_us;
    lk_error error;
};

/* A write of the loop's thread is looked at once in each such period. */
#define LK_WRITER_TAKE_OVER_US INT64_C(5000)

/*
 * Starts the other thread, which calls `stand_by`, and ends when that returns. It is set before.
 * Takes ownership of the storage, whatever it returns. LK_OK with *ret_writer, or LK_INTERNAL.
 */
lk_outcome lk_writer_start(struct lk_storage *storage, void (*stand_by)(void *context),
                           void *context, struct lk_writer **ret_writer, lk_error *error);

/*
 * Does jobs. true: the loop has been taken over, and this thread runs it from now on; the write of
 * the former one counts as a job that is under way. false: lk_writer_end() was called, and no job
 * is left.
 */
bool lk_writer_stand_by(struct lk_writer *writer);

/* The loop has ended: no thread is to stand by any more. */
void lk_writer_end(struct lk_writer *writer);

/* After lk_writer_end(): waits for the other thread, hands a shared storage over, and closes it.
 * Accepts NULL. */
void lk_writer_stop(struct lk_writer *writer);

/* Hands a shared storage over; nothing is to be written any more. No job may be under way. */
void lk_writer_resign(struct lk_writer *writer);

/* An eventfd: readable when there is a result. */
int lk_writer_descriptor(const struct lk_writer *writer);

/* Of a store that is shared: who leads, as the last load that was fetched found it. */
const struct lk_leader *lk_writer_leader(const struct lk_writer *writer);

/* Whether a load has found that the store is beyond this program (lk_storage). */
bool lk_writer_is_outdated(const struct lk_writer *writer);

/* Why the shared store may lose what was written last (lk_storage); NULL: it does not. */
const struct lk_store_risk *lk_writer_risk(const struct lk_writer *writer);

/* No job may be under way. The batch must not change until the result has been fetched. */
void lk_writer_write(struct lk_writer *writer, const struct lk_batch *batch);
void lk_writer_load(struct lk_writer *writer, const struct lk_model_config *config,
                    const struct lk_times *times);

/*
 * Writes in the calling thread, which runs the loop. true: with *ret_result; no result is to be
 * fetched. false: the loop has been taken over meanwhile. The caller must stand by, and not touch
 * anything that belongs to the loop.
 */
bool lk_writer_write_here(struct lk_writer *writer, const struct lk_batch *batch,
                          struct lk_job_result *ret_result);

/* Whether a job is under way, or its result not fetched. */
bool lk_writer_is_busy(const struct lk_writer *writer);

/* Returns the result once; LK_JOB_NONE: there is none. `waits`: blocks until the job is done. */
struct lk_job_result lk_writer_fetch(struct lk_writer *writer, bool waits);

#endif
