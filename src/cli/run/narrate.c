/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line as the store lists it, looked at from time to time. A look costs the store something,
 * and only people read the result: so it is not often, and a line is repeated only when the first
 * in the way is another one or the reader may have begun to wonder.
 */
#include "cli/run/narrate.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/waker.h"
#include "cli/human.h"
#include "cli/run/notice.h"
#include "model/part.h"

enum {
    FIRST_LOOK_US = 300000, /* who is granted sooner has not waited */
    LOOK_INTERVAL_US = 1000000,
    REPEAT_AFTER_US = 30000000,
};

struct lk_run_narrator {
    lk_store *store;
    const lk_request *request;
    struct lk_waker waker;
    pthread_t thread;
    char path[LK_PATH_BYTES_MAX + 1]; /* the first part's: listed with all it is related to */
    uint64_t said_ticket;             /* of whom the last line was about; 0: none */
    int64_t said_us;
};

static void say_blocker(const lk_entry *entry) {
    const lk_blocker_info *first = &entry->blockers[0];
    bool has_note = first->note != NULL && first->note[0] != '\0';
    char left[LK_HUMAN_DURATION_SIZE];
    char more[64] = "";

    lk_human_duration(first->expires_in_ms, left);
    if (entry->position > 1) {
        (void)snprintf(more, sizeof more, "; %zu more in the way", entry->position - 1);
    }
    lk_run_notice("WAITING", "%s is %s %s%s%s%s, %s left unless renewed%s", first->path,
                  first->held ? "held by" : "waited for by", first->owner, has_note ? " (" : "",
                  has_note ? first->note : "", has_note ? ")" : "", left, more);
}

/* Our own request in the listing, while it waits for somebody. NULL: it does not, or not yet. */
static const lk_entry *find_own(const lk_listing *listing, const char *owner) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (!entry->held && entry->blocker_count > 0 && strcmp(entry->owner, owner) == 0) {
            return entry;
        }
    }
    return NULL;
}

static void look(struct lk_run_narrator *narrator) {
    lk_listing *listing;

    if (lk_show(narrator->store, narrator->path, &listing, NULL) != LK_OK) {
        return;
    }
    const lk_entry *own = find_own(listing, narrator->request->owner);
    int64_t now_us = lk_clock_now_us();
    if (own != NULL && !lk_waker_is_thrown(&narrator->waker)
        && (own->blockers[0].ticket != narrator->said_ticket
            || now_us - narrator->said_us >= REPEAT_AFTER_US)) {
        narrator->said_ticket = own->blockers[0].ticket;
        narrator->said_us = now_us;
        say_blocker(own);
    }
    lk_listing_free(listing);
}

static void *narrate(void *context) {
    struct lk_run_narrator *narrator = context;
    int64_t pause_us = FIRST_LOOK_US;

    while (!lk_waker_sleep(&narrator->waker, pause_us)) {
        look(narrator);
        pause_us = LOOK_INTERVAL_US;
    }
    return NULL;
}

struct lk_run_narrator *lk_run_narrator_start(lk_store *store, const lk_request *request) {
    struct lk_part first;

    if (request->part_count == 0
        || lk_part_parse(lk_slice_of(request->parts[0]), NULL, &first, NULL) != LK_OK) {
        return NULL; /* the ask itself says what is wrong */
    }
    struct lk_run_narrator *narrator = calloc(1, sizeof *narrator);
    if (narrator == NULL || !lk_waker_init(&narrator->waker)) {
        free(narrator);
        return NULL;
    }
    narrator->store = store;
    narrator->request = request;
    memcpy(narrator->path, first.path.bytes, first.path.size);
    if (pthread_create(&narrator->thread, NULL, narrate, narrator) != 0) {
        lk_waker_done(&narrator->waker);
        free(narrator);
        return NULL;
    }
    return narrator;
}

void lk_run_narrator_hush(struct lk_run_narrator *narrator) {
    if (narrator != NULL) {
        lk_waker_throw(&narrator->waker);
    }
}

void lk_run_narrator_end(struct lk_run_narrator *narrator) {
    if (narrator == NULL) {
        return;
    }
    lk_waker_throw(&narrator->waker);
    pthread_join(narrator->thread, NULL);
    lk_waker_done(&narrator->waker);
    free(narrator);
}
