/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with PostgreSQL: calls a procedure, or selects from a function, and reads the rows.
 * Bytes are sent in binary form and received as text; a list is an array.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/postgresql/prepared.h"
#include "engine/postgresql/schema.h"
#include "engine/postgresql/store.h"

enum { SQL_BYTES_MAX = 512 };

_Static_assert(LK_POSTGRESQL_FORMAT == 1,
               "the next format gives these calls other names: README.md");

/* ---- what is sent ---------------------------------------------------------------------------- */

/*
 * A procedure decides and commits; a function only reads, or decides a series of commands inside a
 * transaction: a procedure cannot answer several rows.
 */
static void write_call(char sql[SQL_BYTES_MAX], const char *schema,
                       const struct lk_procedure_call *call) {
    bool is_function = call->repeat == LK_READING || call->is_series;
    struct lk_text text = lk_text_in(sql, SQL_BYTES_MAX);

    lk_text_format(&text, "%s %s.%s(", is_function ? "SELECT * FROM" : "CALL", schema, call->name);
    for (int i = 1; i <= call->arguments->count; i++) {
        lk_text_format(&text, "%s$%d", i > 1 ? "," : "", i);
    }
    lk_text_format(&text, ")");
}

/* Sends a prepared statement by its name, or, if the name is empty, the SQL itself. */
static bool send_call(PGconn *connection, const char *name, const char *sql,
                      const struct lk_procedure_call *call) {
    const struct lk_arguments *arguments = call->arguments;
    const char *values[LK_ARGUMENTS_MAX];
    int lengths[LK_ARGUMENTS_MAX];
    int formats[LK_ARGUMENTS_MAX];

    for (int i = 0; i < arguments->count; i++) {
        values[i] = arguments->values[i].bytes;
        lengths[i] = (int)arguments->values[i].size;
        formats[i] = arguments->kinds[i] == LK_ARGUMENT_BYTES;
    }
    if (name[0] != '\0') {
        return PQsendQueryPrepared(connection, name, arguments->count, values, lengths, formats, 0)
               != 0;
    }
    return PQsendQueryParams(connection, sql, arguments->count, NULL, values, lengths, formats, 0)
           != 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static void free_result(void *result) {
    PQclear(result);
}

static void *decode_bytea(struct lk_slice text, size_t *ret_size) {
    size_t size = 0;
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)text.bytes, &size);
    void *copy = NULL;

    if (bytes != NULL) {
        copy = lk_text_copy((struct lk_slice){(const char *)bytes, size});
        *ret_size = size;
    }
    PQfreemem(bytes);
    return copy;
}

struct lk_rows *lk_postgresql_rows(PGresult *result) {
    struct lk_rows *rows = lk_rows_new(PQntuples(result), PQnfields(result));
    struct lk_slice *cell;

    if (rows == NULL) {
        return NULL;
    }
    cell = rows->cells;
    for (int row = 0; row < rows->count; row++) {
        for (int column = 0; column < rows->column_count; column++, cell++) {
            if (PQgetisnull(result, row, column) == 0) {
                cell->bytes = PQgetvalue(result, row, column);
                cell->size = (size_t)PQgetlength(result, row, column);
            }
        }
    }
    rows->lists = LK_LISTS_ARRAYS;
    rows->decode = decode_bytea;
    rows->source = result;
    rows->free_source = free_result;
    return rows;
}

static lk_outcome take_answer(const struct lk_postgresql *store, PGresult *result,
                              struct lk_rows **ret_rows, lk_error *error) {
    struct lk_rows *rows;

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        lk_outcome outcome = lk_postgresql_explain(result, store->address.schema, error);
        PQclear(result);
        return outcome;
    }
    rows = lk_postgresql_rows(result);
    if (rows == NULL) {
        PQclear(result);
        return lk_error_set(error, LK_INTERNAL, "no memory for an answer");
    }
    *ret_rows = rows;
    return LK_OK;
}

