/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store by its URL, within a time, and closing it. */
#include "client/store.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "base/thread.h"
#include "client/cancel.h"
#include "client/default_store.h"
#include "client/keepalive.h"
#include "client/url.h"

/* ---- opening an engine ----------------------------------------------------------------------- */

/*
 * The thread and its caller share a struct opening. It is freed by the caller, which joins the
 * thread; or by the thread, if the caller has abandoned it.
 */

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

/* ---- abandoned threads ----------------------------------------------------------------------- */

/*
 * exit() takes down what a thread may be in the middle of using: the state of OpenSSL, of Kerberos,
 * of a client library. An abandoned thread is told to end, and mostly needs some milliseconds more.
 * So exit() waits for it, but not long: the thread may wait for a name server.
 */
#define EXIT_US INT64_C(1000000)
#define EXIT_LOOK_US INT64_C(1000)

static atomic_uint abandoned;   /* threads */
static atomic_int abandoned_by; /* the process: a child of fork() has none of its threads */
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

bool lk_opening_is_abandoned(void) {
    return atomic_load(&abandoned) > 0 && atomic_load(&abandoned_by) == getpid();
}

static void await_abandoned(void) {
    int64_t end_us = lk_clock_now_us() + EXIT_US;

    while (lk_opening_is_abandoned() && lk_clock_now_us() < end_us) {
        const struct timespec pause = {.tv_nsec = EXIT_LOOK_US * 1000};
        (void)nanosleep(&pause, NULL);
    }
}

static void await_at_exit(void) {
    (void)atexit(await_abandoned);
}

