/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits for a lock in the queue. */
#include "waiter.h"

void waiter_prepare(struct waiter *waiter, lk_store *store, const char *owner, const char *part) {
    *waiter = (struct waiter){.store = store, .part = part};
    waiter->request = lk_request_init(&waiter->part, 1);
    waiter->request.owner = owner;
}

static void *wait_in_line(void *context) {
    struct waiter *waiter = context;

    waiter->outcome = lk_ask(waiter->store, &waiter->request, &waiter->result, &waiter->error);
    return NULL;
}

void waiter_start(struct waiter *waiter) {
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_line, waiter), 0);
}

lk_outcome waiter_join(struct waiter *waiter) {
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->outcome;
}

void waiter_done(struct waiter *waiter) {
    lk_result_free(waiter->result);
}
