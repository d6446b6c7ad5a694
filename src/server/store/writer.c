/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that loads and writes. One mutex guards everything that it shares with the loop. */
#include "server/store/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

struct lk_writer {
    struct lk_storage *storage; /* used only by the thread while it runs */
    int descriptor;
    pthread_t thread;
    bool is_busy; /* used only by the loop */

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t changed;
    bool is_stopping;
    enum lk_job job; /* pending or running */
    const struct lk_batch *batch;
    struct lk_model_config config;
    struct lk_times times;
    struct lk_job_result result; /* LK_JOB_NONE: not done yet */
};

/* Runs without the mutex: no other thread touches the job's data meanwhile. */
static struct lk_job_result work(struct lk_writer *writer, enum lk_job job) {
    struct lk_job_result result = {.job = job};
    struct lk_storage *storage = writer->storage;

    if (job == LK_JOB_WRITE) {
        result.outcome = storage->ops->write(storage, writer->batch, &result.error);
    } else {
        result.outcome = storage->ops->load(storage, &writer->config, &writer->times,
                                            &result.snapshot, &result.error);
    }
    return result;
}

static void *run(void *argument) {
    struct lk_writer *writer = argument;
    const uint64_t one = 1;

    pthread_mutex_lock(&writer->mutex);
    while (!writer->is_stopping) {
        struct lk_job_result result;

        if (writer->job == LK_JOB_NONE) {
            pthread_cond_wait(&writer->changed, &writer->mutex);
            continue;
        }
        pthread_mutex_unlock(&writer->mutex);
        result = work(writer, writer->job);
        pthread_mutex_lock(&writer->mutex);
        writer->job = LK_JOB_NONE;
        writer->result = result;
        pthread_cond_broadcast(&writer->changed);
        /* The loop wakes up here, and would only wait for the mutex. */
        pthread_mutex_unlock(&writer->mutex);
        (void)!write(writer->descriptor, &one, sizeof one);
        pthread_mutex_lock(&writer->mutex);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

static bool begin(struct lk_writer *writer) {
    if (pthread_mutex_init(&writer->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&writer->changed, NULL) == 0) {
        if (pthread_create(&writer->thread, NULL, run, writer) == 0) {
            return true;
        }
        (void)pthread_cond_destroy(&writer->changed);
    }
    (void)pthread_mutex_destroy(&writer->mutex);
    return false;
}

lk_outcome lk_writer_start(struct lk_storage *storage, struct lk_writer **ret_writer,
                           lk_error *error) {
    struct lk_writer *writer = calloc(1, sizeof *writer);

    if (writer != NULL) {
        writer->storage = storage;
        writer->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (writer->descriptor >= 0 && begin(writer)) {
            *ret_writer = writer;
            return LK_OK;
        }
        if (writer->descriptor >= 0) {
            (void)close(writer->descriptor);
        }
        free(writer);
    }
    storage->ops->close(storage);
    return lk_error_set(error, LK_INTERNAL, "the thread that writes cannot be started");
}

void lk_writer_stop(struct lk_writer *writer) {
    if (writer == NULL) {
        return;
    }
    pthread_mutex_lock(&writer->mutex);
    writer->is_stopping = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    (void)pthread_join(writer->thread, NULL);
    (void)pthread_cond_destroy(&writer->changed);
    (void)pthread_mutex_destroy(&writer->mutex);
    writer->storage->ops->close(writer->storage);
    lk_core_snapshot_free(writer->result.snapshot);
    (void)close(writer->descriptor);
    free(writer);
}

int lk_writer_descriptor(const struct lk_writer *writer) {
    return writer->descriptor;
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
