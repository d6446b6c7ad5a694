/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a feed, and what both sides of the hand-over call. No Lua here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

struct lk_lua_feed *lk_lua_feed_new(lk_store *store) {
    struct lk_lua_feed *feed = calloc(1, sizeof *feed);

    if (feed == NULL) {
        return NULL;
    }
    atomic_init(&feed->count, 1);
    feed->process = getpid();
    feed->store = store;
    feed->cancel = lk_cancel_new();
    (void)pthread_mutex_init(&feed->mutex, NULL);
    (void)pthread_cond_init(&feed->over, NULL);
    (void)sem_init(&feed->news, 0, 0);
    (void)sem_init(&feed->decided, 0, 0);
    if (feed->cancel == NULL) {
        lk_lua_feed_free(feed);
        return NULL;
    }
    return feed;
}

void lk_lua_feed_free(void *thing) {
    struct lk_lua_feed *feed = thing;

    if (atomic_fetch_sub(&feed->count, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < feed->text_count; i++) {
        free(feed->texts[i]);
    }
    lk_cancel_free(feed->cancel);
    (void)sem_destroy(&feed->decided);
    (void)sem_destroy(&feed->news);
    (void)pthread_cond_destroy(&feed->over);
    (void)pthread_mutex_destroy(&feed->mutex);
    free(feed);
}

const char *lk_lua_feed_text(struct lk_lua_feed *feed, const char *text, bool *is_made) {
    char *copy;

    if (text == NULL) {
        return NULL;
    }
    copy = strdup(text);
    *is_made = *is_made && copy != NULL;
    feed->texts[feed->text_count++] = copy;
    return copy;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_last_attempt(struct lk_lua_feed *feed, const lk_lease *lease) {
    bool is_closing;

    (void)pthread_mutex_lock(&feed->mutex);
    is_closing = feed->is_closing;
    (void)pthread_mutex_unlock(&feed->mutex);
    return is_closing || lk_lease_is_lost(lease);
}

/*
 * Ends the claim with its result. Returns the verdict for the library, which knows of no result: a
 * done that is repeated changes nothing (R16). One that is not known to be done is given back: it
 * would lose its result.
 */
static int end_with_result(struct lk_lua_feed *feed, const lk_claim_info *claim,
                           const lk_lease *lease) {
    const lk_done_request request = {.size = sizeof request,
                                     .queue = claim->queue,
                                     .id = claim->id,
                                     .owner = claim->owner,
                                     .token = claim->token,
                                     .result = feed->has_result ? feed->result : NULL,
                                     .result_size = feed->result_size,
                                     .keep_ms = feed->keep_ms};
    int verdict = LK_LUA_DONE;
    lk_outcome outcome;
    lk_error error;
    bool is_last;

    do {
        is_last = is_last_attempt(feed, lease);
        outcome = lk_done_item(feed->store, &request, &error);
    } while (outcome == LK_UNAVAILABLE && !is_last);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->ended = feed->number;
    feed->end = outcome;
    if (outcome != LK_OK) {
        feed->end_error = error;
    }
    if (outcome == LK_UNAVAILABLE) {
        verdict = LK_WORK_GIVE_BACK;
    } else if (outcome != LK_OK && outcome != LK_LOST) { /* refused: it has failed, for this */
        verdict = LK_LUA_FAILED;
        _Static_assert(sizeof error.text <= sizeof feed->failure, "the reason fits");
        feed->failure_size = strlen(error.text);
        (void)memcpy(feed->failure, error.text, feed->failure_size);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return verdict;
}

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct lk_lua_feed *feed = context;
    bool has_end;
    int verdict;

    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->is_closing) {
        (void)pthread_mutex_unlock(&feed->mutex);
        return LK_WORK_GIVE_BACK;
    }
    feed->claim = claim;
    feed->lease = lease;
    feed->number++;
    feed->is_decided = feed->is_lost = feed->has_exit = false;
    feed->failure_size = 0;
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)sem_post(&feed->news);
    while (sem_wait(&feed->decided) != 0) {
    }
    (void)pthread_mutex_lock(&feed->mutex);
    verdict = feed->verdict;
    has_end = verdict == LK_LUA_DONE && (feed->has_result || feed->keep_ms > 0);
    (void)pthread_mutex_unlock(&feed->mutex);
    if (has_end) {
        verdict = end_with_result(feed, claim, lease);
    }
    (void)pthread_mutex_lock(&feed->mutex);
    feed->claim = NULL;
    feed->lease = NULL;
    (void)pthread_mutex_unlock(&feed->mutex);
    return verdict;
}

static void progress(void *context, const lk_work_progress *progress) {
    struct lk_lua_feed *feed = context;

    (void)pthread_mutex_lock(&feed->mutex);
    feed->counts = progress->counts;
    if (progress->claim != NULL && progress->step != LK_WORK_CLAIMED) {
        feed->stepped = feed->number;
        feed->step = progress->step;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)sem_post(&feed->news);
}

