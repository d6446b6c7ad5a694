/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue as the store lists it, read from time to time. Each read costs the store some work. So
 * reads are rare, and a line is printed again only when the first blocker has changed, or after a
 * longer interval.
 */
#include "cli/run/wait_log.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/waker.h"
#include "cli/print/human.h"
#include "cli/run/status.h"
#include "model/part.h"

enum {
    FIRST_LOOK_US = 300000, /* a sooner grant is not reported as a wait */
    POLL_INTERVAL_US = 1000000,
    REPEAT_AFTER_US = 30000000,
    READ_PATIENCE_S = 1, /* for a read under way when the wait has ended */
};

struct lk_run_wait_log {
    lk_store *store;
    const lk_request *request;
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
    lk_run_status("WAITING", "%s is %s %.*s%s%s%s, %s left%s%s%s%s", first->path,
                  first->held ? "held by" : "waited for by", lk_human_owner_size(first->owner),
                  first->owner, has_note ? " (" : "", has_note ? first->note : "",
                  has_note ? ")" : "", left, is_broken ? " (revoked)" : " unless renewed", more,
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

static void look(struct lk_run_wait_log *wait_log) {
    lk_listing *listing;

    if (lk_show(wait_log->store, wait_log->path, &listing, NULL) != LK_OK) {
        return;
    }
    const lk_entry *own = find_own(listing, wait_log->request->owner);
    int64_t now_us = lk_clock_now_us();
    if (own != NULL && !lk_waker_is_thrown(&wait_log->waker)
        && (own->blockers[0].ticket != wait_log->said_ticket
            || now_us - wait_log->said_us >= REPEAT_AFTER_US)) {
        wait_log->said_ticket = own->blockers[0].ticket;
        wait_log->said_us = now_us;
        say_blocker(wait_log, listing, own);
    }
    lk_listing_free(listing);
}

static void *run_log(void *context) {
    struct lk_run_wait_log *wait_log = context;
    int64_t pause_us = FIRST_LOOK_US;

    while (!lk_waker_sleep(&wait_log->waker, pause_us)) {
        look(wait_log);
        pause_us = POLL_INTERVAL_US;
    }
    return NULL;
}

struct lk_run_wait_log *lk_run_wait_log_start(lk_store *store, const lk_request *request,
                                              const char *own_url) {
    struct lk_part first;

    if (request->part_count == 0
        || lk_part_parse(lk_slice_of(request->parts[0]), NULL, &first, NULL) != LK_OK) {
        return NULL; /* the request itself reports what is wrong */
    }
    struct lk_run_wait_log *wait_log = calloc(1, sizeof *wait_log);
    if (wait_log == NULL || !lk_waker_init(&wait_log->waker)) {
        free(wait_log);
        return NULL;
    }
    wait_log->store = store;
    wait_log->request = request;
    wait_log->own_url = own_url;
    memcpy(wait_log->path, first.path.bytes, first.path.size);
    if (pthread_create(&wait_log->thread, NULL, run_log, wait_log) != 0) {
        lk_waker_done(&wait_log->waker);
        free(wait_log);
        return NULL;
    }
    return wait_log;
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
        return false;
    }
    lk_waker_done(&wait_log->waker);
    free(wait_log);
    return true;
}
