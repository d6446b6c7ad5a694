/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread and its caller share a struct opening. It is freed by the caller, which joins the
 * thread; or by the thread, if the caller has abandoned it.
 */
#include "client/opening.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "base/thread.h"
#include "client/cancel.h"
#include "client/store.h"

#define GRACE_US INT64_C(200000) /* for an engine to end after its time, with its own message */
#define LONG_US INT64_C(60000000)

struct opening {
    const struct lk_engine_ops *ops;
    char *rest;
    bool must_exist;
    struct lk_patience patience;
    atomic_bool is_reached;
    struct lk_waker waker; /* ends what the engine does */
    struct lk_waker done;  /* thrown when it has ended */
    pthread_t thread;

    pthread_mutex_t mutex;         /* guards the rest */
    struct lk_cancel_link *caller; /* nudged when it has ended; NULL: it is abandoned */
    bool is_done;
    struct lk_engine *engine;
    lk_error error;
};

static lk_outcome call_engine(const struct lk_engine_ops *ops, struct lk_slice rest,
                              bool must_exist, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, lk_error *error) {
    return (must_exist && ops->open_existing != NULL ? ops->open_existing : ops->open)(
        rest, patience, ret_engine, error);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void opening_free(struct opening *opening) {
    lk_waker_done(&opening->done);
    lk_waker_done(&opening->waker);
    (void)pthread_mutex_destroy(&opening->mutex);
    free(opening->rest);
    free(opening);
}

static void *run(void *context) {
    struct opening *opening = context;
    struct lk_engine *engine = NULL;
    lk_error error;
    bool is_abandoned;

    lk_error_clear(&error, LK_OK);
    error.outcome = call_engine(opening->ops, lk_slice_of(opening->rest), opening->must_exist,
                                &opening->patience, &engine, &error);
    pthread_mutex_lock(&opening->mutex);
    is_abandoned = opening->caller == NULL;
    opening->is_done = true;
    opening->engine = engine;
    opening->error = error;
    if (!is_abandoned) {
        lk_waker_throw(&opening->done);
        lk_waker_nudge(&opening->caller->waker);
    }
    pthread_mutex_unlock(&opening->mutex);
    if (is_abandoned) {
        if (engine != NULL) {
            engine->ops->close(engine);
        }
        opening_free(opening);
    }
    return NULL;
}

/* NULL: the system is exhausted. */
static struct opening *start(const struct lk_opening_order *order,
                             const struct lk_patience *patience, struct lk_cancel_link *link) {
    struct opening *opening = calloc(1, sizeof *opening);

    if (opening == NULL) {
        return NULL;
    }
    opening->ops = order->ops;
    opening->must_exist = order->must_exist;
    opening->caller = link;
    opening->rest = lk_text_copy(order->rest);
    if (opening->rest == NULL || pthread_mutex_init(&opening->mutex, NULL) != 0) {
        goto no_mutex;
    }
    if (!lk_waker_init(&opening->waker)) {
        goto no_waker;
    }
    if (!lk_waker_init(&opening->done)) {
        goto no_done;
    }
    opening->patience = *patience;
    opening->patience.waker = &opening->waker;
    opening->patience.is_reached = &opening->is_reached;
    if (lk_thread_start(&opening->thread, run, opening)) {
        return opening;
    }
    lk_waker_done(&opening->done);
no_done:
    lk_waker_done(&opening->waker);
no_waker:
    (void)pthread_mutex_destroy(&opening->mutex);
no_mutex:
    free(opening->rest);
    free(opening);
    return NULL;
}

/* ---- the caller ------------------------------------------------------------------------------ */

static bool is_done(struct opening *opening) {
    bool is_done;

    pthread_mutex_lock(&opening->mutex);
    is_done = opening->is_done;
    pthread_mutex_unlock(&opening->mutex);
    return is_done;
}

/* Until the thread has ended, its time is over, or it is cancelled. */
static void await(struct opening *opening, struct lk_cancel_link *link) {
    int64_t end_us = opening->patience.contact_us + GRACE_US;
    bool is_over = false;

    while (!is_over && !is_done(opening)) {
        int64_t left_us =
            atomic_load(&opening->is_reached) ? LONG_US : lk_max(0, end_us - lk_clock_now_us());

        is_over = left_us == 0 || lk_waker_sleep(&link->waker, left_us);
    }
    if (is_over) {
        lk_waker_throw(&opening->waker);
        (void)lk_waker_sleep(&opening->done, GRACE_US);
    }
}

/* Takes the result and frees the opening; or abandons it, with an outcome but no message. */
static lk_outcome take(struct opening *opening, struct lk_engine **ret_engine, lk_error *error) {
    bool is_done;
    lk_outcome outcome;

    pthread_mutex_lock(&opening->mutex);
    is_done = opening->is_done;
    opening->caller = NULL;
    if (!is_done) {
        (void)pthread_detach(opening->thread);
    }
    pthread_mutex_unlock(&opening->mutex);
    if (!is_done) {
        return lk_error_clear(error, LK_CANCELLED);
    }
    (void)pthread_join(opening->thread, NULL);
    outcome = lk_error_copy(error, &opening->error);
    *ret_engine = opening->engine;
    opening_free(opening);
    return outcome;
}

/* Says which server was silent, and for how long. */
static lk_outcome explain_silence(const struct lk_opening_order *order, int64_t since_us,
                                  const lk_error *cause, lk_error *error) {
    const long long tenths = (lk_clock_now_us() - since_us) / 100000;

    return lk_error_set(error, LK_UNAVAILABLE, "%.*s: no answer within %lld.%lld s: %s",
                        LK_ERROR_TEXT_MAX / 3, order->name, tenths / 10, tenths % 10,
                        cause->text[0] != '\0' ? cause->text
                                               : "its address is still being looked up, or the "
                                                 "server says nothing");
}

static lk_outcome open_remotely(const struct lk_opening_order *order,
                                const struct lk_patience *patience, struct lk_cancel_link *link,
                                struct lk_engine **ret_engine, lk_error *error) {
    int64_t since_us = lk_clock_now_us();
    struct opening *opening = start(order, patience, link);
    lk_error cause;
    lk_outcome outcome;
    bool is_reached;

    if (opening == NULL) {
        return lk_error_set(error, LK_INTERNAL, "cannot start the thread that opens the store");
    }
    await(opening, link);
    is_reached = atomic_load(&opening->is_reached);
    outcome = take(opening, ret_engine, &cause);
    if (outcome != LK_CANCELLED && outcome != LK_UNAVAILABLE) {
        return lk_error_copy(error, &cause);
    }
    if (lk_waker_is_thrown(&link->waker)) {
        return lk_error_clear(error, LK_CANCELLED);
    }
    if (!is_reached && lk_clock_now_us() >= patience->contact_us) {
        return explain_silence(order, since_us, &cause, error);
    }
    return lk_error_copy(error, &cause);
}

lk_outcome lk_opening_carry_out(const struct lk_opening_order *order, struct lk_engine **ret_engine,
                                lk_error *error) {
    int64_t now_us = lk_clock_now_us();
    struct lk_cancel_link link;
    const struct lk_patience patience = {
        .until_us = now_us + LK_PATIENCE_DEFAULT_MS * 1000,
        .waker = &link.waker,
        .contact_us = now_us + lk_min(order->contact_ms, LK_PATIENCE_DEFAULT_MS) * 1000};
    lk_outcome outcome = lk_cancel_join(order->cancel, &link, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = order->ops->is_remote ? open_remotely(order, &patience, &link, ret_engine, error)
                                    : call_engine(order->ops, order->rest, order->must_exist,
                                                  &patience, ret_engine, error);
    lk_cancel_leave(&link);
    return outcome;
}
