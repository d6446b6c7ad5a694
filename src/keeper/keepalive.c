/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that keeps leases alive.
 *
 * It sleeps until the next thing is due: a renewal, a deadline, a callback; a lease that comes and
 * goes before that does not wake it. Everything is found by walking the list of leases, which is
 * short work beside a renewal. The mutex is never held while
 * the store is asked or a callback runs; `is_busy` keeps the lease in place meanwhile.
 *
 * A store that does not answer is tried again after a while (`retry_at_us`), for one lease at a
 * time, and no attempt outlasts the next deadline by more than ATTEMPT_US_MIN: so that deadlines
 * are noticed while the store is away.
 */
#include "keeper/keepalive.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/least.h"
#include "base/random.h"
#include "engine/reply.h"
#include "keeper/batch.h"

#define SLEEP_US_MAX INT64_C(1000000) /* suspended time is noticed within this */
#define ATTEMPT_US_MIN INT64_C(250000)
#define ATTEMPT_US_MAX INT64_C(10000000)
#define RETRY_US_MIN INT64_C(20000)
#define RETRY_US_MAX INT64_C(200000)

struct lk_keepalive {
    pthread_mutex_t mutex; /* guards everything but `engine` and `made_by` */
    pthread_cond_t changed;
    struct lk_engine *engine;
    pid_t made_by;
    struct lk_waker waker; /* thrown by closing: ends the attempt under way */
    struct lk_random random;
    pthread_t thread;
    bool is_started;
    bool is_closed;
    size_t use_count;  /* the store and each lease */
    size_t call_count; /* leases' own calls to the engine under way */
    int64_t retry_at_us;
    int64_t asleep_until_us; /* nothing is due before; 0: the thread is up, and will look itself */
    struct lk_lease *leases;
};

/* ---- making and ending ----------------------------------------------------------------------- */

static bool init_conditions(struct lk_keepalive *keepalive) {
    if (pthread_mutex_init(&keepalive->mutex, NULL) != 0) {
        return false;
    }
    if (!lk_condition_init(&keepalive->changed)) {
        (void)pthread_mutex_destroy(&keepalive->mutex);
        return false;
    }
    if (!lk_waker_init(&keepalive->waker)) {
        (void)pthread_cond_destroy(&keepalive->changed);
        (void)pthread_mutex_destroy(&keepalive->mutex);
        return false;
    }
    return true;
}

struct lk_keepalive *lk_keepalive_new(struct lk_engine *engine) {
    struct lk_keepalive *keepalive = calloc(1, sizeof *keepalive);

    if (keepalive == NULL) {
        return NULL;
    }
    if (!init_conditions(keepalive)) {
        free(keepalive);
        return NULL;
    }
    keepalive->engine = engine;
    keepalive->made_by = getpid();
    keepalive->random.state = lk_random_draw();
    keepalive->use_count = 1;
    return keepalive;
}

bool lk_keepalive_is_mine(const struct lk_keepalive *keepalive) {
    return keepalive->made_by == getpid();
}

void lk_keepalive_hold(struct lk_keepalive *keepalive) {
    pthread_mutex_lock(&keepalive->mutex);
    keepalive->use_count++;
    pthread_mutex_unlock(&keepalive->mutex);
}

void lk_keepalive_drop(struct lk_keepalive *keepalive) {
    bool is_last;

    pthread_mutex_lock(&keepalive->mutex);
    keepalive->use_count--;
    is_last = keepalive->use_count == 0;
    pthread_mutex_unlock(&keepalive->mutex);
    if (is_last) {
        lk_waker_done(&keepalive->waker);
        (void)pthread_cond_destroy(&keepalive->changed);
        (void)pthread_mutex_destroy(&keepalive->mutex);
        free(keepalive);
    }
}

void lk_keepalive_close(struct lk_keepalive *keepalive) {
    bool is_started;

    lk_waker_throw(&keepalive->waker);
    pthread_mutex_lock(&keepalive->mutex);
    keepalive->is_closed = true;
    pthread_cond_broadcast(&keepalive->changed);
    while (keepalive->call_count > 0) {
        pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
    }
    is_started = keepalive->is_started;
    pthread_mutex_unlock(&keepalive->mutex);
    if (is_started) {
        (void)pthread_join(keepalive->thread, NULL);
    }
    lk_keepalive_drop(keepalive);
}