/* What it refers to stays until the next item. */
static void explain(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure) {
    struct lk_lua_feed *feed = context;

    (void)claim;
    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->failure_size > 0) {
        ret_failure->text = feed->failure;
        ret_failure->text_size = feed->failure_size;
    }
    ret_failure->has_exit = feed->has_exit;
    ret_failure->exit_code = feed->exit_code;
    ret_failure->has_delay = feed->has_delay;
    ret_failure->delay_ms = feed->delay_ms;
    ret_failure->uncounted = feed->is_uncounted;
    ret_failure->parks = feed->verdict == LK_LUA_PARKED;
    (void)pthread_mutex_unlock(&feed->mutex);
}

static void *feed_thread(void *thing) {
    struct lk_lua_feed *feed = thing;
    lk_work_counts counts;
    lk_error error;
    lk_outcome outcome = lk_work(feed->store, &feed->options, &counts, &error);

    (void)pthread_mutex_lock(&feed->mutex);
    feed->counts = counts;
    feed->outcome = outcome;
    feed->error = error;
    feed->is_over = true;
    (void)pthread_cond_broadcast(&feed->over);
    (void)pthread_mutex_unlock(&feed->mutex);
    (void)sem_post(&feed->news);
    lk_lua_feed_free(feed);
    return NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

bool lk_lua_feed_start(struct lk_lua_feed *feed) {
    feed->options.size = sizeof feed->options;
    feed->options.handle = handle;
    feed->options.progress = progress;
    feed->options.explain = explain;
    feed->options.context = feed;
    feed->options.workers = 1;
    feed->options.cancel = feed->cancel;
    (void)atomic_fetch_add(&feed->count, 1);
    feed->is_started = lk_lua_thread(feed_thread, feed);
    if (!feed->is_started) {
        (void)atomic_fetch_sub(&feed->count, 1);
    }
    return feed->is_started;
}

static bool decide_locked(struct lk_lua_feed *feed, const struct lk_lua_verdict *verdict) {
    if (feed->claim == NULL || feed->is_decided) {
        return false;
    }
    feed->is_decided = true;
    feed->is_lost = feed->is_lost || lk_lease_is_lost(feed->lease);
    feed->verdict = verdict->verdict;
    feed->failure_size =
        verdict->failure_size < sizeof feed->failure ? verdict->failure_size : sizeof feed->failure;
    if (feed->failure_size > 0) {
        (void)memcpy(feed->failure, verdict->failure, feed->failure_size);
    }
    feed->has_exit = verdict->has_exit;
    feed->exit_code = verdict->exit_code;
    feed->has_delay = verdict->has_delay;
    feed->delay_ms = verdict->delay_ms;
    feed->is_uncounted = verdict->is_uncounted;
    feed->has_result = verdict->result != NULL;
    feed->result_size =
        verdict->result_size < sizeof feed->result ? verdict->result_size : sizeof feed->result;
    if (feed->result_size > 0) {
        (void)memcpy(feed->result, verdict->result, feed->result_size);
    }
    feed->keep_ms = verdict->keep_ms;
    (void)sem_post(&feed->decided);
    return true;
}

bool lk_lua_feed_decide(struct lk_lua_feed *feed, uint64_t number,
                        const struct lk_lua_verdict *verdict) {
    bool is_decided = false;

    if (feed->process != getpid()) {
        return false; /* a child of fork(): the mutex may be locked for ever */
    }
    (void)pthread_mutex_lock(&feed->mutex);
    if (feed->number == number) {
        is_decided = decide_locked(feed, verdict);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return is_decided;
}

void lk_lua_feed_cancel(struct lk_lua_feed *feed, const struct lk_lua_verdict *verdict) {
    if (feed->process != getpid()) {
        return;
    }
    lk_cancel_now(feed->cancel); /* before the item is decided on, or the next one is claimed */
    (void)pthread_mutex_lock(&feed->mutex);
    feed->is_closing = true;
    (void)decide_locked(feed, verdict);
    (void)pthread_mutex_unlock(&feed->mutex);
}

void lk_lua_feed_stop(struct lk_lua_feed *feed, uint64_t taken) {
    if (feed->process != getpid()) {
        return;
    }
    lk_cancel_now(feed->cancel);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->is_closing = true;
    if (feed->number != taken) {
        (void)decide_locked(feed, &lk_lua_given_back);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* The store is closed under a loop: its item is lost to it before it is given back. */
static void feed_end(struct lk_lua_feed *feed) {
    if (feed->process == getpid()) {
        (void)pthread_mutex_lock(&feed->mutex);
        feed->is_lost = feed->is_lost || (feed->claim != NULL && !feed->is_decided);
        (void)pthread_mutex_unlock(&feed->mutex);
        lk_lua_feed_cancel(feed, &lk_lua_given_back);
    }
}

void lk_lua_feed_await(struct lk_lua_feed *feed) {
    if (!feed->is_started || feed->process != getpid()) {
        return;
    }
    (void)pthread_mutex_lock(&feed->mutex);
    while (!feed->is_over) {
        (void)pthread_cond_wait(&feed->over, &feed->mutex);
    }
    (void)pthread_mutex_unlock(&feed->mutex);
}

void lk_lua_feeds_end(struct lk_lua_feed *feeds) {
    struct lk_lua_feed *next;

    for (struct lk_lua_feed *feed = feeds; feed != NULL; feed = feed->next) {
        feed_end(feed);
    }
    for (struct lk_lua_feed *feed = feeds; feed != NULL; feed = next) {
        next = feed->next;
        lk_lua_feed_await(feed);
        lk_lua_feed_free(feed);
    }
}
