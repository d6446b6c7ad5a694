/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that keep leases alive.
 *
 * The timekeeper sleeps until a renewal, a deadline or a callback is due. A lease that is added and
 * removed before that does not wake it. It never calls the store: it moves leases that are due for
 * renewal to the ready heap, from which the workers take the one with the soonest deadline first. A
 * worker calls the store for one lease at a time. The timekeeper starts another worker when leases
 * have been ready for GROW_US with no worker free. So a call that hangs delays no other lease, and
 * a store with a long round trip gets as many concurrent calls as its leases need.
 *
 * A lease whose last attempt failed is retried after a short random pause. Retries get half of the
 * workers at most, and start RETRY_SPACING_US apart: leases on a node that does not answer cannot
 * occupy all workers, and a store that recovers is not flooded. The first retry that succeeds makes
 * all others due at once.
 *
 * A lease that is bound to a connection (R18) is lost with it; the tie watch's thread sees that.
 *
 * A lease that is revoked (R12) is due for renewal at once, where the store tells so: a thread of
 * its own waits for that. It begins when a lease whose renewals are far apart has been held for
 * WATCH_AFTER_US, so that leases that are held for a moment cost no more than without it.
 *
 * The mutex is never held while the store is called or a callback runs; `is_busy` keeps the lease
 * from being freed meanwhile. No attempt outlasts the lease's own deadline: after it, an answer is
 * of no use.
 */
#include "client/keepalive.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/thread.h"
#include "client/batch.h"
#include "client/renewal.h"
#include "client/revocation_watch.h"
#include "client/tie_watch.h"
#include "engine/reply/reply.h"

#define SLEEP_US_MAX INT64_C(1000000) /* suspended time is noticed within this */
#define RETRY_US_MIN INT64_C(20000)
#define RETRY_US_MAX INT64_C(200000)
#define RETRY_SPACING_US INT64_C(5000)
#define GROW_US INT64_C(20000)
#define WATCH_AFTER_US INT64_C(500000)
#define WATCHED_TTL_MIN_MS INT64_C(3000) /* others are renewed each second anyway */

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
    pthread_mutex_t mutex;  /* guards everything but the next three */
    pthread_cond_t watched; /* there are leases to be watched for revocation */
    pthread_cond_t changed; /* a lease is idle again, a call has ended */
    pthread_cond_t due;     /* something may be due sooner than the timekeeper knows */
    pthread_cond_t work;    /* a lease is ready */
    struct lk_engine *engine;
    struct lk_contact *contact;
    pid_t made_by;
    struct lk_random random;
    pthread_t timekeeper;
    bool is_started;
    bool is_closed;
    struct lk_tie_watch ties;
    struct lk_revocation_watch revocations;
    struct lk_lease *watched_first; /* leases that may be revoked long before their renewal */
    int64_t watched_since_us;       /* since when there are some */
    bool is_watching;               /* the thread waits for news of them, or is to begin to */
    size_t use_count;               /* the store and each lease */
    size_t call_count;              /* leases' own calls to the engine under way */
    struct queue fresh;
    struct queue retrying;      /* the last attempt failed */
    int64_t asleep_until_us;    /* nothing is due before; 0: the timekeeper is awake */
    int64_t next_retry_us;      /* no retry begins before */
    size_t retry_count;         /* retries under way */
    int64_t saturated_since_us; /* since when leases are ready and no worker free; 0: not now */
    size_t idle_count;          /* workers that wait for a lease */
    size_t worker_count;
    struct worker workers[WORKERS_MAX];
};

/* ---- making and ending ----------------------------------------------------------------------- */

static void done_conditions(struct lk_keepalive *keepalive) {
    (void)pthread_cond_destroy(&keepalive->work);
    (void)pthread_cond_destroy(&keepalive->due);
    (void)pthread_cond_destroy(&keepalive->changed);
    (void)pthread_cond_destroy(&keepalive->watched);
    (void)pthread_mutex_destroy(&keepalive->mutex);
}

