/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's SQL: what it may do, and how it is run. Its making is in prepare.c. */
#include "engine/sqlite/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- running --------------------------------------------------------------------------------- */

/* Whether an error is the store's, not that of the statement in hand. */
static bool is_of_store(int code) {
    switch (code & 0xff) {
    case SQLITE_NOMEM:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_BUSY:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

int lk_sqlite_source_blame(struct lk_sqlite *store, struct lk_sqlite_source *source,
                           const char *what, int code) {
    const struct lk_sqlite_sources *sources = store->sources;

    if (code != SQLITE_OK && !is_of_store(code) && source->complaint[0] == '\0') {
        (void)snprintf(source->complaint, sizeof source->complaint, "R17: %s: %s%s%s", what,
                       sqlite3_errmsg(store->sql.handle), sources->refused[0] != '\0' ? ": " : "",
                       sources->refused);
    }
    return code;
}

/* One step under guard. */
static int step(struct lk_sqlite *store, sqlite3_stmt *statement, enum lk_sqlite_guard guard) {
    int code;

    store->sources->guard = guard;
    store->sources->refused[0] = '\0';
    code = sqlite3_step(statement);
    store->sources->guard = LK_SQLITE_GUARD_NONE;
    return code;
}

static int finish(sqlite3_stmt *statement, int code) {
    return lk_sql_done(statement, code);
}

/*
 * The step of a statement that finds the row of this id, ?1. A column with a type makes its own
 * of a whole number; in one without, the row's may be a text that looks like a number.
 */
static int step_to_row(struct lk_sqlite *store, sqlite3_stmt *statement,
                       const struct lk_row_id *id) {
    int64_t number;

    if (lk_row_id_is_integer(id, &number)) {
        (void)lk_sql_bind_integer(statement, 1, number);
        int code = step(store, statement, LK_SQLITE_GUARD_READ);
        if (code != SQLITE_DONE) {
            return code;
        }
        (void)sqlite3_reset(statement);
    }
    (void)lk_sql_bind_text(statement, 1, (struct lk_slice){id->bytes, id->size});
    return step(store, statement, LK_SQLITE_GUARD_READ);
}

int lk_sqlite_source_find(struct lk_sqlite *store, struct lk_sqlite_source *source, size_t max,
                          struct lk_set *ids) {
    const struct lk_path *queue = &source->text.queue;
    int code;

    (void)lk_sql_bind_text(source->find, 1, (struct lk_slice){queue->bytes, queue->size});
    (void)lk_sql_bind_integer(source->find, 2, (int64_t)max);
    while ((code = step(store, source->find, LK_SQLITE_GUARD_READ)) == SQLITE_ROW) {
        bool is_new;

        if (!lk_set_add(ids, lk_sql_column_text(source->find, 0), &is_new)) {
            code = SQLITE_NOMEM;
            break;
        }
    }
    if (code != SQLITE_DONE) {
        (void)lk_sqlite_source_blame(store, source, "looking for rows failed", code);
    }
    return finish(source->find, code);
}

int lk_sqlite_source_skipped(struct lk_sqlite *store, struct lk_sqlite_source *source,
                             struct lk_skipped_rows *skipped_rows) {
    sqlite3_stmt *skipped = source->skipped;
    int code;

    (void)lk_sql_bind_integer(skipped, 1, LK_SKIPPED_MAX);
    while ((code = step(store, skipped, LK_SQLITE_GUARD_READ)) == SQLITE_ROW) {
        bool is_null = sqlite3_column_type(skipped, 1) == SQLITE_NULL;

        lk_skipped_rows_add(skipped_rows, lk_sql_column_text(skipped, 0),
                            is_null ? -1 : sqlite3_column_int64(skipped, 1));
    }
    if (code != SQLITE_DONE) {
        (void)lk_sqlite_source_blame(store, source, "looking for rows failed", code);
    }
    return finish(skipped, code);
}

int lk_sqlite_source_fits(struct lk_sqlite *store, struct lk_sqlite_source *source,
                          struct lk_slice id, bool *ret_fits) {
    struct lk_row_id row_id;
    int code;

    if (!lk_row_id_decode(id, &row_id)) {
        *ret_fits = false; /* pushed by hand, and no row's */
        return SQLITE_OK;
    }
    code = step_to_row(store, source->fits, &row_id);
    *ret_fits = code == SQLITE_ROW;
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        (void)lk_sqlite_source_blame(store, source, "checking a row again failed", code);
    }
    return finish(source->fits, code);
}

/* ---- what is done ---------------------------------------------------------------------------- */

/* The row's id as it is in the table; where the row has gone, as its text says. */
static int bind_real_id(struct lk_sqlite *store, struct lk_sqlite_source *source, int index,
                        struct lk_slice id) {
    struct lk_row_id row_id;
    int64_t number;
    int code;

    if (!lk_row_id_decode(id, &row_id)) {
        return SQLITE_OK;
    }
    code = step_to_row(store, source->row, &row_id);
    if (code == SQLITE_ROW) {
        (void)sqlite3_bind_value(source->done, index, sqlite3_column_value(source->row, 0));
    } else if (lk_row_id_is_integer(&row_id, &number)) {
        (void)lk_sql_bind_integer(source->done, index, number);
    } else {
        (void)sqlite3_bind_text(source->done, index, row_id.bytes, (int)row_id.size,
                                SQLITE_TRANSIENT);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        (void)lk_sqlite_source_blame(store, source, "reading a row failed", code);
    }
    return finish(source->row, code);
}

static int bind_completion(struct lk_sqlite *store, struct lk_sqlite_source *source,
                           const struct lk_sqlite_completion *completion) {
    int id = sqlite3_bind_parameter_index(source->done, ":id");
    int token = sqlite3_bind_parameter_index(source->done, ":token");
    int owner = sqlite3_bind_parameter_index(source->done, ":owner");
    int attempt = sqlite3_bind_parameter_index(source->done, ":attempt");

    if (token != 0) {
        (void)lk_sql_bind_integer(source->done, token, (int64_t)completion->token);
    }
    if (owner != 0) {
        (void)lk_sql_bind_text(source->done, owner, completion->owner);
    }
    if (attempt != 0) {
        (void)lk_sql_bind_integer(source->done, attempt, completion->attempt);
    }
    return id != 0 ? bind_real_id(store, source, id, completion->id) : SQLITE_OK;
}

int lk_sqlite_source_complete(struct lk_sqlite *store, struct lk_sqlite_source *source,
                              const struct lk_sqlite_completion *completion) {
    int code;

    if (source->done == NULL) {
        return SQLITE_OK;
    }
    code = bind_completion(store, source, completion);
    if (code != SQLITE_OK) {
        return code;
    }
    do {
        code = step(store, source->done, LK_SQLITE_GUARD_WRITE);
    } while (code == SQLITE_ROW);
    if (code != SQLITE_DONE) {
        (void)lk_sqlite_source_blame(store, source, "the --done statement failed", code);
    }
    return finish(source->done, code);
}

lk_outcome lk_sqlite_source_end(struct lk_sqlite_transaction *transaction,
                                struct lk_sqlite_source *source, int code, lk_error *error) {
    char complaint[LK_ERROR_TEXT_MAX] = "";
    lk_outcome outcome;

    if (source != NULL) {
        memcpy(complaint, source->complaint, sizeof complaint);
        source->complaint[0] = '\0';
    }
    outcome = lk_sqlite_transaction_end(transaction, code, error);
    if (complaint[0] != '\0' && outcome != LK_OK) {
        outcome = lk_error_set(error, LK_INVALID, "%s", complaint);
    }
    return outcome;
}
