/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open stores of a scenario and its waits in the background. If the store outlives its handles,
 * the owners take turns at two of them, as owners in two processes would; otherwise all share one.
 */
#ifndef CONFORMANCE_HANDLES_H
#define CONFORMANCE_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"
#include "words.h"

enum { HANDLES_STORES = 2, HANDLES_OWNERS_MAX = 40, HANDLES_WAITS_MAX = 40 };

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
    lk_store *stores[HANDLES_STORES]; /* NULL: not open */
    const char *owners[HANDLES_OWNERS_MAX];
    size_t owner_count;
    struct background_wait *waits[HANDLES_WAITS_MAX];
    size_t wait_count;
};

/*
 * Opens the handles of a store that outlives them, and lets each ask once and release: a session of
 * a database compiles what it calls then, which on a slow machine takes longer than the steps of a
 * scenario may.
 */
bool handles_open(struct handles *handles, struct complaint *complaint);

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