static bool init_conditions(struct lk_keepalive *keepalive) {
    pthread_cond_t *const conditions[] = {&keepalive->changed, &keepalive->due, &keepalive->work,
                                          &keepalive->watched};
    const size_t all = sizeof conditions / sizeof conditions[0];
    size_t count = 0;

    if (pthread_mutex_init(&keepalive->mutex, NULL) != 0) {
        return false;
    }
    while (count < all && lk_condition_init(conditions[count])) {
        count++;
    }
    if (count == all) {
        return true;
    }
    while (count-- > 0) {
        (void)pthread_cond_destroy(conditions[count]);
    }
    (void)pthread_mutex_destroy(&keepalive->mutex);
    return false;
}

struct lk_keepalive *lk_keepalive_new(struct lk_engine *engine, struct lk_contact *contact) {
    struct lk_keepalive *keepalive = calloc(1, sizeof *keepalive);

    if (keepalive == NULL) {
        return NULL;
    }
    if (!init_conditions(keepalive)) {
        free(keepalive);
        return NULL;
    }
    keepalive->engine = engine;
    keepalive->contact = contact;
    keepalive->made_by = getpid();
    keepalive->random.state = lk_random_draw();
    keepalive->use_count = 1;
    return keepalive;
}

bool lk_keepalive_is_mine(const struct lk_keepalive *keepalive) {
    return keepalive->made_by == getpid();
}

void lk_keepalive_ref(struct lk_keepalive *keepalive) {
    pthread_mutex_lock(&keepalive->mutex);
    assert(keepalive->use_count > 0);
    keepalive->use_count++;
    pthread_mutex_unlock(&keepalive->mutex);
}

