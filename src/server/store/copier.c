/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, one job at a time. A job that no client waits for any more still runs to its end, the
 * making of a copy only to its next megabyte; what is asked for meanwhile is begun after it.
 *
 * The copy is made by the embedded engine, beside the file, and loses its name at once. It is not
 * flushed: that would hold up the commits of the store, and no copy outlives the service.
 */
#include "server/store/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "engine/sqlite/sqlite.h"

#define SPARE_BYTES (UINT64_C(16) << 20) /* of the disk, which a copy leaves for the store itself */

enum { OPEN_MS_MAX = 10000 };

enum copy_job { JOB_NONE, JOB_MAKE, JOB_READ, JOB_DROP };

struct lk_copier {
    char path[PATH_MAX]; /* of the store's file */
    char copy_path[PATH_MAX];
    int signal; /* an eventfd: a job is done */

    /* Used only by the loop. */
    struct lk_copy *owner;     /* of the copy; NULL: none */
    enum copy_job wanted;      /* by the owner, once the running job is done */
    enum copy_job running;     /* and not fetched */
    bool is_orphan;            /* ... for a client that is gone */
    bool is_started;           /* the thread */
    bool has_copy;             /* the thread keeps one, or a job may have made one */
    uint64_t from;             /* of a read */
    struct lk_waker cancelled; /* of the running JOB_MAKE */
    pthread_t thread;

