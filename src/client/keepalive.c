/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that keep leases alive.
 *
 * The timekeeper sleeps until the next thing is due: a renewal, a deadline, a callback; a lease
 * that comes and goes before that does not wake it. It never calls the store. A renewal that is due
 * goes to a worker, the one with the soonest deadline first. A worker calls the store for one lease
 * at a time, and the timekeeper starts another worker when leases have been ready for GROW_US with
 * none free: so one call that hangs holds up no other lease, and a store that is far away gets as
 * many calls at a time as its leases need.
 *
 * A lease whose last attempt failed is retried after a short random pause. Such retries get half of
 * the workers at most, and begin RETRY_SPACING_US apart: leases on a node that does not answer
 * cannot take all workers, and a store that comes back is not met by a rush. The first retry that
 * succeeds lets all others go at once.
 *
 * The mutex is never held while the store is called or a callback runs; `is_busy` keeps the lease
 * in place meanwhile. No attempt outlasts the lease's own deadline, when an answer is of no use.
 */
#include "client/keepalive.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/minmax.h"
#include "base/random.h"
#include "client/batch.h"
#include "engine/reply/reply.h"

#define SLEEP_US_MAX INT64_C(1000000) /* suspended time is noticed within this */
#define ATTEMPT_US_MIN INT64_C(250000)
#define ATTEMPT_US_MAX INT64_C(1000000) /* the first: so that few workers hang at a time */
#define RETRY_ATTEMPT_US_MAX INT64_C(10000000)
#define RETRY_US_MIN INT64_C(20000)
#define RETRY_US_MAX INT64_C(200000)
#define RETRY_SPACING_US INT64_C(5000)
#define GROW_US INT64_C(20000)

enum {
    WORKERS_MAX = 64,
    RETRIES_MAX = WORKERS_MAX / 2, /* at a time */
};

struct worker {
    struct lk_keepalive *keepalive;
    pthread_t thread;
    struct lk_waker waker; /* thrown by closing: ends the attempt under way */
};

/* Leases that no worker renews at the moment. */
struct queue {
    struct lk_heap asleep; /* by when something is due */
    struct lk_heap ready;  /* a renewal is due: by deadline */
};

struct lk_keepalive {
    pthread_mutex_t mutex;  /* guards everything but `engine` and `made_by` */
    pthread_cond_t changed; /* a lease was let go, a call has ended */
    pthread_cond_t due;     /* the timekeeper has to look again */
    pthread_cond_t work;    /* a lease is ready */
    struct lk_engine *engine;
    pid_t made_by;
    struct lk_random random;
    pthread_t timekeeper;
    bool is_started;
    bool is_closed;
    size_t use_count;  /* the store and each lease */
    size_t call_count; /* leases' own calls to the engine under way */
    struct queue fresh;
    struct queue troubled;   /* the last attempt failed */
    int64_t asleep_until_us; /* nothing is due before; 0: the timekeeper is up, and looks itself */
    int64_t next_retry_us;   /* no retry begins before */
    size_t retry_count;      /* retries under way */
    int64_t short_since_us;  /* leases have been ready and no worker free; 0: it is not so */
    size_t idle_count;       /* workers with nothing to do */
    size_t worker_count;
    struct worker workers[WORKERS_MAX];
};

/* ---- making and ending ----------------------------------------------------------------------- */

static void done_conditions(struct lk_keepalive *keepalive) {
    (void)pthread_cond_destroy(&keepalive->work);
    (void)pthread_cond_destroy(&keepalive->due);
    (void)pthread_cond_destroy(&keepalive->changed);
    (void)pthread_mutex_destroy(&keepalive->mutex);
}

static bool init_conditions(struct lk_keepalive *keepalive) {
    pthread_cond_t *const conditions[] = {&keepalive->changed, &keepalive->due, &keepalive->work};
    size_t count = 0;

    if (pthread_mutex_init(&keepalive->mutex, NULL) != 0) {
        return false;
    }
    while (count < 3 && lk_condition_init(conditions[count])) {
        count++;
    }
    if (count == 3) {
        return true;
    }
    while (count-- > 0) {
        (void)pthread_cond_destroy(conditions[count]);
    }
    (void)pthread_mutex_destroy(&keepalive->mutex);
    return false;
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
        done_conditions(keepalive);
        free(keepalive);
    }
}

