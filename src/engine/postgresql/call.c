/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call: a connection from the pool, one statement, its answer; and what is tried again.
 *
 * Tried again, within the patience: what was refused because of others (a serialization failure, a
 * deadlock of the database's own locks), and connecting. What was sent and not answered may have
 * taken effect; it is sent again only where that is safe (R3), else the answer is UNAVAILABLE.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "engine/postgresql/store.h"

#define BACK_OFF_MIN_US INT64_C(2000)
#define BACK_OFF_MAX_US INT64_C(500000)
enum { SQL_BYTES_MAX = 512 };

/* ---- the pool -------------------------------------------------------------------------------- */

bool lk_postgresql_is_forked(const struct lk_postgresql *store, lk_error *error) {
    if (store->process == getpid()) {
        return false;
    }
    (void)lk_error_set(error, LK_INTERNAL,
                       "this store was opened before fork(); a child must open it anew");
    return true;
}

static PGconn *take_idle(struct lk_postgresql *store) {
    PGconn *connection = NULL;

    pthread_mutex_lock(&store->mutex);
    if (store->idle_count > 0) {
        connection = store->idle[--store->idle_count];
    }
    pthread_mutex_unlock(&store->mutex);
    return connection;
}

void lk_postgresql_give_back(struct lk_postgresql *store, PGconn *connection) {
    pthread_mutex_lock(&store->mutex);
    if (store->idle_count < LK_POSTGRESQL_IDLE_MAX) {
        store->idle[store->idle_count++] = connection;
        connection = NULL;
    }
    pthread_mutex_unlock(&store->mutex);
    PQfinish(connection);
}

/* An idle connection whose end the server has closed meanwhile says so when it is looked at. */
lk_outcome lk_postgresql_take_connection(struct lk_postgresql *store,
                                         const struct lk_patience *patience,
                                         PGconn **ret_connection, lk_error *error) {
    PGconn *connection;

    while ((connection = take_idle(store)) != NULL) {
        if (PQconsumeInput(connection) != 0 && PQstatus(connection) == CONNECTION_OK) {
            *ret_connection = connection;
            return LK_OK;
        }
        PQfinish(connection);
    }
    return lk_postgresql_connect(store->place.url, patience, ret_connection, error);
}

/* ---- one try --------------------------------------------------------------------------------- */

enum fate {
    ANSWERED,   /* by a result, or an error that is final */
    CONFLICTED, /* nothing was done: again */
    UNREACHED,  /* nothing was sent: again */
    UNKNOWN,    /* sent, and the answer lost */
};

static enum fate exchange(struct lk_postgresql *store, PGconn *connection, const char *sql,
                          const struct lk_arguments *arguments, const struct lk_patience *patience,
                          PGresult **ret_result, lk_outcome *ret_outcome, lk_error *error) {
    PGresult *result = NULL;

    if (PQsendQueryParams(connection, sql, arguments->count, NULL, arguments->values,
                          arguments->lengths, arguments->formats, 0)
        == 0) {
        *ret_outcome =
            lk_error_set(error, LK_UNAVAILABLE, "the connection to the database was lost");
        PQfinish(connection);
        return UNREACHED;
    }
    *ret_outcome = lk_postgresql_receive(connection, patience, &result, error);
    if (*ret_outcome != LK_OK) {
        PQfinish(connection);
        return *ret_outcome == LK_CANCELLED ? ANSWERED : UNKNOWN;
    }
    lk_postgresql_give_back(store, connection);
    if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK) {
        *ret_result = result;
        return ANSWERED;
    }
    *ret_outcome = lk_postgresql_explain(result, store->place.schema, error);
    if (lk_postgresql_is_conflict(result)) {
        PQclear(result);
        return CONFLICTED;
    }
    PQclear(result);
    return ANSWERED;
}

static enum fate try_once(struct lk_postgresql *store, const char *sql,
                          const struct lk_arguments *arguments, const struct lk_patience *patience,
                          PGresult **ret_result, lk_outcome *ret_outcome, lk_error *error) {
    PGconn *connection = NULL;

    *ret_outcome = lk_postgresql_take_connection(store, patience, &connection, error);
    if (*ret_outcome != LK_OK) {
        return *ret_outcome == LK_UNAVAILABLE ? UNREACHED : ANSWERED;
    }
    return exchange(store, connection, sql, arguments, patience, ret_result, ret_outcome, error);
}

/* ---- again ----------------------------------------------------------------------------------- */

bool lk_postgresql_back_off(const struct lk_patience *patience, int64_t *delay_us) {
    struct lk_random random = {lk_random_draw()};
    int64_t left_us =
        patience->until_us == LK_NEVER ? LK_NEVER : patience->until_us - lk_clock_now_us();
    int64_t pause_us;
    struct lk_waker own;
    bool is_thrown;

    *delay_us = *delay_us == 0 ? BACK_OFF_MIN_US : *delay_us * 2;
    *delay_us = *delay_us < BACK_OFF_MAX_US ? *delay_us : BACK_OFF_MAX_US;
    pause_us = lk_random_between(&random, *delay_us / 2, *delay_us);
    if (left_us <= pause_us) {
        return false;
    }
    if (patience->waker != NULL) {
        return !lk_waker_sleep(patience->waker, pause_us);
    }
    if (!lk_waker_init(&own)) {
        return false;
    }
    is_thrown = lk_waker_sleep(&own, pause_us);
    lk_waker_done(&own);
    return !is_thrown;
}

lk_outcome lk_postgresql_call(struct lk_postgresql *store, const char *sql, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              PGresult **ret_result, lk_error *error) {
    char statement[SQL_BYTES_MAX];
    int64_t delay_us = 0;
    lk_outcome outcome = LK_OK;
    enum fate fate;

    if (arguments->is_broken || lk_postgresql_is_forked(store, error)) {
        if (arguments->is_broken) {
            (void)lk_error_set(error, LK_INTERNAL, "no memory for a call");
        }
        lk_arguments_done(arguments);
        return LK_INTERNAL;
    }
    (void)snprintf(statement, sizeof statement, sql, store->place.schema);
    do {
        fate = try_once(store, statement, arguments, patience, ret_result, &outcome, error);
    } while (
        (fate == CONFLICTED || fate == UNREACHED || (fate == UNKNOWN && repeat == LK_REPEATABLE))
        && lk_postgresql_back_off(patience, &delay_us));
    lk_arguments_done(arguments);
    return outcome;
}