struct lk_engine *lk_keepalive_begin_call(struct lk_keepalive *keepalive) {
    struct lk_engine *engine = NULL;

    pthread_mutex_lock(&keepalive->mutex);
    if (!keepalive->is_closed) {
        keepalive->call_count++;
        engine = keepalive->engine;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return engine;
}

void lk_keepalive_end_call(struct lk_keepalive *keepalive) {
    pthread_mutex_lock(&keepalive->mutex);
    keepalive->call_count--;
    if (keepalive->is_closed) {
        pthread_cond_broadcast(&keepalive->changed);
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* ---- what is due ----------------------------------------------------------------------------- */

/* When the thread has to look at the lease; 0: at once. */
static int64_t due_us(const struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    int64_t deadline_us = lk_promise_until_us(&lease->promise);

    if (deadline_us == LK_PROMISE_OVER) {
        return lease->callback != NULL && !lease->is_told ? 0 : LK_NEVER;
    }
    if (lease->is_fixed) {
        return deadline_us;
    }
    return lk_least(deadline_us, lk_greatest(lease->renew_at_us, keepalive->retry_at_us));
}

static struct lk_lease *first_due(const struct lk_keepalive *keepalive, int64_t *ret_due_us) {
    struct lk_lease *first = NULL;

    *ret_due_us = LK_NEVER;
    for (struct lk_lease *lease = keepalive->leases; lease != NULL; lease = lease->next) {
        int64_t lease_due_us = due_us(keepalive, lease);

        if (lease_due_us < *ret_due_us) {
            *ret_due_us = lease_due_us;
            first = lease;
        }
    }
    return first;
}

/*
 * Until when one attempt to renew may wait for the store: so that there are several attempts
 * before the lease's deadline, and nobody else's deadline goes unnoticed meanwhile.
 */
static int64_t attempt_until_us(const struct lk_keepalive *keepalive,
                                const struct lk_lease *renewed) {
    int64_t now_us = lk_clock_now_us();
    int64_t until_us = now_us + lk_least(ATTEMPT_US_MAX, renewed->ttl_ms * 1000 / 6);

    for (const struct lk_lease *lease = keepalive->leases; lease != NULL; lease = lease->next) {
        int64_t deadline_us = lk_promise_until_us(&lease->promise);

        if (deadline_us != LK_PROMISE_OVER) {
            until_us = lk_least(until_us, deadline_us);
        }
    }
    return lk_greatest(until_us, now_us + ATTEMPT_US_MIN);
}

/* ---- what is done then ----------------------------------------------------------------------- */

static void take_hold(struct lk_lease *lease) {
    lease->is_busy = true;
    lease->busy_in = pthread_self();
}

static void let_go(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    lease->is_busy = false;
    pthread_cond_broadcast(&keepalive->changed);
}

/* Called and left with the mutex held, which is free meanwhile. */
static void tell(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    void (*callback)(void *context, lk_lease *lease) = lease->callback;
    void *context = lease->context;

    lease->is_told = true;
    take_hold(lease);
    pthread_mutex_unlock(&keepalive->mutex);
    callback(context, lease);
    pthread_mutex_lock(&keepalive->mutex);
    let_go(keepalive, lease);
}

/* Takes in what a renewal that was sent at `sent_us` came to. */
static void take_in(struct lk_keepalive *keepalive, struct lk_lease *lease, int64_t sent_us,
                    const lk_result *result) {
    int64_t ttl_us = lease->ttl_ms * 1000;
    int64_t retry_us;

    switch (result->outcome) {
    case LK_OK:
        keepalive->retry_at_us = 0;
        lease->renew_at_us = sent_us + ttl_us / 3;
        /* Too late an answer brings nothing back: who saw the deadline pass has given up. */
        (void)lk_promise_extend(&lease->promise, sent_us + result->expires_in_ms * 1000);
        break;
    case LK_LOST:
        lk_promise_break(&lease->promise);
        break;
    default:
        retry_us = lk_greatest(RETRY_US_MIN, lk_least(RETRY_US_MAX, ttl_us / 15));
        keepalive->retry_at_us =
            lk_clock_now_us() + lk_random_between(&keepalive->random, RETRY_US_MIN, retry_us);
        break;
    }
}

/* Called and left with the mutex held, which is free meanwhile. */
static void renew(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    const struct lk_patience patience = {.until_us = attempt_until_us(keepalive, lease),
                                         .waker = &keepalive->waker};
    const struct lk_renew renew = {.target = lease->target, .ttl_ms = lease->ttl_ms};
    lk_result result = {.outcome = LK_OK};
    int64_t sent_us;

    take_hold(lease);
    pthread_mutex_unlock(&keepalive->mutex);
    sent_us = lk_clock_now_us();
    result.outcome = lk_batch_renew(keepalive->engine, &renew, &patience, &result);
    pthread_mutex_lock(&keepalive->mutex);
    take_in(keepalive, lease, sent_us, &result);
    lk_result_clear(&result);
    let_go(keepalive, lease);
}

static bool has_to_be_told(const struct lk_lease *lease) {
    return lease->callback != NULL && !lease->is_told;
}

static void attend(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    if (!lk_promise_is_over(&lease->promise)) {
        renew(keepalive, lease);
    } else if (has_to_be_told(lease)) {
        tell(keepalive, lease);
    }
}

static void *run(void *context) {
    struct lk_keepalive *keepalive = context;

    pthread_mutex_lock(&keepalive->mutex);
    while (!keepalive->is_closed) {
        int64_t first_due_us;
        struct lk_lease *lease = first_due(keepalive, &first_due_us);
        int64_t now_us = lk_clock_now_us();

        keepalive->asleep_until_us = first_due_us;
        if (lease == NULL) {
            pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
        } else if (first_due_us > now_us) {
            struct timespec end =
                lk_condition_instant(lk_least(first_due_us - now_us, SLEEP_US_MAX));

            (void)pthread_cond_timedwait(&keepalive->changed, &keepalive->mutex, &end);
        } else {
            keepalive->asleep_until_us = 0;
            attend(keepalive, lease);
        }
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return NULL;
}

bool lk_keepalive_start(struct lk_keepalive *keepalive) {
    sigset_t all;
    sigset_t former;
    bool is_started;

    pthread_mutex_lock(&keepalive->mutex);
    if (!keepalive->is_started && !keepalive->is_closed) {
        /* The application's signals are not for this thread. */
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &former);
        keepalive->is_started = pthread_create(&keepalive->thread, NULL, run, keepalive) == 0;
        (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    }
    is_started = keepalive->is_started;
    pthread_mutex_unlock(&keepalive->mutex);
    return is_started;
}

/* ---- leases ---------------------------------------------------------------------------------- */

void lk_keepalive_add(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    pthread_mutex_lock(&keepalive->mutex);
    lease->previous = NULL;
    lease->next = keepalive->leases;
    if (lease->next != NULL) {
        lease->next->previous = lease;
    }
    keepalive->leases = lease;
    if (due_us(keepalive, lease) < keepalive->asleep_until_us) {
        pthread_cond_broadcast(&keepalive->changed);
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* Waits until the lease has been let go; not inside its own callback. */
static void wait_until_idle(struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    while (lease->is_busy && !pthread_equal(pthread_self(), lease->busy_in)) {
        pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
    }
}

void lk_keepalive_remove(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    pthread_mutex_lock(&keepalive->mutex);
    wait_until_idle(keepalive, lease);
    if (lease->previous != NULL) {
        lease->previous->next = lease->next;
    } else {
        keepalive->leases = lease->next;
    }
    if (lease->next != NULL) {
        lease->next->previous = lease->previous;
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

void lk_keepalive_watch(struct lk_keepalive *keepalive, struct lk_lease *lease,
                        void (*callback)(void *context, lk_lease *lease), void *context) {
    pthread_mutex_lock(&keepalive->mutex);
    wait_until_idle(keepalive, lease);
    lease->callback = callback;
    lease->context = context;
    lease->is_told = false;
    if (keepalive->is_closed && has_to_be_told(lease) && lk_promise_is_over(&lease->promise)) {
        tell(keepalive, lease); /* the thread that would do it is gone */
    }
    pthread_cond_broadcast(&keepalive->changed);
    pthread_mutex_unlock(&keepalive->mutex);
}