    /* Used only by the thread while a job runs, else only by the loop. */
    int file; /* the copy; less than 0: none */
    struct lk_copy_result result;
    char piece[LK_COPY_PIECE_BYTES];

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t changed;
    enum copy_job job; /* to be done, or being done */
    bool is_stopping;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static lk_outcome fail(struct lk_copier *copier, const char *what) {
    return lk_error_set(&copier->result.error, LK_UNAVAILABLE, "%s of the store: %s", what,
                        strerror(errno));
}

/* Also the parts of copies that were being made when a service was killed. */
static void remove_left(const struct lk_copier *copier) {
    char pattern[PATH_MAX + 2];
    glob_t left;

    (void)snprintf(pattern, sizeof pattern, "%s*", copier->copy_path);
    if (glob(pattern, GLOB_NOSORT, NULL, &left) == 0) {
        for (size_t i = 0; i < left.gl_pathc; i++) {
            (void)unlink(left.gl_pathv[i]);
        }
        globfree(&left);
    }
}

static void drop(struct lk_copier *copier) {
    if (copier->file >= 0) {
        (void)close(copier->file);
        copier->file = -1;
    }
}

/* The copy must not take the room that the store's own log needs. */
static lk_outcome check_room(struct lk_copier *copier) {
    struct stat status;
    struct statvfs disk;
    uint64_t left;

    if (stat(copier->path, &status) != 0 || statvfs(copier->path, &disk) != 0) {
        return fail(copier, "the file");
    }
    left = (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize;
    return left >= (uint64_t)status.st_size + SPARE_BYTES
               ? LK_OK
               : lk_error_set(&copier->result.error, LK_UNAVAILABLE,
                              "the disk of the service has no room for a copy of %jd bytes: "
                              "%" PRIu64 " are left",
                              (intmax_t)status.st_size, left);
}

static lk_outcome copy_into(struct lk_copier *copier, const char *path) {
    struct lk_patience patience = {.until_us = lk_clock_now_us() + INT64_C(1000) * OPEN_MS_MAX,
                                   .waker = &copier->cancelled};
    lk_error *error = &copier->result.error;
    struct lk_engine *engine;
    lk_outcome outcome =
        lk_engine_sqlite.open(lk_slice_of(copier->path), &patience, &engine, error);

    if (outcome == LK_OK) {
        outcome = lk_sqlite_copy(engine, path, &patience, error);
        engine->ops->close(engine);
    }
    return outcome;
}

static lk_outcome make(struct lk_copier *copier) {
    char path[PATH_MAX + sizeof ".XXXXXX"];
    struct stat status;
    lk_outcome outcome;

    drop(copier);
    remove_left(copier);
    outcome = check_room(copier);
    if (outcome != LK_OK) {
        return outcome;
    }
    (void)snprintf(path, sizeof path, "%s.XXXXXX", copier->copy_path);
    copier->file = mkostemp(path, O_CLOEXEC);
    if (copier->file < 0) {
        return fail(copier, "the copy");
    }
    outcome = copy_into(copier, path);
    (void)unlink(path);
    if (outcome == LK_OK && fstat(copier->file, &status) != 0) {
        return fail(copier, "the copy");
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    copier->result.size = (uint64_t)status.st_size;
    return LK_OK;
}

static lk_outcome read_piece(struct lk_copier *copier) {
    ssize_t size = copier->from <= INT64_MAX ? pread(copier->file, copier->piece,
                                                     sizeof copier->piece, (off_t)copier->from)
                                             : 0;

    if (size < 0) {
        return fail(copier, "the copy");
    }
    copier->result.bytes = (struct lk_slice){copier->piece, (size_t)size};
    return LK_OK;
}

static void do_job(struct lk_copier *copier, enum copy_job job) {
    lk_outcome outcome = LK_OK;

    if (job == JOB_MAKE) {
        outcome = make(copier);
    } else if (job == JOB_READ) {
        outcome = read_piece(copier);
    }
    if (job == JOB_DROP || outcome != LK_OK) {
        drop(copier);
    }
    copier->result.error.outcome = outcome;
}

static void *run(void *argument) {
    struct lk_copier *copier = argument;
    const uint64_t one = 1;

    pthread_mutex_lock(&copier->mutex);
    while (!copier->is_stopping) {
        enum copy_job job = copier->job;

        if (job == JOB_NONE) {
            pthread_cond_wait(&copier->changed, &copier->mutex);
            continue;
        }
        pthread_mutex_unlock(&copier->mutex);
        do_job(copier, job);
        pthread_mutex_lock(&copier->mutex);
        copier->job = JOB_NONE;
        (void)!write(copier->signal, &one, sizeof one);
    }
    pthread_mutex_unlock(&copier->mutex);
    return NULL;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

lk_outcome lk_copier_new(const char *path, struct lk_copier **ret_copier, lk_error *error) {
    struct lk_copier *copier = calloc(1, sizeof *copier);
    int size;

    if (copier == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    copier->file = -1;
    (void)snprintf(copier->path, sizeof copier->path, "%s", path);
    size = snprintf(copier->copy_path, sizeof copier->copy_path, "%s-copy", path);
    copier->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (size < 0 || (size_t)size >= sizeof copier->copy_path || copier->signal < 0
        || pthread_mutex_init(&copier->mutex, NULL) != 0) {
        if (copier->signal >= 0) {
            (void)close(copier->signal);
        }
        free(copier);
        return lk_error_set(error, LK_INTERNAL, "copies of the store cannot be prepared");
    }
    (void)pthread_cond_init(&copier->changed, NULL);
    remove_left(copier);
    *ret_copier = copier;
    return LK_OK;
}

void lk_copier_free(struct lk_copier *copier) {
    if (copier == NULL) {
        return;
    }
    if (copier->is_started) {
        if (copier->running == JOB_MAKE) {
            lk_waker_throw(&copier->cancelled);
        }
        pthread_mutex_lock(&copier->mutex);
        copier->is_stopping = true;
        pthread_cond_broadcast(&copier->changed);
        pthread_mutex_unlock(&copier->mutex);
        (void)pthread_join(copier->thread, NULL);
        if (copier->running == JOB_MAKE) {
            lk_waker_done(&copier->cancelled);
        }
    }
    drop(copier);
    (void)pthread_cond_destroy(&copier->changed);
    (void)pthread_mutex_destroy(&copier->mutex);
    (void)close(copier->signal);
    free(copier);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void submit(struct lk_copier *copier, enum copy_job job) {
    copier->wanted = JOB_NONE;
    copier->running = job;
    copier->is_orphan = copier->owner == NULL;
    copier->has_copy = job != JOB_DROP;
    copier->result = (struct lk_copy_result){.is_made = job == JOB_MAKE};
    pthread_mutex_lock(&copier->mutex);
    copier->job = job;
    pthread_cond_broadcast(&copier->changed);
    pthread_mutex_unlock(&copier->mutex);
}

/* Begins what is wanted. A copy without a client is dropped. */
static void go_on(struct lk_copier *copier) {
    if (copier->running != JOB_NONE) {
        return;
    }
    if (copier->wanted == JOB_MAKE && !lk_waker_init(&copier->cancelled)) {
        copier->wanted = JOB_DROP; /* the client is told by lk_copier_fetch(): there is no copy */
    }
    if (copier->wanted != JOB_NONE) {
        submit(copier, copier->wanted);
    } else if (copier->owner == NULL && copier->has_copy) {
        submit(copier, JOB_DROP);
    }
}

/* The owner has no copy any more. */
static void disown(struct lk_copier *copier) {
    copier->owner->copier = NULL;
    copier->owner->is_pending = false;
    copier->owner = NULL;
    copier->wanted = JOB_NONE;
    if (copier->running != JOB_NONE) {
        copier->is_orphan = true;
        if (copier->running == JOB_MAKE) {
            lk_waker_throw(&copier->cancelled);
        }
    }
}

int lk_copier_descriptor(const struct lk_copier *copier) {
    return copier->signal;
}

static bool is_job_done(struct lk_copier *copier) {
    uint64_t count;
    bool is_done;

    (void)!read(copier->signal, &count, sizeof count);
    pthread_mutex_lock(&copier->mutex);
    is_done = copier->running != JOB_NONE && copier->job == JOB_NONE;
    pthread_mutex_unlock(&copier->mutex);
    return is_done;
}

void lk_copier_fetch(struct lk_copier *copier) {
    struct lk_copy_result *result = &copier->result;
    struct lk_copy *owner = copier->owner;
    bool is_at_end;

    if (!is_job_done(copier)) {
        return;
    }
    if (copier->running == JOB_MAKE) {
        lk_waker_done(&copier->cancelled);
    } else if (copier->running == JOB_DROP && owner != NULL && !copier->is_orphan) {
        (void)lk_error_set(&result->error, LK_INTERNAL, "the copy cannot be prepared");
    }
    is_at_end = result->error.outcome != LK_OK || (!result->is_made && result->bytes.size == 0);
    copier->running = JOB_NONE;
    if (owner != NULL && !copier->is_orphan) {
        owner->is_pending = false;
        if (is_at_end) {
            disown(copier);
        }
        owner->done(owner, result);
    }
    go_on(copier);
}

bool lk_copier_is_idle(const struct lk_copier *copier) {
    return copier->owner != NULL && !copier->owner->is_pending;
}

void lk_copier_expire(struct lk_copier *copier) {
    if (lk_copier_is_idle(copier)) {
        disown(copier);
        go_on(copier);
    }
}

/* ---- of a client ----------------------------------------------------------------------------- */

static lk_outcome start(struct lk_copier *copier, lk_error *error) {
    if (!copier->is_started) {
        copier->is_started = lk_thread_start(&copier->thread, run, copier);
    }
    return copier->is_started
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "the thread that copies cannot be started");
}

static void want(struct lk_copier *copier, struct lk_copy *copy, enum copy_job job) {
    copier->owner = copy;
    copier->wanted = job;
    copy->copier = copier;
    copy->is_pending = true;
    go_on(copier);
}

lk_outcome lk_copy_begin(struct lk_copier *copier, struct lk_copy *copy, lk_error *error) {
    if (copier->owner != NULL && copier->owner != copy) {
        return lk_error_set(error, LK_FULL,
                            "another client is being given a copy; ask again when it has it");
    }
    if (start(copier, error) != LK_OK) {
        return LK_INTERNAL;
    }
    want(copier, copy, JOB_MAKE);
    return LK_OK;
}

lk_outcome lk_copy_read(struct lk_copy *copy, uint64_t from, lk_error *error) {
    if (copy->copier == NULL) {
        return lk_error_set(error, LK_LOST,
                            "there is no copy, or it was not read for too long; begin again");
    }
    copy->copier->from = from;
    want(copy->copier, copy, JOB_READ);
    return LK_OK;
}

void lk_copy_end(struct lk_copy *copy) {
    struct lk_copier *copier = copy->copier;

    if (copier != NULL) {
        disown(copier);
        go_on(copier);
    }
}
