/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions of several statements, with one round trip for each, because the protocol has no
 * other way. A root is locked by a procedure that commits by itself. So a client that stops in the
 * middle only holds rows of the owner's table and an item, which other takes skip.
 *
 * A step is one statement, or several separated by LK_MYSQL_NEXT, of which the last has the rows.
 * LK_MYSQL_ARGUMENT and a letter stand for an argument.
 */
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/mysql/table.h"
#include "engine/procedures/sqlstates.h"

enum { SQL_BYTES_MAX = 96 };

/* ---- one statement --------------------------------------------------------------------------- */

static size_t size_with_arguments(struct lk_slice text, const struct lk_arguments *arguments) {
    size_t size = text.size + 1;

    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.bytes[i] == LK_MYSQL_ARGUMENT) {
            size += LK_MYSQL_LITERAL_MAX(arguments->values[text.bytes[i + 1] - 'A'].size) + 4;
        }
    }
    return size;
}

/* For free(). NULL: memory is exhausted. */
static char *fill_in(struct lk_slice text, const struct lk_arguments *arguments, size_t *ret_size) {
    char *sql = malloc(size_with_arguments(text, arguments));
    char *end = sql;

    for (size_t i = 0; i < text.size && sql != NULL; i++) {
        if (text.bytes[i] == LK_MYSQL_ARGUMENT && i + 1 < text.size) {
            int at = text.bytes[++i] - 'A';
            end = lk_mysql_put_argument(end, arguments->kinds[at], arguments->values[at]);
        } else {
            *end++ = text.bytes[i];
        }
    }
    *ret_size = sql != NULL ? (size_t)(end - sql) : 0;
    return sql;
}

