/* SPDX-License-Identifier: Apache-2.0 */
/* The two threads. One mutex guards everything that they share. */
#include "server/store/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

enum {
    WATCH_PERIODS = 20, /* without a write of the loop's thread, until it is watched no more */
};

struct lk_writer {
    struct lk_storage *storage; /* used only by the thread that writes or loads */
    int descriptor;
    pthread_t thread;
    void (*stand_by)(void *context);
    void *context;
    bool is_busy; /* used only by the thread that runs the loop */

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t changed;
    bool is_ending;
    enum lk_job job; /* pending or running in the thread that stands by */
    const struct lk_batch *batch;
    struct lk_model_config config;
    struct lk_times times;
    struct lk_job_result result; /* LK_JOB_NONE: not done yet */
    int64_t here_since_us;       /* the thread that runs the loop writes; 0: it does not */
    bool is_taken_over;          /* ... and does not run the loop any more */
    bool is_watched;             /* the thread that stands by wakes up in each period */
    unsigned idle_periods;
};

/* Runs without the mutex: no other thread touches the job's data meanwhile. */
static struct lk_job_result work(struct lk_writer *writer, enum lk_job job) {
    struct lk_job_result result = {.job = job};
    struct lk_storage *storage = writer->storage;
    int64_t begun_us = lk_clock_now_us();

    if (job == LK_JOB_WRITE) {
        result.outcome = storage->ops->write(storage, writer->batch, &result.error);
    } else {
        result.outcome = storage->ops->load(storage, &writer->config, &writer->times,
                                            &result.snapshot, &result.error);
    }
    result.took_us = lk_clock_now_us() - begun_us;
    return result;
}

/* With the mutex, which it releases. The loop wakes up, and would only wait for the mutex. */
static void tell(struct lk_writer *writer, const struct lk_job_result *result) {
    const uint64_t one = 1;

    writer->result = *result;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    (void)!write(writer->descriptor, &one, sizeof one);
}

/* ---- standing by ----------------------------------------------------------------------------- */

static void do_job(struct lk_writer *writer) {
    struct lk_job_result result;

    pthread_mutex_unlock(&writer->mutex);
    result = work(writer, writer->job);
    pthread_mutex_lock(&writer->mutex);
    writer->job = LK_JOB_NONE;
    tell(writer, &result);
    pthread_mutex_lock(&writer->mutex);
}

static bool is_overdue(const struct lk_writer *writer) {
    return writer->here_since_us != 0
           && lk_clock_now_us() - writer->here_since_us >= LK_WRITER_TAKE_OVER_US;
}

/* For a change; or for a period, if the loop's thread writes now and then. */
static void wait_for_change(struct lk_writer *writer) {
    struct timespec until = lk_condition_instant(LK_WRITER_TAKE_OVER_US);

    writer->is_watched = writer->idle_periods < WATCH_PERIODS;
    if (!writer->is_watched) {
        pthread_cond_wait(&writer->changed, &writer->mutex);
        return;
    }
    (void)pthread_cond_timedwait(&writer->changed, &writer->mutex, &until);
    writer->idle_periods++;
}

bool lk_writer_stand_by(struct lk_writer *writer) {
    bool takes_over = false;

    pthread_mutex_lock(&writer->mutex);
    while (!takes_over && (writer->job != LK_JOB_NONE || !writer->is_ending)) {
        if (writer->job != LK_JOB_NONE) {
            do_job(writer);
        } else if (is_overdue(writer)) {
            takes_over = writer->is_taken_over = writer->is_busy = true;
        } else {
            wait_for_change(writer);
        }
    }
    pthread_mutex_unlock(&writer->mutex);
    return takes_over;
}

