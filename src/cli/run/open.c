/* SPDX-License-Identifier: Apache-2.0 */
/* A thread looks for the signals while a store is opened, since the library blocks its caller. */
#include "cli/run/open.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/thread.h"
#include "base/waker.h"
#include "cli/run/signals.h"
#include "cli/store/url.h"
#include "client/store.h"
#include "lockkeeper/lockkeeper.h"

/* ---- the budget of a wait -------------------------------------------------------------------- */

/* One instant of the whole program; what is forked from it has the same. */

static int64_t began_us;

void lk_budget_begin(void) {
    began_us = lk_clock_now_us();
}

int64_t lk_budget_spent_ms(void) {
    return (lk_clock_now_us() - began_us) / 1000;
}

int64_t lk_budget_left_ms(int64_t wait_ms) {
    if (wait_ms == 0 || wait_ms == LK_FOREVER) {
        return wait_ms;
    }
    return lk_max(wait_ms - lk_budget_spent_ms(), 1);
}

/* ---- opening a store ------------------------------------------------------------------------- */

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
