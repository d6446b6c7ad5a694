/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that loads and writes, so that the loop goes on while the disk works. One job at a
 * time; what it came to is fetched when the descriptor says so.
 */
#ifndef LK_SERVER_WRITER_H
#define LK_SERVER_WRITER_H

#include "server/store.h"

struct lk_writer;

enum lk_job { LK_JOB_NONE, LK_JOB_WRITE, LK_JOB_LOAD };

struct lk_job_result {
    enum lk_job job;
    lk_outcome outcome;
    struct lk_image *image; /* of a load that succeeded */
    lk_error error;
};

/* Takes over the keeper, whatever it returns. LK_OK with *ret_writer, or LK_INTERNAL. */
lk_outcome lk_writer_start(struct lk_store_keeper *keeper, struct lk_writer **ret_writer,
                           lk_error *error);

/* Ends the thread when its job is done, and closes the keeper. */
void lk_writer_stop(struct lk_writer *writer); /* accepts NULL */

/* An eventfd: readable when there is a result. */
int lk_writer_descriptor(const struct lk_writer *writer);

/* Nothing may be under way. The batch stays in place until the result has been fetched. */
void lk_writer_write(struct lk_writer *writer, const struct lk_batch *batch);
void lk_writer_load(struct lk_writer *writer, const struct lk_model_config *config,
                    const struct lk_times *times);

/* Whether a job is under way, or its result not fetched. */
bool lk_writer_is_busy(const struct lk_writer *writer);

/* The result, once: LK_JOB_NONE, there is none. `waits`: for the job that is under way. */
struct lk_job_result lk_writer_fetch(struct lk_writer *writer, bool waits);

#endif
