/* SPDX-License-Identifier: Apache-2.0 */
/* A loop around the engine's await(): what fails is tried again later, as nothing depends on it. */
#include "client/revocation_watch.h"

#include "base/clock.h"
#include "base/thread.h"

#define WAIT_US INT64_C(60000000) /* then it looks whether there are leases left */
#define AGAIN_US INT64_C(1000000) /* after a failure */

static void *run(void *context) {
    struct lk_revocation_watch *watch = context;
    const struct lk_revocation_watch_calls *calls = &watch->calls;
    const struct lk_revoked_ops *ops = watch->engine->ops->revoked;
    struct lk_revoked revoked = {.has_position = false};
    lk_outcome outcome = LK_OK;

    while (outcome != LK_UNSUPPORTED && calls->await_leases(calls->context)) {
        revoked.count = 0;
        outcome = ops->await(watch->engine, &revoked, lk_clock_now_us() + WAIT_US, &watch->waker);
        if (outcome == LK_OK && revoked.count > 0) {
            calls->on_revoked(calls->context, &revoked);
        } else if (outcome != LK_OK) {
            (void)lk_waker_sleep(&watch->waker, AGAIN_US);
        }
    }
    return NULL;
}

bool lk_revocation_watch_start(struct lk_revocation_watch *watch, struct lk_engine *engine,
                               const struct lk_revocation_watch_calls *calls) {
    if (!lk_waker_init(&watch->waker)) {
        return false;
    }
    watch->engine = engine;
    watch->calls = *calls;
    watch->is_started = lk_thread_start(&watch->thread, run, watch);
    if (!watch->is_started) {
        lk_waker_done(&watch->waker);
    }
    return watch->is_started;
}

void lk_revocation_watch_stop(struct lk_revocation_watch *watch) {
    if (watch->is_started) {
        lk_waker_throw(&watch->waker);
        (void)pthread_join(watch->thread, NULL);
        lk_waker_done(&watch->waker);
        watch->is_started = false;
    }
}
