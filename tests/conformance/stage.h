/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a scenario is played: the opened stores and the waits that go on in the background. Every
 * owner opens the store for itself where the store outlives whoever opens it, as owners in
 * different processes do; else all owners share one handle.
 */
#ifndef CONFORMANCE_STAGE_H
#define CONFORMANCE_STAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lockkeeper/lockkeeper.h"
#include "words.h"

enum { STAGE_STORES_MAX = 40, STAGE_WAITS_MAX = 40 };

/* What became of a call; end with answer_done(). */
struct answer {
    lk_outcome outcome;
    lk_result *result; /* NULL: none */
    lk_error error;
};

void answer_done(struct answer *answer);

/* One wait in the background. */
struct begun {
    const void *record; /* whose it is, by the caller's own reckoning */
    lk_store *store;
    lk_request request;
    lk_cancel *cancel;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_over;
    struct answer answer;
};

struct stage {
    const char *url;
    bool share;
    struct {
        const char *owner;
        lk_store *store;
    } stores[STAGE_STORES_MAX];
    size_t store_count;
    struct begun *waits[STAGE_WAITS_MAX];
    size_t wait_count;
};

/* The owner's handle, opened when it is first needed. NULL with a complaint. */
lk_store *stage_store(struct stage *stage, const char *owner, struct complaint *complaint);

/* Closes every store; waits in the background are cancelled and forgotten. */
void stage_close(struct stage *stage);

/* Begins a wait on a thread of its own. `request` and what it points to must stay. */
bool stage_begin(struct stage *stage, lk_store *store, const lk_request *request,
                 const void *record, struct complaint *complaint);

/* Whether the wait that was begun for `record` is over; false also when there is none. */
bool stage_is_over(struct stage *stage, const void *record);

/* Ends the wait begun for `record`: in its own time within `patience_ms`, or by cancelling. */
bool stage_end(struct stage *stage, const void *record, bool cancel, long patience_ms,
               struct answer *ret_answer, struct complaint *complaint);

#endif
