/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with arguments, and the fields of their rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "people.h"
#include "sql/rename.h"

bool people_chance(struct people *people, int percent) {
    return lk_random_between(&people->random, 1, 100) <= percent;
}

/* ---- statements ------------------------------------------------------------------------------ */

static PGresult *run(struct people *people, const char *sql, const struct call *call) {
    char *renamed = lk_sql_rename(sql, "lockkeeper", people->schema);
    PGresult *result = PQexecParams(people->connection, renamed, call != NULL ? call->count : 0,
                                    NULL, call != NULL ? call->values : NULL, NULL, NULL, 0);

    free(renamed);
    return result;
}

/* Which must succeed. */
void sql_must(struct people *people, const char *sql) {
    PGresult *result = run(people, sql, NULL);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        test_die("%s: %s", sql, PQerrorMessage(people->connection));
    }
    PQclear(result);
}

/* Rows, or NULL: an error of these functions, of which the sentence is in *error. */
PGresult *sql_ask(struct people *people, const char *sql, const struct call *call,
                  lk_error *error) {
    static const struct {
        const char *code;
        lk_outcome outcome;
    } codes[] = {{"LK064", LK_INVALID}, {"LK073", LK_FULL}, {"LK075", LK_BUSY}, {"LK078", LK_LOST}};
    PGresult *result;
    const char *code;

    if (people->is_open) {
        sql_must(people, "SAVEPOINT one");
    }
    result = run(people, sql, call);
    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        if (people->is_open) {
            sql_must(people, "RELEASE one");
        }
        return result;
    }
    code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    for (size_t i = 0; code != NULL && i < sizeof codes / sizeof codes[0]; i++) {
        if (strcmp(code, codes[i].code) == 0) {
            (void)lk_error_set(error, codes[i].outcome, "%s",
                               PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
            PQclear(result);
            if (people->is_open) {
                sql_must(people, "ROLLBACK TO one");
            }
            return NULL;
        }
    }
    test_die("%s: %s", sql, PQresultErrorMessage(result));
}

void people_commit(struct people *people) {
    if (people->is_open) {
        people->is_open = false;
        sql_must(people, "COMMIT");
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

char *call_add(struct call *call) {
    call->values[call->count] = call->texts[call->count];
    return call->texts[call->count++];
}

void call_add_null(struct call *call) {
    call->values[call->count++] = NULL;
}

/* Empty: NULL. */
void call_add_text(struct call *call, struct lk_slice text) {
    if (text.size == 0) {
        call_add_null(call);
    } else {
        (void)snprintf(call_add(call), sizeof call->texts[0], "%.*s", (int)text.size, text.bytes);
    }
}

void call_add_path(struct call *call, const struct lk_path *path) {
    call_add_text(call, (struct lk_slice){path->bytes, path->size});
}

/* 0: NULL. */
void call_add_number(struct call *call, int64_t number, const char *unit) {
    if (number == 0) {
        call_add_null(call);
    } else {
        (void)snprintf(call_add(call), sizeof call->texts[0], "%lld%s", (long long)number, unit);
    }
}

void call_add_boolean(struct call *call, bool is_true) {
    (void)strcpy(call_add(call), is_true ? "t" : "f");
}

void call_add_bytes(struct call *call, struct lk_slice bytes) {
    char *text = call_add(call);

    (void)strcpy(text, "\\x");
    for (size_t i = 0; i < bytes.size; i++) {
        (void)sprintf(text + 2 + 2 * i, "%02x", (unsigned char)bytes.bytes[i]);
    }
}

void call_add_parts(struct call *call, const struct lk_part *parts, size_t count) {
    if (count == 0) {
        (void)strcpy(call_add(call), "");
    } else {
        (void)lk_parts_write(parts, count, call_add(call));
    }
}

/* Their paths alone. */
void call_add_paths(struct call *call, const struct lk_part *parts, size_t count) {
    struct lk_part plain[LK_PARTS_MAX];

    for (size_t i = 0; i < count; i++) {
        plain[i] = (struct lk_part){.path = parts[i].path, .mode = LK_EXCLUSIVE};
    }
    call_add_parts(call, plain, count);
}

/* ---- rows ------------------------------------------------------------------------------------ */

const char *text_at(const PGresult *rows, int row, const char *column) {
    int field = PQfnumber(rows, column);

    if (field < 0) {
        test_die("there is no column %s", column);
    }
    return PQgetisnull(rows, row, field) ? NULL : PQgetvalue(rows, row, field);
}

int64_t number_at(const PGresult *rows, int row, const char *column) {
    const char *text = text_at(rows, row, column);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

bool boolean_at(const PGresult *rows, int row, const char *column) {
    const char *text = text_at(rows, row, column);

    return text != NULL && text[0] == 't';
}

/* For PQfreemem(); NULL: it is NULL. */
unsigned char *bytes_at(const PGresult *rows, int row, const char *column, size_t *ret_size) {
    const char *text = text_at(rows, row, column);

    return text != NULL ? PQunescapeBytea((const unsigned char *)text, ret_size) : NULL;
}

lk_outcome outcome_of(const char *name) {
    for (lk_outcome outcome = LK_OK; (unsigned)outcome < LK_OUTCOME_COUNT; outcome++) {
        if (strcmp(lk_outcome_name(outcome), name) == 0) {
            return outcome;
        }
    }
    test_die("there is no outcome %s", name);
}
