/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions in libpq's pipeline mode, with a single Sync: any pooler will do. */
#include "engine/postgresql/transact.h"

#include <stdio.h>

#include "base/error.h"

enum { SQL_BYTES_MAX = 128, LEADING = 1 /* the BEGIN */ };

/* ---- sending --------------------------------------------------------------------------------- */

static bool send_text(PGconn *connection, const char *sql) {
    return PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_step(PGconn *connection, const struct lk_postgresql_transaction *transaction,
                      const struct lk_postgresql_step *step) {
    const struct lk_arguments *arguments = &transaction->arguments;

    return PQsendQueryParams(connection, step->sql, step->count, step->types,
                             arguments->values + step->first, arguments->lengths + step->first,
                             arguments->formats + step->first, 0)
           == 1;
}

static bool send_all(struct lk_postgresql *store, PGconn *connection,
                     const struct lk_postgresql_transaction *transaction) {
    char flush[SQL_BYTES_MAX];
    bool is_sent = PQenterPipelineMode(connection) == 1
                   && send_text(connection, transaction->is_read_only
                                                ? "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
                                                : "BEGIN ISOLATION LEVEL READ COMMITTED");

    for (size_t i = 0; i < transaction->step_count && is_sent; i++) {
        is_sent = send_step(connection, transaction, &transaction->steps[i]);
    }
    is_sent = is_sent && send_text(connection, "COMMIT");
    if (is_sent && !transaction->is_read_only) {
        (void)snprintf(flush, sizeof flush, "SELECT %s.flush_what_is_owed()", store->place.schema);
        is_sent = send_text(connection, flush);
    }
    return is_sent && PQpipelineSync(connection) == 1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Keeps a result in its place, or ends it. `number` counts what was sent. */
static void keep(struct lk_postgresql_transaction *transaction, size_t number, PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    bool is_step = number >= LEADING && number - LEADING < transaction->step_count;

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (is_step && transaction->results[number - LEADING] == NULL) {
            transaction->results[number - LEADING] = result;
            return;
        }
    } else if (status != PGRES_PIPELINE_ABORTED && transaction->failure == NULL) {
        transaction->failure = result;
        transaction->failed = number > 0 ? number - LEADING : 0;
        return;
    }
    PQclear(result);
}

static lk_outcome receive_all(PGconn *connection, struct lk_postgresql_transaction *transaction,
                              const struct lk_patience *patience, lk_error *error) {
    size_t number = 0;

    while (PQstatus(connection) == CONNECTION_OK) {
        PGresult *result = NULL;
        lk_outcome outcome = lk_postgresql_next(connection, patience, &result, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        if (result == NULL) {
            number++;
        } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            lk_postgresql_drop_notifications(connection);
            return PQexitPipelineMode(connection) == 1 ? LK_OK
                                                       : lk_postgresql_lose(connection, error);
        } else {
            keep(transaction, number, result);
        }
    }
    return lk_postgresql_lose(connection, error);
}

/* Ends what an error has left open, and keeps the connection if it is as it was. */
static void put_back(struct lk_postgresql *store, PGconn *connection,
                     const struct lk_patience *patience) {
    PGresult *result = NULL;

    if (PQtransactionStatus(connection) != PQTRANS_IDLE
        && lk_postgresql_execute(connection, "ROLLBACK", store->place.schema, patience, &result,
                                 NULL)
               == LK_OK) {
        PQclear(result);
    }
    if (PQtransactionStatus(connection) == PQTRANS_IDLE) {
        lk_postgresql_give_back(store, connection);
    } else {
        PQfinish(connection);
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

static void forget(struct lk_postgresql_transaction *transaction) {
    for (size_t i = 0; i < LK_STEPS_MAX; i++) {
        PQclear(transaction->results[i]);
        transaction->results[i] = NULL;
    }
    PQclear(transaction->failure);
    transaction->failure = NULL;
}

/* One try. *ret_again: it may be tried once more. */
static lk_outcome try_once(struct lk_postgresql *store,
                           struct lk_postgresql_transaction *transaction,
                           const struct lk_patience *patience, bool *ret_again, lk_error *error) {
    PGconn *connection = NULL;
    lk_outcome outcome = lk_postgresql_take_connection(store, patience, &connection, error);

    forget(transaction);
    if (outcome != LK_OK) {
        *ret_again = outcome == LK_UNAVAILABLE;
        return outcome;
    }
    if (send_all(store, connection, transaction)) {
        outcome = receive_all(connection, transaction, patience, error);
    } else {
        outcome = lk_postgresql_lose(connection, error);
    }
    if (outcome != LK_OK) {
        forget(transaction);
        PQfinish(connection);
        *ret_again = outcome == LK_UNAVAILABLE && transaction->repeat == LK_REPEATABLE;
        return outcome;
    }
    put_back(store, connection, patience);
    *ret_again = false;
    if (transaction->failure != NULL) {
        outcome = lk_postgresql_explain(transaction->failure, store->place.schema, error);
        *ret_again = lk_postgresql_is_conflict(transaction->failure);
    }
    return outcome;
}

lk_outcome lk_postgresql_transact(struct lk_postgresql *store,
                                  struct lk_postgresql_transaction *transaction,
                                  const struct lk_patience *patience, lk_error *error) {
    int64_t delay_us = 0;
    bool again = false;
    lk_outcome outcome = LK_INTERNAL;

    if (transaction->arguments.is_broken) {
        (void)lk_error_set(error, LK_INTERNAL, "no memory for a call");
    } else if (!lk_postgresql_is_forked(store, error)) {
        do {
            outcome = try_once(store, transaction, patience, &again, error);
        } while (again && lk_postgresql_back_off(patience, &delay_us));
    }
    lk_arguments_done(&transaction->arguments);
    return outcome;
}

void lk_postgresql_transaction_done(struct lk_postgresql_transaction *transaction) {
    forget(transaction);
}
