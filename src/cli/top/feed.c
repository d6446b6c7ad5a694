/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mutex guards the state that the two threads share. It is never held during a call to the
 * store. News are announced by an eventfd. After a failure the store is opened again, because it
 * may have been replaced. A file that was removed is not created again by this.
 */
#include "cli/top/feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/store/url.h"

enum {
    PERIOD_US = 1000000,
    CLOSE_PATIENCE_US = 500000, /* for a call that is under way when the program ends */
    QUEUES_DUTY =
        10, /* the reading of the queues is followed by a pause of so many times its own */
    PATH_SIZE = 513,
};

/* A break that has been asked for. The texts are its own; path NULL: none. */
struct wanted_break {
    char *path, *reason, *by, *owner;
    bool at_once;
};

struct lk_feed {
    lk_store *store;       /* the thread's; NULL: has to be opened */
    bool was_there;        /* the thread's: it has been open */
    int64_t queues_due_us; /* the thread's: when the queues are read again */
    const char *url;
    const char *prefix;

    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t read_us; /* the last reading that went well */
    int descriptor;
    bool is_asked; /* to read at once */
    bool is_ending;
    bool has_ended;
    char path[PATH_SIZE]; /* the selected path; empty: none */
    struct wanted_break wanted;
    struct lk_feed_news news;
};

static void announce(struct lk_feed *feed) {
    uint64_t one = 1;
    (void)!write(feed->descriptor, &one, sizeof one);
}

static void free_break(struct wanted_break *wanted) {
    free(wanted->path);
    free(wanted->reason);
    free(wanted->by);
    free(wanted->owner);
    *wanted = (struct wanted_break){.path = NULL};
}

/* ---- in the thread --------------------------------------------------------------------------- */

static lk_outcome ready_store(struct lk_feed *feed, lk_error *error) {
    if (feed->store != NULL) {
        return LK_OK;
    }
    return lk_open_if_there(feed->url, NULL, &feed->store, error);
}

/* What is read of a store that does not exist. */
static lk_outcome read_nothing(const struct lk_feed *feed, struct lk_snapshot **ret_snapshot,
                               lk_error *error) {
    lk_store *nothing = NULL;
    lk_outcome outcome;

    if (feed->was_there) {
        return lk_error_set(error, LK_UNAVAILABLE, "the store is not there any more");
    }
    outcome = lk_open("mem:", &nothing, error);
    if (outcome == LK_OK) {
        outcome = lk_snapshot_read(nothing, feed->prefix, NULL, ret_snapshot, error);
        lk_close(nothing);
    }
    return outcome;
}