void lk_keepalive_unref(struct lk_keepalive *keepalive) {
    bool is_last;

    pthread_mutex_lock(&keepalive->mutex);
    assert(keepalive->use_count > 0);
    keepalive->use_count--;
    is_last = keepalive->use_count == 0;
    pthread_mutex_unlock(&keepalive->mutex);
    if (is_last) {
        done_conditions(keepalive);
        free(keepalive);
    }
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
    assert(keepalive->call_count > 0);
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

static void unschedule(struct lk_lease *lease) {
    if (lease->heap != NULL) {
        lk_heap_remove(lease->heap, &lease->node);
        lease->heap = NULL;
    }
}

static struct queue *queue_of(struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    return lease->is_retrying ? &keepalive->retrying : &keepalive->fresh;
}

static bool callback_is_owed(const struct lk_lease *lease) {
    return lease->callback != NULL && !lease->callback_has_run;
}

/* When a renewal, the deadline or the callback is due; 0: now. */
static int64_t due_us(const struct lk_lease *lease) {
    int64_t deadline_us = lk_safe_until_until_us(&lease->safe_until);

    if (deadline_us == LK_SAFE_UNTIL_OVER) {
        return callback_is_owed(lease) ? 0 : LK_NEVER;
    }
    return lease->is_fixed ? deadline_us : lk_min(deadline_us, lease->renew_at_us);
}

/* Wakes the timekeeper if it would sleep past that instant. */
static void wake_by(struct lk_keepalive *keepalive, int64_t instant_us) {
    if (instant_us < keepalive->asleep_until_us) {
        pthread_cond_signal(&keepalive->due);
    }
}

/* A lease is in one heap at most, and in none while it is busy. */
static void add_to_heap(struct lk_lease *lease, struct lk_heap *heap, int64_t key) {
    assert(lease->heap == NULL && !lease->is_busy);
    lk_heap_add(heap, &lease->node, key);
    lease->heap = heap;
}

static void schedule(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    int64_t lease_due_us = due_us(lease);

    add_to_heap(lease, &queue_of(keepalive, lease)->asleep, lease_due_us);
    wake_by(keepalive, lease_due_us);
}

static int64_t first_key(const struct lk_heap *heap) {
    return heap->first != NULL ? heap->first->key : LK_NEVER;
}

/* The lease that a worker renews next; NULL: none is ready, or only retries that must wait. */
static struct lk_lease *first_ready(const struct lk_keepalive *keepalive, int64_t now_us) {
    bool may_retry = keepalive->retry_count < RETRIES_MAX && now_us >= keepalive->next_retry_us;
    const struct lk_heap *fresh = &keepalive->fresh.ready;
    const struct lk_heap *retrying = &keepalive->retrying.ready;

    return lease_of(may_retry && first_key(retrying) < first_key(fresh) ? retrying->first
                                                                        : fresh->first);
}

/* ---- renewals: the workers ------------------------------------------------------------------- */

static void mark_busy(struct lk_lease *lease) {
    assert(!lease->is_busy);
    unschedule(lease);
    lease->is_busy = true;
    lease->busy_in = pthread_self();
}

static void mark_idle(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    assert(lease->is_busy && lease->heap == NULL);
    lease->is_busy = false;
    schedule(keepalive, lease);
    pthread_cond_broadcast(&keepalive->changed);
}

/* The store answers again: makes all retries due at once. */
static void retry_all_now(struct lk_keepalive *keepalive) {
    struct lk_heap *const heaps[] = {&keepalive->retrying.asleep, &keepalive->retrying.ready};

    for (size_t i = 0; i < 2; i++) {
        struct lk_lease *lease;

        while ((lease = lease_of(heaps[i]->first)) != NULL) {
            unschedule(lease);
            lease->is_retrying = false;
            lease->renew_at_us = 0;
            schedule(keepalive, lease);
        }
    }
}

/* Applies the outcome of a renewal that was sent at `sent_us`. */
static void apply_renewal(struct lk_keepalive *keepalive, struct lk_lease *lease, int64_t sent_us,
                          const struct lk_decision *decision) {
    int64_t ttl_us = lease->ttl_ms * 1000;
    int64_t retry_us;

    assert(lease->is_busy && lease->heap == NULL);
    assert(!lease->is_fixed);
    switch (decision->error.outcome) {
    case LK_OK:
        lease->renew_at_us = lease->is_revoked ? 0 : sent_us + ttl_us / 3;
        /* A late answer revives nothing: the caller may have seen the deadline pass already. */
        (void)lk_safe_until_extend(
            &lease->safe_until, lk_renewal_end_us(lease, sent_us, decision->result.expires_in_ms));
        if (lease->is_retrying) {
            lease->is_retrying = false;
            retry_all_now(keepalive);
        }
        break;
    case LK_LOST:
        lk_safe_until_break(&lease->safe_until);
        break;
    default:
        retry_us = lk_max(RETRY_US_MIN, lk_min(RETRY_US_MAX, ttl_us / 15));
        lease->is_retrying = true;
        lease->renew_at_us =
            lk_clock_now_us() + lk_random_between(&keepalive->random, RETRY_US_MIN, retry_us);
        break;
    }
}

/* Called and left with the mutex held; releases it meanwhile. */
static void renew(struct lk_keepalive *keepalive, struct lk_lease *lease, struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = lk_renewal_until_us(lease), .waker = waker};
    const struct lk_command command = {
        .kind = LK_COMMAND_RENEW,
        .renew = {.target = lease->target, .ttl_ms = lease->tie == NULL ? lease->ttl_ms : 0}};
    bool is_retry = lease->is_retrying;
    struct lk_decision decision;
    int64_t sent_us;

    mark_busy(lease);
    lease->is_revoked = false; /* one that is revoked from here on is due again */
    if (is_retry) {
        assert(keepalive->retry_count < RETRIES_MAX);
        keepalive->retry_count++;
        keepalive->next_retry_us = lk_clock_now_us() + RETRY_SPACING_US;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    sent_us = lk_clock_now_us();
    lk_contact_begin(keepalive->contact, sent_us);
    if (lease->tie != NULL) {
        (void)lease->tie_ops->decide(lease->tie, keepalive->engine, &command, &patience, &decision);
    } else {
        (void)lk_batch_decide(keepalive->engine, &command, &patience, &decision);
    }
    lk_contact_end(keepalive->contact, sent_us, &decision.error);
    pthread_mutex_lock(&keepalive->mutex);
    assert(!is_retry || keepalive->retry_count > 0);
    keepalive->retry_count -= is_retry ? 1 : 0;
    apply_renewal(keepalive, lease, sent_us, &decision);
    lk_decision_done(&decision);
    mark_idle(keepalive, lease);
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
        assert(keepalive->idle_count <= keepalive->worker_count);
        if (keepalive->retrying.ready.first != NULL) {
            pthread_cond_signal(&keepalive->due); /* it knows when the next retry may begin */
        }
        pthread_cond_wait(&keepalive->work, &keepalive->mutex);
        assert(keepalive->idle_count > 0);
        keepalive->idle_count--;
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return NULL;
}

/* Called with the mutex held. */
static bool start_worker(struct lk_keepalive *keepalive) {
    struct worker *worker = &keepalive->workers[keepalive->worker_count];

    if (keepalive->worker_count == WORKERS_MAX || !lk_waker_init(&worker->waker)) {
        return false;
    }
    worker->keepalive = keepalive;
    if (!lk_thread_start(&worker->thread, run_worker, worker)) {
        lk_waker_done(&worker->waker);
        return false;
    }
    keepalive->worker_count++;
    return true;
}

/* ---- time and callbacks: the timekeeper ------------------------------------------------------ */

/* Called and left with the mutex held; releases it meanwhile. */
static void run_callback(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    void (*callback)(void *context, lk_lease *lease) = lease->callback;
    void *context = lease->context;

    lease->callback_has_run = true;
    mark_busy(lease);
    pthread_mutex_unlock(&keepalive->mutex);
    callback(context, lease);
    pthread_mutex_lock(&keepalive->mutex);
    mark_idle(keepalive, lease);
}

/* Handles a lease that is due: runs its callback, or makes it ready for renewal. */
static void handle_due(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    bool is_over = lk_safe_until_is_over(&lease->safe_until);

    assert(lease->heap != NULL && !lease->is_busy);
    if (is_over && callback_is_owed(lease)) {
        run_callback(keepalive, lease);
        return;
    }
    unschedule(lease);
    if (is_over || lease->is_fixed) {
        schedule(keepalive, lease);
    } else {
        add_to_heap(lease, &queue_of(keepalive, lease)->ready,
                    lk_safe_until_until_us(&lease->safe_until));
        pthread_cond_signal(&keepalive->work);
    }
}

/* The lease that is due first, asleep or ready; NULL: there is none. */
static struct lk_lease *first_due(struct lk_keepalive *keepalive) {
    struct lk_heap *const heaps[] = {&keepalive->fresh.asleep, &keepalive->fresh.ready,
                                     &keepalive->retrying.asleep, &keepalive->retrying.ready};
    struct lk_heap *first = heaps[0];

    for (size_t i = 1; i < sizeof heaps / sizeof heaps[0]; i++) {
        first = first_key(heaps[i]) < first_key(first) ? heaps[i] : first;
    }
    return lease_of(first->first);
}

/* Wakes or starts a worker where one is needed. Returns when to check again. */
static int64_t grow_workers(struct lk_keepalive *keepalive, int64_t now_us) {
    bool has_work = first_ready(keepalive, now_us) != NULL;

    if (has_work && keepalive->idle_count > 0) {
        pthread_cond_signal(&keepalive->work);
    }
    if (!has_work || keepalive->idle_count > 0 || keepalive->worker_count == WORKERS_MAX) {
        keepalive->saturated_since_us = 0;
        return LK_NEVER;
    }
    if (keepalive->saturated_since_us == 0) {
        keepalive->saturated_since_us = now_us;
    } else if (now_us - keepalive->saturated_since_us >= GROW_US) {
        (void)start_worker(keepalive); /* on failure the others go on */
        keepalive->saturated_since_us = now_us;
    }
    return keepalive->saturated_since_us + GROW_US;
}

/* ---- leases that are revoked ----------------------------------------------------------------- */

static bool is_to_be_watched(const struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    return keepalive->engine->ops->revoked != NULL && !lease->is_fixed
           && lease->ttl_ms > WATCHED_TTL_MIN_MS;
}

static void list_watched(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    struct lk_lease *next = keepalive->watched_first;

    if (lease->is_watched || !is_to_be_watched(keepalive, lease)) {
        return;
    }
    if (next != NULL) {
        next->watched_link = &lease->next_watched;
    } else {
        keepalive->watched_since_us = lk_clock_now_us();
    }
    lease->next_watched = next;
    lease->watched_link = &keepalive->watched_first;
    lease->is_watched = true;
    keepalive->watched_first = lease;
}

static void unlist_watched(struct lk_lease *lease) {
    if (lease->is_watched) {
        *lease->watched_link = lease->next_watched;
        if (lease->next_watched != NULL) {
            lease->next_watched->watched_link = lease->watched_link;
        }
        lease->is_watched = false;
    }
}

static bool is_among(const struct lk_lease *lease, const struct lk_revoked *revoked) {
    for (size_t i = 0; i < revoked->count; i++) {
        bool is_it = revoked->tokens[i] == lease->target.token;

        for (size_t part = 0; lease->target.tokens != NULL && part < lease->target.part_count;
             part++) {
            is_it = is_it || revoked->tokens[i] == lease->target.tokens[part];
        }
        if (is_it) {
            return true;
        }
    }
    return false;
}

/* Makes a lease due for renewal: the store's answer to that decides, as to any renewal. */
static void renew_now(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    lease->is_revoked = true;
    lease->renew_at_us = 0;
    if (!lease->is_busy) {
        unschedule(lease);
        schedule(keepalive, lease);
    }
}

static void note_revoked(void *context, const struct lk_revoked *revoked) {
    struct lk_keepalive *keepalive = context;

    pthread_mutex_lock(&keepalive->mutex);
    for (struct lk_lease *lease = keepalive->watched_first; lease != NULL;
         lease = lease->next_watched) {
        if (is_among(lease, revoked)) {
            renew_now(keepalive, lease);
        }
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* Blocks while there is no lease to be watched. Returns false when the keep-alive is closed. */
static bool await_watched(void *context) {
    struct lk_keepalive *keepalive = context;
    bool is_closed;

    pthread_mutex_lock(&keepalive->mutex);
    if (keepalive->watched_first == NULL) {
        keepalive->is_watching = false;
    }
    while (!keepalive->is_watching && !keepalive->is_closed) {
        pthread_cond_wait(&keepalive->watched, &keepalive->mutex);
    }
    is_closed = keepalive->is_closed;
    pthread_mutex_unlock(&keepalive->mutex);
    return !is_closed;
}

/* Begins to watch if leases have been held for a while. On failure renewals are the only news. */
static void watch_for_revocations(struct lk_keepalive *keepalive, int64_t now_us) {
    if (keepalive->watched_first == NULL || keepalive->is_watching
        || now_us - keepalive->watched_since_us < WATCH_AFTER_US) {
        return;
    }
    keepalive->is_watching = true;
    if (keepalive->revocations.is_started) {
        pthread_cond_signal(&keepalive->watched);
    } else {
        const struct lk_revocation_watch_calls calls = {
            .await_leases = await_watched, .on_revoked = note_revoked, .context = keepalive};

        (void)lk_revocation_watch_start(&keepalive->revocations, keepalive->engine, &calls);
    }
}

/* ---- the timekeeper's thread ----------------------------------------------------------------- */

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
            handle_due(keepalive, lease);
            continue;
        }
        watch_for_revocations(keepalive, now_us);
        until_us = lk_min(until_us, grow_workers(keepalive, now_us));
        if (keepalive->retrying.ready.first != NULL && keepalive->next_retry_us > now_us) {
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

/* ---- connections that leases end with -------------------------------------------------------- */

static int descriptor_of(const void *item) {
    const struct lk_lease *lease = item;

    return lease->tie_ops->descriptor(lease->tie);
}

static void lose_cut(void *context) {
    struct lk_keepalive *keepalive = context;
    struct lk_lease *lease;

    pthread_mutex_lock(&keepalive->mutex);
    while ((lease = lk_tie_watch_take(&keepalive->ties, descriptor_of)) != NULL) {
        lk_safe_until_break(&lease->safe_until);
        if (!lease->is_busy) {
            unschedule(lease);
            schedule(keepalive, lease);
        }
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

bool lk_keepalive_start(struct lk_keepalive *keepalive, bool has_ties) {
    bool is_started;

    pthread_mutex_lock(&keepalive->mutex);
    if (!keepalive->is_started && !keepalive->is_closed) {
        keepalive->is_started =
            (keepalive->worker_count > 0 || start_worker(keepalive))
            && lk_thread_start(&keepalive->timekeeper, run_timekeeper, keepalive);
    }
    is_started = keepalive->is_started;
    if (is_started && has_ties && !keepalive->ties.is_started && !keepalive->is_closed) {
        is_started = lk_tie_watch_start(&keepalive->ties, lose_cut, keepalive);
    }
    pthread_mutex_unlock(&keepalive->mutex);
    return is_started;
}

/* ---- leases ---------------------------------------------------------------------------------- */

void lk_keepalive_add(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    pthread_mutex_lock(&keepalive->mutex);
    schedule(keepalive, lease);
    list_watched(keepalive, lease);
    if (lease->tie != NULL) {
        lk_tie_watch_add(&keepalive->ties, descriptor_of(lease), lease);
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* Waits until the lease is idle; returns at once inside its own callback. */
static void wait_until_idle(struct lk_keepalive *keepalive, const struct lk_lease *lease) {
    while (lease->is_busy && !pthread_equal(pthread_self(), lease->busy_in)) {
        pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
    }
}

void lk_keepalive_remove(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    pthread_mutex_lock(&keepalive->mutex);
    wait_until_idle(keepalive, lease);
    unschedule(lease);
    assert(lease->heap == NULL);
    unlist_watched(lease);
    if (lease->tie != NULL) {
        lk_tie_watch_remove(&keepalive->ties, descriptor_of(lease));
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* The timekeeper has ended: this thread runs the callback, and any that the callback sets. */
static void run_owed_when_closed(struct lk_keepalive *keepalive, struct lk_lease *lease) {
    while (keepalive->is_closed && callback_is_owed(lease)
           && lk_safe_until_is_over(&lease->safe_until)) {
        run_callback(keepalive, lease);
    }
}

void lk_keepalive_watch(struct lk_keepalive *keepalive, struct lk_lease *lease,
                        void (*callback)(void *context, lk_lease *lease), void *context) {
    pthread_mutex_lock(&keepalive->mutex);
    wait_until_idle(keepalive, lease);
    lease->callback = callback;
    lease->context = context;
    lease->callback_has_run = false;
    if (!lease->is_busy) { /* else its own callback has called: the thread that runs it goes on */
        unschedule(lease);
        schedule(keepalive, lease);
        run_owed_when_closed(keepalive, lease);
    }
    pthread_mutex_unlock(&keepalive->mutex);
}

/* ---- closing --------------------------------------------------------------------------------- */

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

/* R18: leases that are bound end with the store. Nothing renews the others any more. */
static void end_bound(struct lk_keepalive *keepalive) {
    struct lk_lease *lease;

    while ((lease = first_due(keepalive)) != NULL) {
        unschedule(lease);
        if (lease->tie != NULL) {
            lk_safe_until_break(&lease->safe_until);
            lease->tie_ops->cut(lease->tie);
        }
    }
}

void lk_keepalive_close(struct lk_keepalive *keepalive) {
    bool is_started;

    pthread_mutex_lock(&keepalive->mutex);
    keepalive->is_closed = true;
    pthread_cond_broadcast(&keepalive->due);
    pthread_cond_broadcast(&keepalive->work);
    pthread_cond_broadcast(&keepalive->watched);
    while (keepalive->call_count > 0) {
        pthread_cond_wait(&keepalive->changed, &keepalive->mutex);
    }
    is_started = keepalive->is_started;
    pthread_mutex_unlock(&keepalive->mutex);
    end_threads(keepalive, is_started);
    lk_revocation_watch_stop(&keepalive->revocations);
    lk_tie_watch_stop(&keepalive->ties);
    pthread_mutex_lock(&keepalive->mutex);
    end_bound(keepalive);
    pthread_mutex_unlock(&keepalive->mutex);
    lk_keepalive_unref(keepalive);
}
