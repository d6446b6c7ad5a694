/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions in libpq's pipeline mode, in one round trip. There is a single Sync, so any pooler
 * will do.
 *
 * The types of all arguments are declared, so that a statement need not use them all: bigint for
 * numbers, text for everything else.
 */
#include <stdio.h>

#include "base/error.h"
#include "engine/postgresql/prepared.h"
#include "engine/postgresql/store.h"
#include "engine/procedures/sqlstates.h"

enum {
    SQL_BYTES_MAX = 128,
    OID_INT8 = 20,
    OID_TEXT = 25,
};

/* What is kept of the results. */
struct kept {
    struct lk_transaction *transaction;
    size_t leading; /* statements before the steps */
    PGresult *failure;
    size_t failure_number;
};

/* ---- sending --------------------------------------------------------------------------------- */

bool lk_postgresql_send_text(PGconn *connection, const char *sql) {
    return PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_step(PGconn *connection, const struct lk_arguments *arguments,
                      const struct lk_step *step) {
    const char *values[LK_ARGUMENTS_MAX];
    Oid types[LK_ARGUMENTS_MAX];

    for (int i = 0; i < step->count; i++) {
        int at = step->first + i;
        values[i] = arguments->values[at].bytes;
        types[i] = arguments->kinds[at] == LK_ARGUMENT_NUMBER ? OID_INT8 : OID_TEXT;
    }
    return PQsendQueryParams(connection, step->sql, step->count, types, values, NULL, NULL, 0) == 1;
}

static bool send_all(const struct lk_postgresql_address *address, PGconn *connection,
                     bool is_checked, const struct lk_transaction *transaction) {
    bool is_reading = transaction->repeat == LK_READING;
    char flush[SQL_BYTES_MAX];
    bool is_sent = PQenterPipelineMode(connection) == 1
                   && (is_checked || lk_postgresql_send_check(address, connection))
                   && lk_postgresql_send_text(
                       connection, is_reading ? "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
                                              : "BEGIN ISOLATION LEVEL READ COMMITTED");

    for (size_t i = 0; i < transaction->step_count && is_sent; i++) {
        is_sent = send_step(connection, &transaction->arguments, &transaction->steps[i]);
    }
    is_sent = is_sent && lk_postgresql_send_text(connection, "COMMIT");
    if (is_sent && !is_reading && !transaction->is_short) { /* a short way owes no flush */
        (void)snprintf(flush, sizeof flush, "SELECT %s.flush_what_is_owed()", address->schema);
        is_sent = lk_postgresql_send_text(connection, flush);
    }
    return is_sent && PQpipelineSync(connection) == 1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Keeps a step's rows, or the first error. */
static bool keep(void *context, size_t number, PGresult *result) {
    struct kept *kept = context;
    struct lk_transaction *transaction = kept->transaction;
    ExecStatusType status = PQresultStatus(result);
    bool is_step = number >= kept->leading && number - kept->leading < transaction->step_count;

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (is_step && transaction->rows[number - kept->leading] == NULL) {
            struct lk_rows *rows = lk_postgresql_rows(result);

            transaction->rows[number - kept->leading] = rows;
            if (rows != NULL) {
                return true;
            }
            PQclear(result);
            return false;
        }
    } else if (status != PGRES_PIPELINE_ABORTED && kept->failure == NULL) {
        kept->failure = result;
        kept->failure_number = number;
        return true;
    }
    PQclear(result);
    return true;
}

lk_outcome lk_postgresql_receive_all(PGconn *connection, const struct lk_patience *patience,
                                     lk_postgresql_keep *keep_result, void *context,
                                     lk_error *error) {
    size_t number = 0;
    bool is_whole = true;

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
            if (PQexitPipelineMode(connection) != 1) {
                break;
            }
            return is_whole ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for an answer");
        } else {
            is_whole = keep_result(context, number, result) && is_whole;
        }
    }
    return lk_postgresql_lose(connection, error);
}

