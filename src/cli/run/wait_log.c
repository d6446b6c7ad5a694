/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue as the store lists it, read from time to time. Each read costs the store some work. So
 * reads are rare, and a line is printed again only when the first blocker has changed, or after a
 * longer interval.
 */
#include "cli/run/wait_log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/thread.h"
#include "base/waker.h"
#include "cli/print/human.h"
#include "cli/run/status.h"
#include "model/part.h"

enum { READ_PATIENCE_S = 1 }; /* for a read under way when the wait has ended */

struct pace {
    int64_t first_us; /* a sooner grant is not reported as a wait */
    int64_t interval_us;
    int64_t repeat_us; /* when a line is printed again that says nothing new */
};

static const struct pace watched = {
    .first_us = 300000, .interval_us = 1000000, .repeat_us = 30000000};
static const struct pace logged = {.first_us = 5000000, .interval_us = 60000000, .repeat_us = 0};

static atomic_bool is_left;

struct lk_run_wait_log {
    lk_store *store;
    const struct pace *pace;
    const char *queue;                  /* NULL: the wait is for a lease */
    char owner[LK_OWNER_BYTES_MAX + 1]; /* of the request */
    const char *own_url; /* not said yet; NULL: it was, or the store is not the user's own */
    struct lk_waker waker;
    pthread_t thread;
    char path[LK_PATH_BYTES_MAX + 1]; /* the first part's: listed with all it is related to */
    uint64_t said_ticket;             /* of the blocker in the last line; 0: none */
    int64_t said_us;
};

/* R12: broken, and held to its deadline. */
static bool is_revoked(const lk_listing *listing, const lk_blocker_info *blocker) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (entry->revoked && entry->ticket == blocker->ticket
            && strcmp(entry->path, blocker->path) == 0) {
            return true;
        }
    }
    return false;
}

static void say_blocker(struct lk_run_wait_log *wait_log, const lk_listing *listing,
                        const lk_entry *entry) {
    const lk_blocker_info *first = &entry->blockers[0];
    bool is_broken = is_revoked(listing, first);
    bool has_note = first->note != NULL && first->note[0] != '\0';
    char left[LK_HUMAN_DURATION_SIZE];
    char more[64] = "";

    lk_human_duration(first->expires_in_ms, left);
    if (entry->position > 1) {
        (void)snprintf(more, sizeof more, "; %s%zu more in the way",
                       entry->position > LK_POSITION_EXACT ? "at least " : "", entry->position - 1);
    }
    lk_run_status("WAITING", "%s is %s %.*s%s%s%s%s%s, %s left%s%s%s%s", first->path,
                  first->held ? "held by" : "waited for by", lk_human_owner_size(first->owner),
                  first->owner, first->user != NULL ? " of " : "",
                  first->user != NULL ? first->user : "", has_note ? " (" : "",
                  has_note ? first->note : "", has_note ? ")" : "", left,
                  is_broken ? " (revoked)" : " unless renewed", more,
                  wait_log->own_url != NULL ? "; in the store of this user alone, " : "",
                  wait_log->own_url != NULL ? wait_log->own_url : "");
    wait_log->own_url = NULL;
}