static void *run(void *argument) {
    struct lk_writer *writer = argument;

    writer->stand_by(writer->context);
    return NULL;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static bool begin(struct lk_writer *writer) {
    if (pthread_mutex_init(&writer->mutex, NULL) != 0) {
        return false;
    }
    if (lk_condition_init(&writer->changed)) {
        if (lk_thread_start(&writer->thread, run, writer)) {
            return true;
        }
        (void)pthread_cond_destroy(&writer->changed);
    }
    (void)pthread_mutex_destroy(&writer->mutex);
    return false;
}

lk_outcome lk_writer_start(struct lk_storage *storage, void (*stand_by)(void *context),
                           void *context, struct lk_writer **ret_writer, lk_error *error) {
    struct lk_writer *writer = calloc(1, sizeof *writer);

    if (writer != NULL) {
        writer->storage = storage;
        writer->stand_by = stand_by;
        writer->context = context;
        writer->idle_periods = WATCH_PERIODS;
        writer->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        *ret_writer = writer;
        if (writer->descriptor >= 0 && begin(writer)) {
            return LK_OK;
        }
        *ret_writer = NULL;
        if (writer->descriptor >= 0) {
            (void)close(writer->descriptor);
        }
        free(writer);
    }
    storage->ops->close(storage);
    return lk_error_set(error, LK_INTERNAL, "the thread that writes cannot be started");
}

void lk_writer_end(struct lk_writer *writer) {
    pthread_mutex_lock(&writer->mutex);
    writer->is_ending = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

void lk_writer_resign(struct lk_writer *writer) {
    if (writer->storage->ops->resign != NULL) {
        (void)writer->storage->ops->resign(writer->storage, NULL); /* else its lease will end */
    }
}

void lk_writer_stop(struct lk_writer *writer) {
    if (writer == NULL) {
        return;
    }
    lk_writer_end(writer);
    (void)pthread_join(writer->thread, NULL);
    (void)pthread_cond_destroy(&writer->changed);
    (void)pthread_mutex_destroy(&writer->mutex);
    lk_writer_resign(writer);
    writer->storage->ops->close(writer->storage);
    lk_core_snapshot_free(writer->result.snapshot);
    (void)close(writer->descriptor);
    free(writer);
}

/* ---- for the loop ---------------------------------------------------------------------------- */

int lk_writer_descriptor(const struct lk_writer *writer) {
    return writer->descriptor;
}

const struct lk_leader *lk_writer_leader(const struct lk_writer *writer) {
    return &writer->storage->leader;
}

bool lk_writer_is_outdated(const struct lk_writer *writer) {
    return atomic_load(&writer->storage->is_outdated);
}

const struct lk_store_risk *lk_writer_risk(const struct lk_writer *writer) {
    return atomic_load(&writer->storage->risk);
}

static void submit(struct lk_writer *writer, enum lk_job job) {
    writer->is_busy = true;
    writer->job = job;
    pthread_mutex_unlock(&writer->mutex);
    pthread_cond_broadcast(&writer->changed); /* the thread wakes up to a free mutex */
}

void lk_writer_write(struct lk_writer *writer, const struct lk_batch *batch) {
    pthread_mutex_lock(&writer->mutex);
    writer->batch = batch;
    submit(writer, LK_JOB_WRITE);
}

void lk_writer_load(struct lk_writer *writer, const struct lk_model_config *config,
                    const struct lk_times *times) {
    pthread_mutex_lock(&writer->mutex);
    writer->config = *config;
    writer->times = *times;
    submit(writer, LK_JOB_LOAD);
}

bool lk_writer_write_here(struct lk_writer *writer, const struct lk_batch *batch,
                          struct lk_job_result *ret_result) {
    struct lk_job_result result;
    bool is_taken_over;
    bool is_watched;

    pthread_mutex_lock(&writer->mutex);
    writer->batch = batch;
    writer->here_since_us = lk_clock_now_us();
    writer->idle_periods = 0;
    is_watched = writer->is_watched;
    pthread_mutex_unlock(&writer->mutex);
    if (!is_watched) {
        pthread_cond_broadcast(&writer->changed);
    }
    result = work(writer, LK_JOB_WRITE);
    pthread_mutex_lock(&writer->mutex);
    is_taken_over = writer->is_taken_over;
    writer->is_taken_over = false;
    writer->here_since_us = 0;
    if (is_taken_over) {
        tell(writer, &result);
        return false;
    }
    pthread_mutex_unlock(&writer->mutex);
    *ret_result = result;
    return true;
}

bool lk_writer_is_busy(const struct lk_writer *writer) {
    return writer->is_busy;
}

struct lk_job_result lk_writer_fetch(struct lk_writer *writer, bool waits) {
    struct lk_job_result result;
    uint64_t count;

    (void)!read(writer->descriptor, &count, sizeof count);
    pthread_mutex_lock(&writer->mutex);
    while (waits && writer->is_busy && writer->result.job == LK_JOB_NONE) {
        pthread_cond_wait(&writer->changed, &writer->mutex);
    }
    result = writer->result;
    if (result.job != LK_JOB_NONE) {
        writer->result = (struct lk_job_result){.job = LK_JOB_NONE};
        writer->is_busy = false;
    }
    pthread_mutex_unlock(&writer->mutex);
    return result;
}