bool lk_postgresql_roll_back(struct lk_postgresql *store, PGconn *connection,
                             const struct lk_patience *patience) {
    PGresult *result = NULL;

    if (PQtransactionStatus(connection) != PQTRANS_IDLE
        && lk_postgresql_execute(connection, "ROLLBACK", store->address.schema, patience, &result,
                                 NULL)
               == LK_OK) {
        PQclear(result);
    }
    return PQtransactionStatus(connection) == PQTRANS_IDLE;
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool begins(const char *code, const char *with) {
    return strncmp(code, with, strlen(with)) == 0;
}

/* Errors of the server itself: connection, rollbacks, resources, operator intervention. */
static bool is_of_server(const char *code) {
    return (begins(code, "08") && strcmp(code, "08P01") != 0) || begins(code, "40")
           || begins(code, "53") || begins(code, "58") || begins(code, "XX") || begins(code, "57P");
}

/* The codes that begin with LK are raised by sql/75_table.sql, 87_short_table.sql and owners.c. */
static enum lk_failure failure_of(const char *code) {
    if (strcmp(code, LK_SQLSTATE_REPEATED) == 0) {
        return LK_FAILURE_ENDED;
    }
    if (strcmp(code, LK_SQLSTATE_LOST) == 0) {
        return LK_FAILURE_LOST;
    }
    if (strcmp(code, LK_SQLSTATE_NOT_SIMPLE) == 0) {
        return LK_FAILURE_LONG;
    }
    if (strcmp(code, "42501") == 0) {
        return LK_FAILURE_DENIED;
    }
    return is_of_server(code) || strcmp(code, "LK077") == 0 ? LK_FAILURE_NONE : LK_FAILURE_WRONG;
}

static void blame(struct lk_transaction *transaction, const PGresult *failure) {
    const char *code = PQresultErrorField(failure, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(failure, PG_DIAG_MESSAGE_PRIMARY);

    transaction->failure = LK_FAILURE_NONE;
    if (code == NULL || words == NULL) {
        return;
    }
    transaction->failure = failure_of(code);
    if (strcmp(code, "08P01") == 0 || strcmp(code, "42P02") == 0) {
        words = "it has parameters ($1) without a value";
    }
    (void)snprintf(transaction->words, sizeof transaction->words, "%s", words);
}

/* The owner's statement is to blame, unless it is the store that has changed. */
static void explain_hole(struct lk_postgresql *store, PGconn *connection,
                         struct lk_transaction *transaction, const struct lk_patience *patience,
                         lk_outcome *ret_outcome, lk_error *error) {
    *ret_outcome = lk_postgresql_explain_hole(store, connection, patience, *ret_outcome, error);
    if (*ret_outcome == LK_UNSUPPORTED) {
        transaction->failure = LK_FAILURE_NONE;
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

enum lk_fate lk_postgresql_transact(struct lk_procedures *common, void *connection,
                                    struct lk_transaction *transaction,
                                    const struct lk_patience *patience, lk_outcome *ret_outcome,
                                    lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(&common->engine);
    bool is_checked = lk_postgresql_is_checked(connection);
    struct kept kept = {.transaction = transaction,
                        .leading = (is_checked ? 0 : LK_POSTGRESQL_CHECK_STATEMENTS) + 1};
    PGresult *failure;
    enum lk_fate fate = LK_FATE_ANSWERED;
    bool is_hole = false;

    lk_transaction_done(transaction);
    if (!send_all(&store->address, connection, is_checked, transaction)) {
        *ret_outcome = lk_postgresql_lose(connection, error);
        return LK_FATE_UNKNOWN;
    }
    *ret_outcome = lk_postgresql_receive_all(connection, patience, keep, &kept, error);
    failure = kept.failure;
    if (*ret_outcome != LK_OK) {
        PQclear(failure);
        lk_transaction_done(transaction);
        return *ret_outcome == LK_CANCELLED ? LK_FATE_CANCELLED : LK_FATE_UNKNOWN;
    }
    if (failure == NULL || kept.failure_number >= LK_POSTGRESQL_CHECK_STATEMENTS) {
        lk_postgresql_set_checked(connection);
    }
    atomic_store(&common->is_read_only, failure != NULL && lk_postgresql_is_read_only(failure));
    if (failure != NULL) {
        lk_transaction_done(transaction);
        *ret_outcome = lk_postgresql_explain(failure, store->address.schema, error);
        blame(transaction, failure);
        fate = lk_postgresql_is_conflict(failure) ? LK_FATE_CONFLICTED : LK_FATE_ANSWERED;
        fate = lk_postgresql_is_outdated(connection, failure) ? LK_FATE_UNREACHED : fate;
        is_hole = lk_postgresql_is_hole(failure) || *ret_outcome == LK_INTERNAL;
        PQclear(failure);
    }
    if (fate == LK_FATE_UNREACHED) {
        return fate;
    }
    if (!lk_postgresql_roll_back(store, connection, patience)) {
        /* The connection is unusable; a failure remains a failure. */
        return fate == LK_FATE_CONFLICTED ? LK_FATE_UNREACHED : LK_FATE_CANCELLED;
    }
    if (is_hole) {
        explain_hole(store, connection, transaction, patience, ret_outcome, error);
    }
    return fate;
}
