/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open stores of a scenario and its waits in the background. Every owner opens a handle of its
 * own if the store outlives its handles, as owners in different processes would; otherwise all
 * owners share one handle.
 */
#ifndef CONFORMANCE_HANDLES_H
#define CONFORMANCE_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"
#include "words.h"

enum { HANDLES_STORES_MAX = 40, HANDLES_WAITS_MAX = 40 };

/* The answer to a call; freed by answer_done(). */
struct answer {
    lk_outcome outcome;
    lk_result *result; /* NULL: none */
    lk_error error;
};

void answer_done(struct answer *answer);

/* One wait in the background. */
struct background_wait {
    const void *record; /* the caller's key of this wait */
    lk_store *store;
    lk_request request;
    lk_cancel *cancel;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_over;
    struct answer answer;
};

struct handles {
    const char *url;
    bool share;
    struct {
        const char *owner;
        lk_store *store;
    } stores[HANDLES_STORES_MAX];
    size_t store_count;
    struct background_wait *waits[HANDLES_WAITS_MAX];
    size_t wait_count;
};

/* The owner's handle, opened when it is first needed. NULL with a complaint. */
lk_store *handles_store(struct handles *handles, const char *owner, struct complaint *complaint);

/* Closes every store; waits in the background are cancelled and forgotten. */
void handles_close(struct handles *handles);

/* Begins a wait on a thread of its own. `request` and what it points to must stay. */
bool handles_begin(struct handles *handles, lk_store *store, const lk_request *request,
                   const void *record, struct complaint *complaint);

/* Whether the wait that was begun for `record` is over; false also when there is none. */
bool handles_is_over(struct handles *handles, const void *record);

/* Ends the wait begun for `record`: in its own time within `patience_ms`, or by cancelling. */
bool handles_end(struct handles *handles, const void *record, bool cancel, long patience_ms,
                 struct answer *ret_answer, struct complaint *complaint);

#endif