/* By the caller, while the thread cannot end. */
static void count_abandoned(void) {
    if (atomic_exchange(&abandoned_by, getpid()) != getpid()) {
        atomic_store(&abandoned, 0);
    }
    atomic_fetch_add(&abandoned, 1);
    (void)pthread_once(&exit_once, await_at_exit);
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
        atomic_fetch_sub(&abandoned, 1);
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
        count_abandoned();
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

/* ---- stores ---------------------------------------------------------------------------------- */

/* For contact, beyond what a caller waits: a packet that is lost is sent again after a second. */
enum { CONTACT_MS = 1500 };

const char *lk_version(void) {
    return LK_VERSION;
}

static bool has_scheme(const struct lk_engine_ops *ops, struct lk_slice scheme) {
    return lk_slice_equal(lk_slice_of(ops->scheme), scheme)
           || (ops->alias != NULL && lk_slice_equal(lk_slice_of(ops->alias), scheme));
}

lk_outcome lk_store_engine_of(const char *url, const struct lk_engine_ops **ret_ops,
                              struct lk_slice *ret_rest, lk_error *error) {
    char bytes[LK_ERROR_TEXT_MAX];
    struct lk_text known = lk_text_in(bytes, sizeof bytes);
    struct lk_url split;
    lk_outcome outcome = lk_url_split(url, &split, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        const struct lk_engine_ops *ops = lk_engines[i];
        if (has_scheme(ops, split.scheme)) {
            *ret_ops = ops;
            *ret_rest = split.rest;
            return LK_OK;
        }
        lk_text_format(&known, "%s%s:", i == 0 ? "" : ", ", ops->scheme);
        if (ops->alias != NULL) {
            lk_text_format(&known, ", %s:", ops->alias);
        }
    }
    return lk_error_set(error, LK_UNSUPPORTED, "this build has no engine for %.*s: (it has %s)%s",
                        (int)(split.scheme.size < 32 ? split.scheme.size : 32), split.scheme.bytes,
                        bytes, lk_url_hint_of_scheme(&split).text);
}

lk_outcome lk_store_check_url(const char *url, lk_error *error) {
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    lk_outcome outcome = lk_store_engine_of(url, &ops, &rest, error);

    return outcome == LK_OK && ops->check_url != NULL ? ops->check_url(rest, error) : outcome;
}

/* On failure the store is partly filled, for store_free(). */
static lk_outcome fill_store(const char *url, struct lk_opening_order *order, lk_store *store,
                             lk_error *error) {
    lk_outcome outcome = lk_store_engine_of(url, &order->ops, &order->rest, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    store->opened_by = getpid();
    store->url = lk_url_without_password(url);
    if (store->url == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    order->name = store->url;
    outcome = lk_opening_carry_out(order, &store->engine, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    store->keepalive = lk_keepalive_new(store->engine, &store->contact);
    store->has_leftovers = lk_leftovers_init(&store->leftovers, store->engine, store->url);
    return store->keepalive != NULL && store->has_leftovers
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "no memory for a store");
}

static void store_free(lk_store *store) {
    if (store->has_leftovers) {
        lk_leftovers_close(&store->leftovers);
    }
    if (store->keepalive != NULL) {
        lk_keepalive_close(store->keepalive);
    }
    if (store->engine != NULL) {
        store->engine->ops->close(store->engine);
    }
    lk_contact_done(&store->contact);
    free(store->url);
    free(store);
}

static lk_outcome open_store(const char *url, struct lk_opening_order *order, lk_store **ret_store,
                             lk_error *error) {
    lk_store *store = calloc(1, sizeof *store);
    struct lk_default_store standard = {.url = NULL};
    lk_outcome outcome = LK_OK;

    lk_error_clear(error, LK_OK);
    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    lk_contact_init(&store->contact);
    if (url == NULL) {
        outcome = lk_default_store_find(&standard, error);
        url = standard.url;
        if (outcome == LK_OK) {
            outcome = lk_default_store_prepare(&standard, error);
        }
    }
    if (outcome == LK_OK) {
        outcome = fill_store(url, order, store, error);
    }
    lk_default_store_done(&standard);
    if (outcome != LK_OK) {
        store_free(store);
        return outcome;
    }
    *ret_store = store;
    return LK_OK;
}

lk_outcome lk_open(const char *url, lk_store **ret_store, lk_error *error) {
    return lk_store_open_within(url, LK_FOREVER, NULL, ret_store, error);
}

int64_t lk_store_contact_ms(int64_t wait_ms) {
    return lk_min(lk_min(wait_ms, LK_PATIENCE_DEFAULT_MS) + CONTACT_MS, LK_PATIENCE_DEFAULT_MS);
}

lk_outcome lk_store_open_within(const char *url, int64_t wait_ms, lk_cancel *cancel,
                                lk_store **ret_store, lk_error *error) {
    struct lk_opening_order order = {.contact_ms = lk_store_contact_ms(wait_ms), .cancel = cancel};

    return open_store(url, &order, ret_store, error);
}

lk_outcome lk_store_open_existing(const char *url, lk_cancel *cancel, lk_store **ret_store,
                                  lk_error *error) {
    struct lk_opening_order order = {
        .must_exist = true, .contact_ms = LK_PATIENCE_DEFAULT_MS, .cancel = cancel};

    return open_store(url, &order, ret_store, error);
}

void lk_close(lk_store *store) {
    /* A child of fork() leaves everything as it is: the files and threads are its parent's. */
    if (store != NULL && lk_store_check(store, NULL) == LK_OK) {
        store_free(store);
    }
}

const char *lk_store_url(const lk_store *store) {
    return store->url;
}

lk_outcome lk_store_check(const struct lk_store *store, lk_error *error) {
    if (store->opened_by != getpid()) {
        return lk_error_set(error, LK_INTERNAL,
                            "the store was opened before fork(): a child opens its own");
    }
    return LK_OK;
}

/* What the engine lacks, after "cannot". */
static const char *name_of(enum lk_capability capability) {
    switch (capability) {
    case LK_CAN_QUEUE:
        return "keep waiting requests";
    case LK_CAN_ROOTS:
        return "decide on several roots together";
    case LK_CAN_DEADLOCK:
        return "find deadlocks";
    case LK_CAN_BREAK:
        return "break requests";
    case LK_CAN_EXCLUSIVE:
        return "lock without a limit";
    case LK_CAN_VALUES:
        return "keep values";
    case LK_CAN_LIST_VALUES:
        return "list values";
    case LK_CAN_WORK:
        return "keep work";
    case LK_CAN_BATCHES:
        return "order items by priority, keep their failures, drop them or decide on several of "
               "them together";
    case LK_CAN_TABLE:
        return "take work from a table: it has no tables of yours. Name the store in whose "
               "database the table is (sqlite:FILE?share=yes, postgresql:, mysql:)";
    case LK_CAN_EVENTS:
        return "tell what happens in it: events are kept by sqlite:, postgresql:, mysql: and "
               "services (lk://)";
    case LK_CAN_LIMITS:
        return "keep bounds of its own, as sqlite:, postgresql:, mysql: and services (lk://) do";
    case LK_CAN_RETRY:
        return "be waited for";
    case LK_CAN_BIND:
        return "bind a request to a connection: a service can (lk:)";
    case LK_BINDS_TO_PROCESS:
    case LK_TAKES_IN_AWAIT:
    case LK_CAN_PERSIST:
        break;
    }
    return "outlive its processes";
}

unsigned lk_store_capabilities(const struct lk_store *store) {
    return lk_engine_status(store->engine).capabilities;
}

lk_outcome lk_store_check_can(const struct lk_store *store, enum lk_capability needed,
                              lk_error *error) {
    lk_outcome outcome = lk_store_check(store, error);

    if (outcome == LK_OK && (lk_store_capabilities(store) & needed) == 0) {
        outcome = lk_error_set(error, LK_UNSUPPORTED, "a store of %s: cannot %s",
                               store->engine->ops->scheme, name_of(needed));
    }
    return outcome;
}