/* Sends a call, and waits for the answer. *ret_is_sent: the call may have taken effect. */
static lk_outcome perform_call(struct lk_postgresql *store, PGconn *connection,
                               const struct lk_procedure_call *call,
                               const struct lk_patience *patience, bool *ret_is_sent,
                               PGresult **ret_result, lk_error *error) {
    char sql[SQL_BYTES_MAX];
    char name[LK_POSTGRESQL_NAME_MAX + 1];
    PGresult *result = NULL;
    lk_outcome outcome;

    *ret_is_sent = false;
    write_call(sql, store->address.schema, call);
    outcome = lk_postgresql_name(store, connection, call, sql, patience, name, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    for (;;) {
        if (!send_call(connection, name, sql, call)) {
            return lk_error_set(error, LK_UNAVAILABLE, "the connection to the database was lost");
        }
        *ret_is_sent = true;
        outcome = lk_postgresql_receive(connection, patience, &result, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        if (name[0] == '\0' || !lk_postgresql_is_nameless(store, result)) {
            *ret_result = result;
            return LK_OK;
        }
        PQclear(result);
        name[0] = '\0';
        *ret_is_sent = false;
    }
}

static lk_outcome perform_text(PGconn *connection, const char *sql,
                               const struct lk_patience *patience, bool *ret_is_sent,
                               PGresult **ret_result, lk_error *error) {
    *ret_is_sent = PQsendQuery(connection, sql) != 0;
    if (!*ret_is_sent) {
        return lk_error_set(error, LK_UNAVAILABLE, "the connection to the database was lost");
    }
    return lk_postgresql_receive(connection, patience, ret_result, error);
}

/* ---- the first call of a connection ---------------------------------------------------------- */

/* The call's result, or the first failure. */
static bool keep(void *context, size_t number, PGresult *result) {
    PGresult **kept = context;
    ExecStatusType status = PQresultStatus(result);
    bool is_rows = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

    if (*kept == NULL && status != PGRES_PIPELINE_ABORTED
        && (!is_rows || number == LK_POSTGRESQL_CHECK_STATEMENTS)) {
        *kept = result;
    } else {
        PQclear(result);
    }
    return true;
}

static lk_outcome perform_pipeline(struct lk_postgresql *store, PGconn *connection,
                                   const struct lk_procedure_call *call,
                                   const struct lk_patience *patience, PGresult **ret_result,
                                   lk_error *error) {
    char sql[SQL_BYTES_MAX];
    char name[LK_POSTGRESQL_NAME_MAX + 1];
    lk_outcome outcome;

    write_call(sql, store->address.schema, call);
    outcome = lk_postgresql_name(store, connection, call, sql, patience, name, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (PQenterPipelineMode(connection) != 1
        || !lk_postgresql_send_check(&store->address, connection)
        || !send_call(connection, name, sql, call) || PQpipelineSync(connection) != 1) {
        return lk_postgresql_lose(connection, error);
    }
    outcome = lk_postgresql_receive_all(connection, patience, keep, ret_result, error);
    if (outcome == LK_OK && *ret_result == NULL) {
        outcome = lk_postgresql_lose(connection, error);
    }
    return outcome;
}

static lk_outcome perform_checked_text(struct lk_postgresql *store, PGconn *connection,
                                       const char *sql, const struct lk_patience *patience,
                                       PGresult **ret_result, lk_error *error) {
    char *text = lk_postgresql_checked_sql(&store->address, sql);
    bool is_sent;
    lk_outcome outcome = text != NULL
                             ? perform_text(connection, text, patience, &is_sent, ret_result, error)
                             : lk_error_set(error, LK_INTERNAL, "no memory for a statement");

    free(text);
    return outcome;
}

/*
 * The owners are checked before the call, in the same round trip. Where the check fails, the
 * connection stays unchecked, and nothing of the call was done.
 */
static lk_outcome perform_first(struct lk_postgresql *store, PGconn *connection,
                                const struct lk_procedure_call *call,
                                const struct lk_patience *patience, PGresult **ret_result,
                                lk_error *error) {
    PGresult *result = NULL;
    lk_outcome outcome =
        call->sql != NULL
            ? perform_checked_text(store, connection, call->sql, patience, &result, error)
            : perform_pipeline(store, connection, call, patience, &result, error);

    if (outcome == LK_OK && PQtransactionStatus(connection) == PQTRANS_IDLE) {
        lk_postgresql_set_checked(connection);
    } else if (outcome == LK_OK && !lk_postgresql_roll_back(store, connection, patience)) {
        outcome = lk_postgresql_lose(connection, error);
    }
    if (outcome != LK_OK) {
        PQclear(result);
        return outcome;
    }
    *ret_result = result;
    return LK_OK;
}

static lk_outcome perform(struct lk_postgresql *store, PGconn *connection,
                          const struct lk_procedure_call *call, const struct lk_patience *patience,
                          bool *ret_is_sent, PGresult **ret_result, lk_error *error) {
    if (!lk_postgresql_is_checked(connection)) {
        *ret_is_sent = true; /* or a part of it */
        return perform_first(store, connection, call, patience, ret_result, error);
    }
    return call->sql != NULL
               ? perform_text(connection, call->sql, patience, ret_is_sent, ret_result, error)
               : perform_call(store, connection, call, patience, ret_is_sent, ret_result, error);
}

static enum lk_fate decide_series(struct lk_procedures *common, void *connection,
                                  const struct lk_procedure_call *call,
                                  const struct lk_patience *patience, struct lk_rows **ret_rows,
                                  lk_outcome *ret_outcome, lk_error *error) {
    char sql[SQL_BYTES_MAX];
    struct lk_transaction transaction = {.steps = {{sql, 0, call->arguments->count}},
                                         .step_count = 1,
                                         .repeat = call->repeat,
                                         .arguments = *call->arguments};
    enum lk_fate fate;

    write_call(sql, lk_postgresql_of(&common->engine)->address.schema, call);
    fate = lk_postgresql_transact(common, connection, &transaction, patience, ret_outcome, error);
    *ret_rows = transaction.rows[0];
    return fate;
}

static enum lk_fate exchange(struct lk_procedures *common, void *connection,
                             const struct lk_procedure_call *call,
                             const struct lk_patience *patience, struct lk_rows **ret_rows,
                             lk_outcome *ret_outcome, lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(&common->engine);
    PGresult *result = NULL;
    bool is_conflict;
    bool is_outdated;
    bool is_hole;
    bool is_sent;

    if (call->is_series) {
        return decide_series(common, connection, call, patience, ret_rows, ret_outcome, error);
    }
    *ret_outcome = perform(store, connection, call, patience, &is_sent, &result, error);
    if (*ret_outcome == LK_CANCELLED) {
        return LK_FATE_CANCELLED;
    }
    if (*ret_outcome != LK_OK) {
        return is_sent ? LK_FATE_UNKNOWN : LK_FATE_UNREACHED;
    }
    is_conflict = lk_postgresql_is_conflict(result);
    is_outdated = lk_postgresql_is_outdated(connection, result);
    is_hole = lk_postgresql_is_hole(result);
    atomic_store(&common->is_read_only, lk_postgresql_is_read_only(result));
    *ret_outcome = take_answer(store, result, ret_rows, error);
    if ((is_hole || *ret_outcome == LK_INTERNAL) && !is_outdated) {
        *ret_outcome = lk_postgresql_explain_hole(store, connection, patience, *ret_outcome, error);
    }
    return is_outdated ? LK_FATE_UNREACHED : is_conflict ? LK_FATE_CONFLICTED : LK_FATE_ANSWERED;
}

/* ---- connections ----------------------------------------------------------------------------- */

static lk_outcome connect_to(struct lk_procedures *common, const struct lk_patience *patience,
                             void **ret_connection, lk_error *error) {
    PGconn *connection = NULL;
    lk_outcome outcome = lk_postgresql_connect(lk_postgresql_of(&common->engine)->address.url,
                                               patience, &connection, error);

    if (outcome == LK_OK) {
        *ret_connection = connection;
    }
    return outcome;
}

static bool is_alive(void *connection) {
    return PQconsumeInput(connection) != 0 && PQstatus(connection) == CONNECTION_OK;
}

static bool is_idle(const void *connection) {
    return PQtransactionStatus(connection) == PQTRANS_IDLE;
}

static void disconnect(void *connection) {
    PQfinish(connection);
}

static uint64_t version(struct lk_procedures *common) {
    return lk_postgresql_listener_version(lk_postgresql_of(&common->engine)->listener);
}

const struct lk_database lk_postgresql_database = {
    .lists = LK_LISTS_ARRAYS,
    .has_items = true,
    .connect = connect_to,
    .is_alive = is_alive,
    .is_idle = is_idle,
    .disconnect = disconnect,
    .exchange = exchange,
    .version = version,
    .values_sql = lk_postgresql_values_sql,
    .plan_sql = lk_postgresql_plan_sql,
    .table_open = lk_postgresql_table_open,
    .transact = lk_postgresql_transact,
};
