/* SPDX-License-Identifier: Apache-2.0 */
/* A thread looks for the signals, since the library blocks the one that calls it. */
#include "cli/run/open.h"

#include "base/error.h"
#include "base/thread.h"
#include "base/waker.h"
#include "cli/run/budget.h"
#include "cli/run/signals.h"
#include "cli/store/store_is_there.h"
#include "client/store.h"

#define LOOK_US INT64_C(20000)
#define WAIT_IF_THERE INT64_C(-1) /* in the place of a wait: the store is not made */

struct lookout {
    lk_cancel *cancel;
    struct lk_waker over;
};

int64_t lk_run_wait_ms(const lk_request *request) {
    return request->style == LK_WAIT ? lk_budget_left_ms(request->wait_ms) : 0;
}

static void *look(void *context) {
    struct lookout *lookout = context;

    while (!lk_waker_sleep(&lookout->over, LOOK_US)) {
        if (lk_run_signals_have_end()) {
            lk_cancel_now(lookout->cancel);
            break;
        }
    }
    return NULL;
}

/* Opens it while the thread looks. WAIT_IF_THERE: as lk_open_if_there(). */
static lk_outcome open_watched(const char *url, int64_t wait_ms, lk_store **ret_store,
                               lk_error *error) {
    struct lookout lookout = {.cancel = lk_cancel_new()};
    lk_outcome outcome = LK_INTERNAL;
    pthread_t thread;

    if (lookout.cancel == NULL || !lk_waker_init(&lookout.over)) {
        lk_cancel_free(lookout.cancel);
        return lk_error_set(error, LK_INTERNAL, "no memory to open a store with");
    }
    if (lk_thread_start(&thread, look, &lookout)) {
        outcome = wait_ms == WAIT_IF_THERE
                      ? lk_open_if_there(url, lookout.cancel, ret_store, error)
                      : lk_store_open_within(url, wait_ms, lookout.cancel, ret_store, error);
        lk_waker_throw(&lookout.over);
        (void)pthread_join(thread, NULL);
    } else {
        (void)lk_error_set(error, LK_INTERNAL, "the system has no room for one more thread");
    }
    lk_waker_done(&lookout.over);
    lk_cancel_free(lookout.cancel);
    return outcome;
}

lk_outcome lk_run_open(const char *url, int64_t wait_ms, lk_store **ret_store, lk_error *error) {
    return open_watched(url, wait_ms, ret_store, error);
}

lk_outcome lk_run_open_if_there(const char *url, lk_store **ret_store, lk_error *error) {
    return open_watched(url, WAIT_IF_THERE, ret_store, error);
}
