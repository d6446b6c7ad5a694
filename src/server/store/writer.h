/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that loads and writes, so that the loop goes on while the disk works. It runs one job
 * at a time; the result is fetched when the descriptor is readable.
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
    lk_error error;
};

/* Takes ownership of the storage, whatever it returns. LK_OK with *ret_writer, or LK_INTERNAL. */
lk_outcome lk_writer_start(struct lk_storage *storage, struct lk_writer **ret_writer,
                           lk_error *error);

/* Stops the thread after its current job, and closes the storage. */
void lk_writer_stop(struct lk_writer *writer); /* accepts NULL */

/* An eventfd: readable when there is a result. */
int lk_writer_descriptor(const struct lk_writer *writer);

/* No job may be under way. The batch must not change until the result has been fetched. */
void lk_writer_write(struct lk_writer *writer, const struct lk_batch *batch);
void lk_writer_load(struct lk_writer *writer, const struct lk_model_config *config,
                    const struct lk_times *times);

/* Whether a job is under way, or its result not fetched. */
bool lk_writer_is_busy(const struct lk_writer *writer);

/* Returns the result once; LK_JOB_NONE: there is none. `waits`: blocks until the job is done. */
struct lk_job_result lk_writer_fetch(struct lk_writer *writer, bool waits);

#endif