static void do_break(struct lk_feed *feed, struct wanted_break *wanted) {
    lk_break_request request = {
        .size = sizeof request,
        .path = wanted->path,
        .reason = wanted->reason,
        .by = wanted->by,
        .owner = wanted->owner,
        .at_once = wanted->at_once,
    };
    lk_error error = {.outcome = LK_OK};
    size_t count = 0;
    lk_outcome outcome = ready_store(feed, &error);

    if (outcome == LK_OK) {
        outcome = lk_break(feed->store, &request, &count, &error);
    }
    (void)pthread_mutex_lock(&feed->mutex);
    feed->news.has_broken = true;
    feed->news.broken_count = count;
    feed->news.break_error = error;
    feed->news.break_error.outcome = outcome;
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* With the queues, unless they were read just now: their number is not bounded. */
static lk_outcome read_store(struct lk_feed *feed, const char *path,
                             struct lk_snapshot **ret_snapshot, lk_error *error) {
    struct lk_snapshot *snapshot = NULL;
    lk_outcome outcome = lk_snapshot_read(feed->store, feed->prefix, path[0] != '\0' ? path : NULL,
                                          &snapshot, error);
    int64_t began_us = lk_clock_now_us();

    if (outcome == LK_OK && began_us >= feed->queues_due_us) {
        outcome = lk_snapshot_read_queues(feed->store, feed->prefix, snapshot, error);
        int64_t now_us = lk_clock_now_us();
        feed->queues_due_us = now_us + QUEUES_DUTY * (now_us - began_us);
    }
    if (outcome != LK_OK) {
        lk_snapshot_free(snapshot);
        return outcome;
    }
    *ret_snapshot = snapshot;
    return LK_OK;
}

static void do_read(struct lk_feed *feed, const char *path) {
    struct lk_snapshot *snapshot = NULL;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome = ready_store(feed, &error);

    if (outcome == LK_OK) {
        feed->was_there = true;
        outcome = read_store(feed, path, &snapshot, &error);
        if (outcome != LK_OK) {
            lk_close(feed->store);
            feed->store = NULL;
        }
    } else if (outcome == LK_NONE) {
        outcome = read_nothing(feed, &snapshot, &error);
    }
    (void)pthread_mutex_lock(&feed->mutex);
    feed->read_us = outcome == LK_OK ? lk_clock_now_us() : feed->read_us;
    feed->news.has_failed = outcome != LK_OK;
    feed->news.failure = error;
    feed->news.failure.outcome = outcome;
    feed->news.stale_ms = (lk_clock_now_us() - feed->read_us) / 1000;
    if (snapshot != NULL) {
        lk_snapshot_inherit(snapshot, feed->news.snapshot);
        lk_snapshot_free(feed->news.snapshot);
        feed->news.snapshot = snapshot;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    announce(feed);
}

/* Waits until it is time, or something is asked. The mutex is held. */
static void await_turn(struct lk_feed *feed) {
    struct timespec until = lk_condition_instant(PERIOD_US);

    while (!feed->is_ending && !feed->is_asked && feed->wanted.path == NULL
           && pthread_cond_timedwait(&feed->changed, &feed->mutex, &until) == 0) {
        /* woken: check again what for */
    }
}

static void *run(void *context) {
    struct lk_feed *feed = context;

    (void)pthread_mutex_lock(&feed->mutex);
    while (!feed->is_ending) {
        char path[PATH_SIZE];
        struct wanted_break wanted = feed->wanted;
        (void)memcpy(path, feed->path, sizeof path);
        feed->wanted = (struct wanted_break){.path = NULL};
        feed->is_asked = false;
        (void)pthread_mutex_unlock(&feed->mutex);
        if (wanted.path != NULL) {
            do_break(feed, &wanted);
            free_break(&wanted);
        }
        do_read(feed, path);
        (void)pthread_mutex_lock(&feed->mutex);
        await_turn(feed);
    }
    feed->has_ended = true;
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->mutex);
    return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

static void free_feed(struct lk_feed *feed) {
    (void)pthread_cond_destroy(&feed->changed);
    (void)pthread_mutex_destroy(&feed->mutex);
    (void)close(feed->descriptor);
    free_break(&feed->wanted);
    lk_snapshot_free(feed->news.snapshot);
    free(feed);
}

struct lk_feed *lk_feed_open(lk_store *store, const char *url, const char *prefix) {
    struct lk_feed *feed = calloc(1, sizeof *feed);

    if (feed == NULL) {
        return NULL;
    }
    *feed = (struct lk_feed){
        .store = store, .url = url, .prefix = prefix, .read_us = lk_clock_now_us()};
    feed->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (feed->descriptor < 0) {
        goto no_descriptor;
    }
    if (!lk_condition_init(&feed->changed)) {
        goto no_condition;
    }
    if (pthread_mutex_init(&feed->mutex, NULL) != 0) {
        goto no_mutex;
    }
    if (!lk_thread_start(&feed->thread, run, feed)) {
        goto no_thread;
    }
    return feed;

no_thread:
    (void)pthread_mutex_destroy(&feed->mutex);
no_mutex:
    (void)pthread_cond_destroy(&feed->changed);
no_condition:
    (void)close(feed->descriptor);
no_descriptor:
    free(feed);
    return NULL;
}

void lk_feed_close(struct lk_feed *feed) {
    struct timespec until = lk_condition_instant(CLOSE_PATIENCE_US);

    (void)pthread_mutex_lock(&feed->mutex);
    feed->is_ending = true;
    (void)pthread_cond_broadcast(&feed->changed);
    while (!feed->has_ended && pthread_cond_timedwait(&feed->changed, &feed->mutex, &until) == 0) {
        /* woken: check again whether it has ended */
    }
    bool has_ended = feed->has_ended;
    (void)pthread_mutex_unlock(&feed->mutex);
    if (!has_ended) {
        (void)pthread_detach(feed->thread);
        return;
    }
    (void)pthread_join(feed->thread, NULL);
    lk_close(feed->store);
    free_feed(feed);
}

int lk_feed_descriptor(const struct lk_feed *feed) {
    return feed->descriptor;
}

void lk_feed_take(struct lk_feed *feed, struct lk_feed_news *ret_news) {
    uint64_t count;

    (void)pthread_mutex_lock(&feed->mutex);
    (void)!read(feed->descriptor, &count, sizeof count);
    *ret_news = feed->news;
    feed->news.snapshot = NULL;
    feed->news.has_broken = false;
    (void)pthread_mutex_unlock(&feed->mutex);
}

int64_t lk_feed_stale_ms(struct lk_feed *feed) {
    (void)pthread_mutex_lock(&feed->mutex);
    int64_t stale_ms = (lk_clock_now_us() - feed->read_us) / 1000;
    (void)pthread_mutex_unlock(&feed->mutex);
    return stale_ms;
}

void lk_feed_refresh(struct lk_feed *feed, const char *path) {
    (void)pthread_mutex_lock(&feed->mutex);
    size_t size = path != NULL ? strnlen(path, PATH_SIZE - 1) : 0;
    (void)memcpy(feed->path, path != NULL ? path : "", size);
    feed->path[size] = '\0';
    feed->is_asked = true;
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->mutex);
}

void lk_feed_break(struct lk_feed *feed, const lk_break_request *request) {
    struct wanted_break wanted = {
        .path = lk_text_copy(lk_slice_of(request->path)),
        .reason = lk_text_copy(lk_slice_of(request->reason)),
        .by = lk_text_copy(lk_slice_of(request->by)),
        .owner = request->owner != NULL ? lk_text_copy(lk_slice_of(request->owner)) : NULL,
        .at_once = request->at_once,
    };
    bool is_whole = wanted.path != NULL && wanted.reason != NULL && wanted.by != NULL
                    && (wanted.owner != NULL || request->owner == NULL);

    (void)pthread_mutex_lock(&feed->mutex);
    if (is_whole && feed->wanted.path == NULL) {
        feed->wanted = wanted;
        (void)pthread_cond_broadcast(&feed->changed);
    } else {
        feed->news.has_broken = true;
        feed->news.broken_count = 0;
        feed->news.break_error.outcome = is_whole ? LK_BUSY : LK_INTERNAL;
        (void)strcpy(feed->news.break_error.text,
                     is_whole ? "the break before is still under way" : "memory is exhausted");
        free_break(&wanted);
        announce(feed);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
}
