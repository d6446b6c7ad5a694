/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call: takes a connection from the pool, performs one exchange, and retries where that is
 * safe.
 *
 * Within the time budget, a call is retried if it was refused because of concurrent transactions
 * (for instance a deadlock of the database's own locks) or if connecting failed. A call that was
 * sent and not answered may have taken effect. It is sent again only where that is safe (R3);
 * otherwise the outcome is UNAVAILABLE.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "engine/procedures/table.h"

enum { SWEEP_EVERY = 64, FIRST_SWEEP_MAX = 32 };
#define SWEEP_PATIENCE_US INT64_C(1000000)

#define BACK_OFF_MIN_US INT64_C(2000)
#define BACK_OFF_MAX_US INT64_C(500000)

/* ---- the pool -------------------------------------------------------------------------------- */

bool lk_procedures_init(struct lk_procedures *store, const struct lk_engine_ops *ops,
                        const struct lk_database *database) {
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        return false;
    }
    store->engine.ops = ops;
    store->database = database;
    store->process = getpid();
    /*
     * A process that ends a single lease would never reach SWEEP_EVERY. A random start makes one in
     * so many of such processes sweep, more often than is strictly needed.
     */
    store->calls = SWEEP_EVERY - 1 - lk_random_draw() % FIRST_SWEEP_MAX;
    return true;
}

void lk_procedures_done(struct lk_procedures *store) {
    for (size_t i = 0; i < store->idle_count; i++) {
        store->database->disconnect(store->idle[i]);
    }
    (void)pthread_mutex_destroy(&store->mutex);
}

bool lk_procedures_is_forked(const struct lk_procedures *store, lk_error *error) {
    if (store->process == getpid()) {
        return false;
    }
    (void)lk_error_set(error, LK_INTERNAL,
                       "this store was opened before fork(); a child must open it again");
    return true;
}

void lk_procedures_status(struct lk_engine *engine, struct lk_engine_status *status) {
    const struct lk_procedures *store = lk_procedures_of(engine);

    status->is_read_only = atomic_load(&store->is_read_only);
    status->interruptions = atomic_load(&store->interruptions);
}

uint64_t lk_procedures_version(struct lk_procedures *store) {
    return store->database->version != NULL ? store->database->version(store) : 0;
}

static void *take_idle(struct lk_procedures *store) {
    void *connection = NULL;

    pthread_mutex_lock(&store->mutex);
    if (store->idle_count > 0) {
        connection = store->idle[--store->idle_count];
    }
    pthread_mutex_unlock(&store->mutex);
    return connection;
}

static void give_back(struct lk_procedures *store, void *connection) {
    pthread_mutex_lock(&store->mutex);
    if (store->idle_count < LK_PROCEDURES_IDLE_MAX) {
        store->idle[store->idle_count++] = connection;
        connection = NULL;
    }
    pthread_mutex_unlock(&store->mutex);
    if (connection != NULL) {
        store->database->disconnect(connection);
    }
}

/* Checks an idle connection before its use, because the server may have closed it meanwhile. */
static lk_outcome take_connection(struct lk_procedures *store, const struct lk_patience *patience,
                                  void **ret_connection, lk_error *error) {
    lk_outcome outcome;
    void *connection;

    while ((connection = take_idle(store)) != NULL) {
        if (store->database->is_alive(connection)) {
            *ret_connection = connection;
            return LK_OK;
        }
        atomic_fetch_add(&store->interruptions, 1);
        store->database->disconnect(connection);
    }
    outcome = store->database->connect(store, patience, ret_connection, error);
    atomic_fetch_add(&store->interruptions, outcome == LK_UNAVAILABLE);
    return outcome;
}

/* ---- one try --------------------------------------------------------------------------------- */

/* What is sent: a call with the place for its rows, or a transaction. */
struct sending {
    const struct lk_procedure_call *call;
    struct lk_rows **ret_rows;
    struct lk_transaction *transaction;
    enum lk_repeat repeat;
};

static enum lk_fate send_once(struct lk_procedures *store, const struct sending *sending,
                              void *connection, const struct lk_patience *patience,
                              lk_outcome *ret_outcome, lk_error *error) {
    if (sending->transaction != NULL) {
        return store->database->transact(store, connection, sending->transaction, patience,
                                         ret_outcome, error);
    }
    return store->database->exchange(store, connection, sending->call, patience, sending->ret_rows,
                                     ret_outcome, error);
}