/* No other worker is started once the timekeeper has ended. */
static void end_threads(struct lk_keepalive *keepalive, bool has_timekeeper) {
    if (has_timekeeper) {
        (void)pthread_join(keepalive->timekeeper, NULL);
    }
    for (size_t i = 0; i < keepalive->worker_count; i++) {
        lk_waker_throw(&keepalive->workers[i].waker);
    }
    for (size_t i = 0; i < keepalive->worker_count; i++) {
        (void)pthread_join(keepalive->workers[i].thread, NULL);
        lk_waker_done(&keepalive->workers[i].waker);
    }
}

void lk_keepalive_close(struct lk_keepalive *keepalive) {
    bool is_started;

    pthread_mutex_lock(&keepalive->mutex);
    keepalive->is_closed = true;
    pthread_cond_broadcast(&keepalive->due);
    pthread_cond_broadcast(&keepalive->work);
    while (keepalive->call_count > 0) {
        pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
    }
    is_started = keepalive->is_started;
    pthread_mutex_unlock(&keepalive->mutex);
    end_threads(keepalive, is_started);
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

static struct lk_lease *lease_of(struct lk_heap_node *node) {
    return LK_HEAP_ITEM(node, struct lk_lease, node);
}

static struct queue *queue_of(struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    return lease->is_troubled ? &keepalive->troubled : &keepalive->fresh;
}

static bool has_to_be_told(const struct lk_lease *lease) {
    return lease->callback != NULL && !lease->is_told;
}

/* When something has to be done about the lease; 0: at once. */
static int64_t due_us(const struct lk_lease *lease) {
    int64_t deadline_us = lk_safe_until_until_us(&lease->safe_until);

    if (deadline_us == LK_SAFE_UNTIL_OVER) {
        return has_to_be_told(lease) ? 0 : LK_NEVER;
    }
    return lease->is_fixed ? deadline_us : lk_min(deadline_us, lease->renew_at_us);
}

/* Wakes the timekeeper when it would sleep longer than until then. */
static void wake_by(struct lk_keepalive *keepalive, int64_t instant_us) {
    if (instant_us < keepalive->asleep_until_us) {
        pthread_cond_signal(&keepalive->due);
    }
}

static void take_out(struct lk_lease *lease) {
    if (lease->heap != NULL) {
        lk_heap_remove(lease->heap, &lease->node);
        lease->heap = NULL;
    }
}

static void put_in(struct lk_lease *lease, struct lk_heap *heap, int64_t key) {
    lk_heap_add(heap, &lease->node, key);
    lease->heap = heap;
}

static void put_to_sleep(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    int64_t lease_due_us = due_us(lease);

    put_in(lease, &queue_of(keepalive, lease)->asleep, lease_due_us);
    wake_by(keepalive, lease_due_us);
}

static int64_t first_key(const struct lk_heap *heap) {
    return heap->first != NULL ? heap->first->key : LK_NEVER;
}

/* The lease that a worker takes next; NULL: there is none, or only retries that have to wait. */
static struct lk_lease *first_ready(const struct lk_keepalive *keepalive, int64_t now_us) {
    bool may_retry = keepalive->retry_count < RETRIES_MAX && now_us >= keepalive->next_retry_us;
    const struct lk_heap *fresh = &keepalive->fresh.ready;
    const struct lk_heap *troubled = &keepalive->troubled.ready;

    return lease_of(may_retry && first_key(troubled) < first_key(fresh) ? troubled->first
                                                                        : fresh->first);
}

/* ---- renewals: the workers ------------------------------------------------------------------- */

static void take_hold(struct lk_lease *lease) {
    take_out(lease);
    lease->is_busy = true;
    lease->busy_in = pthread_self();
}

static void let_go(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    lease->is_busy = false;
    put_to_sleep(keepalive, lease);
    pthread_cond_broadcast(&keepalive->changed);
}

/*
 * Until when one attempt to renew may wait for the store: so that there are several attempts before
 * the lease's deadline.
 */
static int64_t attempt_until_us(const struct lk_lease *lease) {
    int64_t max_us = lease->is_troubled ? RETRY_ATTEMPT_US_MAX : ATTEMPT_US_MAX;
    int64_t share_us = lk_max(ATTEMPT_US_MIN, lk_min(max_us, lease->ttl_ms * 1000 / 6));

    return lk_min(lk_clock_now_us() + share_us, lk_safe_until_until_us(&lease->safe_until));
}

/* The store answers again: what waits to retry goes at once. */
static void hurry_retries(struct lk_keepalive *keepalive) {
    struct lk_heap *const heaps[] = {&keepalive->troubled.asleep, &keepalive->troubled.ready};

    for (size_t i = 0; i < 2; i++) {
        struct lk_lease *lease;

        while ((lease = lease_of(heaps[i]->first)) != NULL) {
            take_out(lease);
            lease->is_troubled = false;
            lease->renew_at_us = 0;
            put_to_sleep(keepalive, lease);
        }
    }
}

/* Takes in what a renewal that was sent at `sent_us` came to. */
static void take_in(struct lk_keepalive *keepalive, struct lk_lease *lease, int64_t sent_us,
                    const struct lk_decision *decision) {
    int64_t ttl_us = lease->ttl_ms * 1000;
    int64_t retry_us;

    switch (decision->error.outcome) {
    case LK_OK:
        lease->renew_at_us = sent_us + ttl_us / 3;
        /* A late answer revives nothing: the caller may have seen the deadline pass already. */
        (void)lk_safe_until_extend(&lease->safe_until,
                                   lk_safe_until_end_us(sent_us, decision->result.expires_in_ms));
        if (lease->is_troubled) {
            lease->is_troubled = false;
            hurry_retries(keepalive);
        }
        break;
    case LK_LOST:
        lk_safe_until_break(&lease->safe_until);
        break;
    default:
        retry_us = lk_max(RETRY_US_MIN, lk_min(RETRY_US_MAX, ttl_us / 15));
        lease->is_troubled = true;
        lease->renew_at_us =
            lk_clock_now_us() + lk_random_between(&keepalive->random, RETRY_US_MIN, retry_us);
        break;
    }
}

/* Called and left with the mutex held, which is free meanwhile. */
static void renew(struct lk_keepalive *keepalive, struct lk_lease *lease, struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = attempt_until_us(lease), .waker = waker};
    const struct lk_command command = {.kind = LK_COMMAND_RENEW,
                                       .renew = {.target = lease->target, .ttl_ms = lease->ttl_ms}};
    bool is_retry = lease->is_troubled;
    struct lk_decision decision;
    int64_t sent_us;

    take_hold(lease);
    if (is_retry) {
        keepalive->retry_count++;
        keepalive->next_retry_us = lk_clock_now_us() + RETRY_SPACING_US;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    sent_us = lk_clock_now_us();
    (void)lk_batch_decide(keepalive->engine, &command, &patience, &decision);
    pthread_mutex_lock(&keepalive->mutex);
    keepalive->retry_count -= is_retry ? 1 : 0;
    take_in(keepalive, lease, sent_us, &decision);
    lk_decision_done(&decision);
    let_go(keepalive, lease);
}

static void *run_worker(void *context) {
    struct worker *worker = context;
    struct lk_keepalive *keepalive = worker->keepalive;

    pthread_mutex_lock(&keepalive->mutex);
    while (!keepalive->is_closed) {
        struct lk_lease *lease = first_ready(keepalive, lk_clock_now_us());

        if (lease != NULL) {
            renew(keepalive, lease, &worker->waker);
            continue;
        }
        keepalive->idle_count++;
        if (keepalive->troubled.ready.first != NULL) {
            pthread_cond_signal(&keepalive->due); /* which knows when the next retry may begin */
        }
        pthread_cond_wait(&keepalive->work, &keepalive->mutex);
        keepalive->idle_count--;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return NULL;
}

/* The application's signals are not for a thread of the library's. */
static bool start_thread(pthread_t *thread, void *(*run)(void *), void *context) {
    sigset_t all;
    sigset_t former;
    bool is_started;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(thread, NULL, run, context) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    return is_started;
}

/* Called with the mutex held. */
static bool start_worker(struct lk_keepalive *keepalive) {
    struct worker *worker = &keepalive->workers[keepalive->worker_count];

    if (keepalive->worker_count == WORKERS_MAX || !lk_waker_init(&worker->waker)) {
        return false;
    }
    worker->keepalive = keepalive;
    if (!start_thread(&worker->thread, run_worker, worker)) {
        lk_waker_done(&worker->waker);
        return false;
    }
    keepalive->worker_count++;
    return true;
}

/* ---- time and callbacks: the timekeeper ------------------------------------------------------ */

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

/* Looks at a lease with which something is due. */
static void attend(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    bool is_over = lk_safe_until_is_over(&lease->safe_until);

    if (is_over && has_to_be_told(lease)) {
        tell(keepalive, lease);
        return;
    }
    take_out(lease);
    if (is_over || lease->is_fixed) {
        put_to_sleep(keepalive, lease);
    } else {
        put_in(lease, &queue_of(keepalive, lease)->ready,
               lk_safe_until_until_us(&lease->safe_until));
        pthread_cond_signal(&keepalive->work);
    }
}

/* The lease with which something is due first, asleep or ready; NULL: there is no lease. */
static struct lk_lease *first_due(struct lk_keepalive *keepalive) {
    struct lk_heap *const heaps[] = {&keepalive->fresh.asleep, &keepalive->fresh.ready,
                                     &keepalive->troubled.asleep, &keepalive->troubled.ready};
    struct lk_heap *first = heaps[0];

    for (size_t i = 1; i < sizeof heaps / sizeof heaps[0]; i++) {
        first = first_key(heaps[i]) < first_key(first) ? heaps[i] : first;
    }
    return lease_of(first->first);
}

/* Sees to it that there are workers enough. Returns when to look again. */
static int64_t provide_workers(struct lk_keepalive *keepalive, int64_t now_us) {
    bool has_work = first_ready(keepalive, now_us) != NULL;

    if (has_work && keepalive->idle_count > 0) {
        pthread_cond_signal(&keepalive->work);
    }
    if (!has_work || keepalive->idle_count > 0 || keepalive->worker_count == WORKERS_MAX) {
        keepalive->short_since_us = 0;
        return LK_NEVER;
    }
    if (keepalive->short_since_us == 0) {
        keepalive->short_since_us = now_us;
    } else if (now_us - keepalive->short_since_us >= GROW_US) {
        (void)start_worker(keepalive); /* else those that there are have to do */
        keepalive->short_since_us = now_us;
    }
    return keepalive->short_since_us + GROW_US;
}

static void *run_timekeeper(void *context) {
    struct lk_keepalive *keepalive = context;

    pthread_mutex_lock(&keepalive->mutex);
    while (!keepalive->is_closed) {
        int64_t now_us = lk_clock_now_us();
        struct lk_lease *lease = first_due(keepalive);
        int64_t until_us = lease != NULL ? lease->node.key : LK_NEVER;
        struct timespec end;

        if (until_us <= now_us) {
            keepalive->asleep_until_us = 0;
            attend(keepalive, lease);
            continue;
        }
        until_us = lk_min(until_us, provide_workers(keepalive, now_us));
        if (keepalive->troubled.ready.first != NULL && keepalive->next_retry_us > now_us) {
            until_us = lk_min(until_us, keepalive->next_retry_us);
        }
        keepalive->asleep_until_us = until_us;
        if (until_us == LK_NEVER) {
            pthread_cond_wait(&keepalive->due, &keepalive->mutex);
        } else {
            end = lk_condition_instant(lk_min(until_us - now_us, SLEEP_US_MAX));
            (void)pthread_cond_timedwait(&keepalive->due, &keepalive->mutex, &end);
        }
        keepalive->asleep_until_us = 0;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return NULL;
}

bool lk_keepalive_start(struct lk_keepalive *keepalive) {
    bool is_started;

    pthread_mutex_lock(&keepalive->mutex);
    if (!keepalive->is_started && !keepalive->is_closed) {
        keepalive->is_started = (keepalive->worker_count > 0 || start_worker(keepalive))
                                && start_thread(&keepalive->timekeeper, run_timekeeper, keepalive);
    }
    is_started = keepalive->is_started;
    pthread_mutex_unlock(&keepalive->mutex);
    return is_started;
}

/* ---- leases ---------------------------------------------------------------------------------- */

void lk_keepalive_add(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    pthread_mutex_lock(&keepalive->mutex);
    put_to_sleep(keepalive, lease);
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
    take_out(lease);
    pthread_mutex_unlock(&keepalive->mutex);
}

void lk_keepalive_watch(struct lk_keepalive *keepalive, struct lk_lease *lease,
                        void (*callback)(void *context, lk_lease *lease), void *context) {
    pthread_mutex_lock(&keepalive->mutex);
    wait_until_idle(keepalive, lease);
    lease->callback = callback;
    lease->context = context;
    lease->is_told = false;
    if (keepalive->is_closed && has_to_be_told(lease)
        && lk_safe_until_is_over(&lease->safe_until)) {
        tell(keepalive, lease); /* the thread that would do it is gone */
    } else if (!lease->is_busy) {
        take_out(lease);
        put_to_sleep(keepalive, lease);
    }
    pthread_mutex_unlock(&keepalive->mutex);
}
