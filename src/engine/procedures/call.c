/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call: a connection from the pool, one exchange; and what is tried again.
 *
 * Tried again, within the patience: what was refused because of others (a deadlock of the
 * database's own locks, for instance), and connecting. What was sent and not answered may have
 * taken effect; it is sent again only where that is safe (R3), else the answer is UNAVAILABLE.
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
    /* Of those who end but one thing each, one in so many sweeps: oftener than would just do. */
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
                       "this store was opened before fork(); a child must open it anew");
    return true;
}

bool lk_procedures_is_read_only(struct lk_engine *engine) {
    return atomic_load(&lk_procedures_of(engine)->is_read_only);
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

/* An idle connection whose end the server has closed meanwhile says so when it is looked at. */
static lk_outcome take_connection(struct lk_procedures *store, const struct lk_patience *patience,
                                  void **ret_connection, lk_error *error) {
    void *connection;

    while ((connection = take_idle(store)) != NULL) {
        if (store->database->is_alive(connection)) {
            *ret_connection = connection;
            return LK_OK;
        }
        store->database->disconnect(connection);
    }
    return store->database->connect(store, patience, ret_connection, error);
}

/* ---- one try --------------------------------------------------------------------------------- */

/* What is sent: a call and where its rows go, or a transaction. */
struct sending {
    const struct lk_call *call;
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

    *ret_outcome = take_connection(store, patience, &connection, error);
    if (*ret_outcome != LK_OK) {
        return *ret_outcome == LK_UNAVAILABLE ? LK_FATE_UNREACHED : LK_FATE_ANSWERED;
    }
    fate = send_once(store, sending, connection, patience, ret_outcome, error);
    if (fate == LK_FATE_ANSWERED || fate == LK_FATE_CONFLICTED) {
        give_back(store, connection);
    } else {
        store->database->disconnect(connection);
    }
    return fate;
}

static bool is_tried_again(enum lk_fate fate, enum lk_repeat repeat) {
    return fate == LK_FATE_CONFLICTED || fate == LK_FATE_UNREACHED
           || (fate == LK_FATE_UNKNOWN && repeat != LK_ONCE);
}

/* ---- again ----------------------------------------------------------------------------------- */

bool lk_procedures_back_off(const struct lk_patience *patience, int64_t *delay_us) {
    struct lk_random random = {lk_random_draw()};
    int64_t left_us =
        patience->until_us == LK_NEVER ? LK_NEVER : patience->until_us - lk_clock_now_us();
    int64_t pause_us;
    struct lk_waker own;
    struct lk_waker *borrowed;
    bool is_thrown;

    *delay_us = *delay_us == 0 ? BACK_OFF_MIN_US : *delay_us * 2;
    *delay_us = *delay_us < BACK_OFF_MAX_US ? *delay_us : BACK_OFF_MAX_US;
    pause_us = lk_random_between(&random, *delay_us / 2, *delay_us);
    if (left_us <= pause_us) {
        return false;
    }
    borrowed = lk_waker_borrow(patience->waker, &own);
    if (borrowed == NULL) {
        return false;
    }
    is_thrown = lk_waker_sleep(borrowed, pause_us);
    lk_waker_give_back(borrowed, &own);
    return !is_thrown;
}

static lk_outcome perform(struct lk_procedures *store, const struct sending *sending,
                          const struct lk_patience *patience, lk_error *error) {
    int64_t delay_us = 0;
    lk_outcome outcome = LK_OK;
    enum lk_fate fate;

    if (lk_procedures_is_forked(store, error)) {
        return LK_INTERNAL;
    }
    do {
        fate = try_once(store, sending, patience, &outcome, error);
    } while (is_tried_again(fate, sending->repeat) && lk_procedures_back_off(patience, &delay_us));
    return outcome;
}

lk_outcome lk_procedures_call(struct lk_procedures *store, const char *name, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error) {
    const struct lk_call call = {.name = name, .repeat = repeat, .arguments = arguments};
    const struct sending sending = {.call = &call, .ret_rows = ret_rows, .repeat = repeat};
    lk_outcome outcome;

    if (arguments->is_broken) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for a call");
    } else {
        outcome = perform(store, &sending, patience, error);
    }
    lk_arguments_done(arguments);
    return outcome;
}

lk_outcome lk_procedures_ask_sql(struct lk_procedures *store, const char *sql,
                                 const struct lk_patience *patience, struct lk_rows **ret_rows,
                                 lk_error *error) {
    const struct lk_call call = {.sql = sql, .repeat = LK_READING};
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