static lk_outcome run(struct lk_mysql_link *link, struct lk_slice text,
                      const struct lk_arguments *arguments, const struct lk_patience *patience,
                      MYSQL_RES **ret_result, lk_error *error) {
    size_t size = 0;
    char *sql = fill_in(text, arguments, &size);
    lk_outcome outcome;

    if (sql == NULL) {
        link->is_lost = true; /* the transaction that was begun is lost with it */
        return lk_error_set(error, LK_UNAVAILABLE, "no memory for a statement");
    }
    outcome = lk_mysql_query(link, (struct lk_slice){sql, size}, patience, ret_result, error);
    free(sql);
    return outcome;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static lk_outcome run_step(struct lk_mysql_link *link, const char *sql,
                           const struct lk_arguments *arguments, const struct lk_patience *patience,
                           struct lk_rows **ret_rows, lk_error *error) {
    lk_outcome outcome = LK_OK;

    while (sql != NULL && outcome == LK_OK) {
        const char *end = strchr(sql, LK_MYSQL_NEXT);
        struct lk_slice text = {sql, end != NULL ? (size_t)(end - sql) : strlen(sql)};
        MYSQL_RES *result = NULL;

        outcome = run(link, text, arguments, patience, &result, error);
        if (outcome == LK_OK && end == NULL) {
            *ret_rows = lk_mysql_rows(result);
            result = *ret_rows != NULL ? NULL : result;
        }
        mysql_free_result(result);
        sql = end != NULL ? end + 1 : NULL;
    }
    return outcome;
}

/* The procedures of a short way begin and commit the transaction themselves. */
static lk_outcome run_all(const struct lk_mysql *store, struct lk_mysql_link *link,
                          struct lk_transaction *transaction, const struct lk_patience *patience,
                          lk_error *error) {
    char begin[SQL_BYTES_MAX];
    struct lk_rows *ignored = NULL;
    lk_outcome outcome = LK_OK;

    (void)snprintf(begin, sizeof begin, "CALL %sbegin()", store->address.prefix);
    if (!transaction->is_short) {
        outcome = run_step(
            link, transaction->repeat == LK_READING ? "START TRANSACTION READ ONLY" : begin,
            &transaction->arguments, patience, &ignored, error);
        lk_rows_free(ignored);
    }
    for (size_t i = 0; i < transaction->step_count && outcome == LK_OK; i++) {
        outcome = run_step(link, transaction->steps[i].sql, &transaction->arguments, patience,
                           &transaction->rows[i], error);
        if (outcome == LK_OK && transaction->rows[i] == NULL) {
            link->is_lost = true;
            outcome = lk_error_set(error, LK_UNAVAILABLE, "no memory for an answer");
        }
    }
    if (outcome == LK_OK && !transaction->is_short) {
        ignored = NULL;
        outcome = run_step(link, "COMMIT", &transaction->arguments, patience, &ignored, error);
        lk_rows_free(ignored);
    }
    return outcome;
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool is_denial(unsigned code) {
    return code == ER_TABLEACCESS_DENIED_ERROR || code == ER_COLUMNACCESS_DENIED_ERROR
           || code == ER_DBACCESS_DENIED_ERROR || code == ER_SPECIFIC_ACCESS_DENIED_ERROR
           || code == ER_PROCACCESS_DENIED_ERROR;
}

/* Errors of the server itself: resources, operator intervention, concurrent transactions. */
static bool is_of_server(MYSQL *mysql) {
    static const unsigned codes[] = {ER_DISK_FULL,        ER_RECORD_FILE_FULL,  ER_OUTOFMEMORY,
                                     ER_OUT_OF_RESOURCES, ER_OUT_OF_SORTMEMORY, ER_ERROR_ON_WRITE};
    bool is_known = lk_mysql_is_replica(mysql_errno(mysql));

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        is_known = is_known || mysql_errno(mysql) == codes[i];
    }
    return is_known || lk_mysql_fate_of(mysql) != LK_FATE_ANSWERED;
}

static void blame(struct lk_transaction *transaction, MYSQL *mysql) {
    const char *state = mysql_sqlstate(mysql);

    if (strcmp(state, LK_SQLSTATE_REPEATED) == 0) {
        transaction->failure = LK_FAILURE_ENDED;
    } else if (strcmp(state, LK_SQLSTATE_LOST) == 0) {
        transaction->failure = LK_FAILURE_LOST;
    } else if (strcmp(state, LK_SQLSTATE_NOT_SIMPLE) == 0) {
        transaction->failure = LK_FAILURE_LONG;
    } else if (is_denial(mysql_errno(mysql))) {
        transaction->failure = LK_FAILURE_DENIED;
    } else if (!is_of_server(mysql)) {
        transaction->failure = LK_FAILURE_WRONG;
    }
    (void)snprintf(transaction->words, sizeof transaction->words, "%s", mysql_error(mysql));
}

/* The server has refused a statement: what was done before is rolled back. */
static enum lk_fate refuse(struct lk_mysql *store, struct lk_mysql_link *link,
                           struct lk_transaction *transaction, const struct lk_patience *patience,
                           lk_outcome *ret_outcome, lk_error *error) {
    enum lk_fate fate = lk_mysql_fate_of(link->mysql);
    unsigned code = mysql_errno(link->mysql);
    bool is_closed = lk_mysql_is_closed(link->mysql);

    *ret_outcome = lk_mysql_explain(link->mysql, store->address.prefix, error);
    lk_transaction_done(transaction);
    blame(transaction, link->mysql);
    fate = lk_mysql_undo(link, fate, code, patience);
    if ((lk_mysql_is_hole(code) || *ret_outcome == LK_INTERNAL)
        && !link->is_lost) { /* the owner's statement, unless it is this: */
        *ret_outcome = lk_mysql_explain_hole(store, link, patience, *ret_outcome, error);
    }
    if (is_closed || *ret_outcome == LK_UNSUPPORTED) {
        transaction->failure = LK_FAILURE_NONE;
    }
    return fate;
}

enum lk_fate lk_mysql_transact(struct lk_procedures *common, void *connection,
                               struct lk_transaction *transaction,
                               const struct lk_patience *patience, lk_outcome *ret_outcome,
                               lk_error *error) {
    struct lk_mysql *store = lk_mysql_of(&common->engine);

    lk_transaction_done(transaction);
    *ret_outcome = run_all(store, connection, transaction, patience, error);
    if (*ret_outcome == LK_OK) {
        return LK_FATE_ANSWERED;
    }
    if (*ret_outcome == LK_INTERNAL) {
        return refuse(store, connection, transaction, patience, ret_outcome, error);
    }
    lk_transaction_done(transaction);
    return *ret_outcome == LK_CANCELLED ? LK_FATE_CANCELLED : LK_FATE_UNKNOWN;
}