static enum lk_fate try_once(struct lk_procedures *store, const struct sending *sending,
                             const struct lk_patience *patience, lk_outcome *ret_outcome,
                             lk_error *error) {
    void *connection = NULL;
    enum lk_fate fate;
    bool is_known;

    *ret_outcome = take_connection(store, patience, &connection, error);
    if (*ret_outcome != LK_OK) {
        return *ret_outcome == LK_UNAVAILABLE ? LK_FATE_UNREACHED : LK_FATE_ANSWERED;
    }
    lk_patience_note_sent(patience);
    fate = send_once(store, sending, connection, patience, ret_outcome, error);
    is_known = fate == LK_FATE_ANSWERED || fate == LK_FATE_CONFLICTED;
    if (is_known && store->database->is_idle(connection)) {
        give_back(store, connection);
    } else {
        atomic_fetch_add(&store->interruptions, !is_known && fate != LK_FATE_CANCELLED);
        store->database->disconnect(connection);
    }
    return fate;
}

static bool is_tried_again(enum lk_fate fate, enum lk_repeat repeat) {
    return fate == LK_FATE_CONFLICTED || fate == LK_FATE_UNREACHED
           || (fate == LK_FATE_UNKNOWN && repeat != LK_ONCE);
}

/* ---- again ----------------------------------------------------------------------------------- */

bool lk_procedures_back_off(const struct lk_patience *patience, uint32_t *retries) {
    int64_t left_us = patience->until_us - lk_clock_now_us();
    int64_t pause_us = lk_backoff_delay(BACK_OFF_MIN_US, BACK_OFF_MAX_US, (*retries)++);

    return pause_us < left_us && !lk_waker_sleep(patience->waker, pause_us);
}

static lk_outcome perform(struct lk_procedures *store, const struct sending *sending,
                          const struct lk_patience *patience, lk_error *error) {
    uint32_t retries = 0;
    lk_outcome outcome = LK_OK;
    enum lk_fate fate;

    if (lk_procedures_is_forked(store, error)) {
        return LK_INTERNAL;
    }
    do {
        fate = try_once(store, sending, patience, &outcome, error);
        if (outcome == LK_UNAVAILABLE) {
            lk_patience_note_failure(patience, error);
        }
    } while (is_tried_again(fate, sending->repeat) && lk_procedures_back_off(patience, &retries));
    return outcome;
}

/* Ends the arguments. */
static lk_outcome perform_call(struct lk_procedures *store, const struct lk_procedure_call *call,
                               struct lk_arguments *arguments, const struct lk_patience *patience,
                               struct lk_rows **ret_rows, lk_error *error) {
    const struct sending sending = {.call = call, .ret_rows = ret_rows, .repeat = call->repeat};
    lk_outcome outcome;

    if (arguments->is_broken) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for a call");
    } else {
        outcome = perform(store, &sending, patience, error);
    }
    lk_arguments_done(arguments);
    return outcome;
}

lk_outcome lk_procedures_call(struct lk_procedures *store, const char *name, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error) {
    const struct lk_procedure_call call = {.name = name, .repeat = repeat, .arguments = arguments};

    return perform_call(store, &call, arguments, patience, ret_rows, error);
}

lk_outcome lk_procedures_call_series(struct lk_procedures *store, const char *name,
                                     enum lk_repeat repeat, struct lk_arguments *arguments,
                                     const struct lk_patience *patience, struct lk_rows **ret_rows,
                                     lk_error *error) {
    const struct lk_procedure_call call = {
        .name = name, .repeat = repeat, .is_series = true, .arguments = arguments};

    return perform_call(store, &call, arguments, patience, ret_rows, error);
}

lk_outcome lk_procedures_ask_sql(struct lk_procedures *store, const char *sql,
                                 const struct lk_patience *patience, struct lk_rows **ret_rows,
                                 lk_error *error) {
    const struct lk_procedure_call call = {.sql = sql, .repeat = LK_READING};
    const struct sending sending = {.call = &call, .ret_rows = ret_rows, .repeat = LK_READING};

    return perform(store, &sending, patience, error);
}

lk_outcome lk_procedures_transact(struct lk_procedures *store, struct lk_transaction *transaction,
                                  const struct lk_patience *patience, lk_error *error) {
    const struct sending sending = {.transaction = transaction, .repeat = transaction->repeat};
    lk_outcome outcome;

    if (transaction->arguments.is_broken) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for a call");
    } else {
        outcome = perform(store, &sending, patience, error);
    }
    lk_arguments_done(&transaction->arguments);
    return outcome;
}

/* ---- sweeping -------------------------------------------------------------------------------- */

void lk_procedures_sweep_sometimes(struct lk_procedures *store) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + SWEEP_PATIENCE_US};
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_error error;
    bool is_due;

    pthread_mutex_lock(&store->mutex);
    is_due = ++store->calls % SWEEP_EVERY == 0;
    pthread_mutex_unlock(&store->mutex);
    if (is_due) {
        lk_arguments_init(&arguments, store->database->lists);
        (void)lk_procedures_call(store, "lk_sweep", LK_ONCE, &arguments, &patience, &rows, &error);
        lk_rows_free(rows);
    }
}