/* This process's request in the listing, while it has blockers. NULL: none, or not yet. */
static const lk_entry *find_own(const lk_listing *listing, const char *owner) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (!entry->held && entry->blocker_count > 0 && strcmp(entry->owner, owner) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* A line is due, as it is for the first of any blocker. */
static bool is_due(struct lk_run_wait_log *wait_log, uint64_t ticket) {
    int64_t now_us = lk_clock_now_us();

    if (lk_waker_is_thrown(&wait_log->waker)
        || (ticket == wait_log->said_ticket
            && now_us - wait_log->said_us < wait_log->pace->repeat_us)) {
        return false;
    }
    wait_log->said_ticket = ticket;
    wait_log->said_us = now_us;
    return true;
}

static void look_at_queue(struct lk_run_wait_log *wait_log) {
    enum { NO_TICKET = 1 }; /* the same each time */
    lk_queue_stats stats;

    if (lk_stats(wait_log->store, wait_log->queue, &stats, NULL) == LK_OK
        && is_due(wait_log, NO_TICKET)) {
        lk_run_status("WAITING",
                      "nothing to claim in %s: %" PRIu64 " ready, %" PRIu64 " delayed, %" PRIu64
                      " claimed, %" PRIu64 " parked",
                      wait_log->queue, stats.ready_now, stats.delayed_now, stats.claimed_now,
                      stats.parked_now);
    }
}

static void look(struct lk_run_wait_log *wait_log) {
    lk_listing *listing;

    if (wait_log->queue != NULL) {
        look_at_queue(wait_log);
        return;
    }
    if (lk_show(wait_log->store, wait_log->path, &listing, NULL) != LK_OK) {
        return;
    }
    const lk_entry *own = find_own(listing, wait_log->owner);
    if (own != NULL && is_due(wait_log, own->blockers[0].ticket)) {
        say_blocker(wait_log, listing, own);
    }
    lk_listing_free(listing);
}

static void *run_log(void *context) {
    struct lk_run_wait_log *wait_log = context;
    int64_t pause_us = wait_log->pace->first_us;

    while (!lk_waker_sleep(&wait_log->waker, pause_us)) {
        look(wait_log);
        pause_us = wait_log->pace->interval_us;
    }
    return NULL;
}

/* Starts it as it is described; NULL: the system lacks resources. */
static struct lk_run_wait_log *start(const struct lk_run_wait_log *described, bool is_verbose) {
    struct lk_run_wait_log *wait_log = calloc(1, sizeof *wait_log);

    if (wait_log == NULL) {
        return NULL;
    }
    *wait_log = *described;
    wait_log->pace = is_verbose || isatty(STDERR_FILENO) ? &watched : &logged;
    if (!lk_waker_init(&wait_log->waker)) {
        free(wait_log);
        return NULL;
    }
    if (!lk_thread_start(&wait_log->thread, run_log, wait_log)) {
        lk_waker_done(&wait_log->waker);
        free(wait_log);
        return NULL;
    }
    return wait_log;
}

struct lk_run_wait_log *lk_run_wait_log_start(lk_store *store, const lk_request *request,
                                              const char *own_url, bool is_verbose) {
    struct lk_run_wait_log described = {.store = store, .own_url = own_url};
    struct lk_part first;

    if (request->part_count == 0
        || lk_part_parse(lk_slice_of(request->parts[0]), NULL, &first, NULL) != LK_OK) {
        return NULL; /* the request itself reports what is wrong */
    }
    memcpy(described.path, first.path.bytes, first.path.size);
    (void)snprintf(described.owner, sizeof described.owner, "%s", request->owner);
    return start(&described, is_verbose);
}

struct lk_run_wait_log *lk_run_wait_log_start_at_queue(lk_store *store, const char *queue,
                                                       bool is_verbose) {
    const struct lk_run_wait_log described = {.store = store, .queue = queue};

    return start(&described, is_verbose);
}

void lk_run_wait_log_silence(struct lk_run_wait_log *wait_log) {
    if (wait_log != NULL) {
        lk_waker_throw(&wait_log->waker);
    }
}

bool lk_run_wait_log_end(struct lk_run_wait_log *wait_log) {
    struct timespec end;

    if (wait_log == NULL) {
        return true;
    }
    lk_waker_throw(&wait_log->waker);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += READ_PATIENCE_S;
    if (pthread_clockjoin_np(wait_log->thread, NULL, CLOCK_MONOTONIC, &end) != 0) {
        is_left = true;
        return false;
    }
    lk_waker_done(&wait_log->waker);
    free(wait_log);
    return true;
}

bool lk_run_wait_log_is_left(void) {
    return is_left;
}
