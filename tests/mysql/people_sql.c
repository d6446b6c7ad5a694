/* SPDX-License-Identifier: Apache-2.0 */
/* Statements, and the fields of their rows. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "people.h"

enum { SQL_MAX = 1 << 20 };

static struct people *people;

void sql_open(struct people *its_people) {
    people = its_people;
}

bool sql_chance(int percent) {
    return lk_random_between(&people->random, 1, 100) <= percent;
}

/* ---- statements ------------------------------------------------------------------------------ */

static char sql[SQL_MAX]; /* the next one, and its size */
static size_t used;

void sql_add(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    used += (size_t)vsnprintf(sql + used, sizeof sql - used, format, arguments);
    va_end(arguments);
    if (used >= sizeof sql) {
        test_die("a statement is too long");
    }
}

/* As a string; empty: NULL. */
void sql_add_text(struct lk_slice text) {
    if (text.size == 0) {
        sql_add("NULL");
        return;
    }
    sql_add("'");
    used += mysql_real_escape_string(people->connection, sql + used, text.bytes, text.size);
    sql_add("'");
}

void sql_add_bytes(struct lk_slice bytes) {
    sql_add("x'");
    for (size_t i = 0; i < bytes.size; i++) {
        sql_add("%02x", (unsigned char)bytes.bytes[i]);
    }
    sql_add("'");
}

void sql_add_parts(const struct lk_part *parts, size_t count, bool has_words) {
    static char text[LK_PARTS_MAX * LK_PART_TEXT_MAX];
    struct lk_part plain[LK_PARTS_MAX];

    for (size_t i = 0; i < count; i++) {
        plain[i] =
            has_words ? parts[i] : (struct lk_part){.path = parts[i].path, .mode = LK_EXCLUSIVE};
    }
    if (count == 1 && sql_chance(50)) {
        (void)lk_parts_write(plain, count, text);
        sql_add_text(lk_slice_of(text));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        (void)lk_parts_write(&plain[i], 1, text);
        sql_add(i > 0 ? ", " : "JSON_ARRAY(");
        sql_add_text(lk_slice_of(text));
    }
    sql_add(")");
}

void sql_add_token(uint64_t token) {
    if (token != 0) {
        sql_add("%llu", (unsigned long long)token);
    } else {
        sql_add("NULL");
    }
}

/* Rows, or NULL: an error of these procedures, of which the sentence is in *error. */
MYSQL_RES *sql_run(lk_error *error) {
    static const struct {
        const char *code;
        lk_outcome outcome;
    } codes[] = {{"LK064", LK_INVALID}, {"LK073", LK_FULL}, {"LK075", LK_BUSY}, {"LK078", LK_LOST}};
    MYSQL_RES *rows = NULL;

    used = 0;
    if (mysql_real_query(people->connection, sql, strlen(sql)) == 0) {
        do {
            MYSQL_RES *next = mysql_store_result(people->connection);
            rows = rows != NULL ? rows : next;
        } while (mysql_next_result(people->connection) == 0);
    }
    if (mysql_errno(people->connection) == 0) {
        return rows;
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (strcmp(mysql_sqlstate(people->connection), codes[i].code) == 0) {
            (void)lk_error_set(error, codes[i].outcome, "%s", mysql_error(people->connection));
            mysql_free_result(rows);
            return NULL;
        }
    }
    test_die("%s: %s", sql, mysql_error(people->connection));
}

void sql_must(const char *statement) {
    lk_error error;

    sql_add("%s", statement);
    mysql_free_result(sql_run(&error));
}

/* ---- the fields of one row ------------------------------------------------------------------- */

struct lk_slice bytes_at(MYSQL_RES *rows, unsigned number, const char *column) {
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    MYSQL_ROW row;

    mysql_data_seek(rows, number);
    row = mysql_fetch_row(rows);
    for (unsigned i = 0; row != NULL && i < mysql_num_fields(rows); i++) {
        if (strcmp(fields[i].name, column) == 0) {
            return (struct lk_slice){row[i], mysql_fetch_lengths(rows)[i]};
        }
    }
    test_die("there is no row, or no column %s", column);
}

const char *text_at(MYSQL_RES *rows, unsigned number, const char *column) {
    return bytes_at(rows, number, column).bytes;
}

int64_t number_at(MYSQL_RES *rows, unsigned number, const char *column) {
    const char *text = text_at(rows, number, column);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

lk_outcome outcome_at(MYSQL_RES *rows, unsigned number) {
    const char *name = text_at(rows, number, "outcome");

    for (lk_outcome outcome = LK_OK; (unsigned)outcome < LK_OUTCOME_COUNT; outcome++) {
        if (strcmp(lk_outcome_name(outcome), name) == 0) {
            return outcome;
        }
    }
    test_die("there is no outcome %s", name);
}

/* ---- what is common to ends ------------------------------------------------------------------ */

/*
 * The call, whose options are to be added, with or_fail: its error says why. If it has failed, the
 * call without it answers the same outcome, and has the effects of one (R11: what is overdue
 * perishes). Answers its row; NULL: INVALID.
 */
MYSQL_RES *sql_run_end(const char *options, lk_error *error) {
    char *call = lk_text_copy((struct lk_slice){sql, used});
    MYSQL_RES *rows;
    lk_error same;

    sql_add(", JSON_OBJECT('or_fail', NULL%s))", options);
    rows = sql_run(error);
    if (rows != NULL) {
        (void)lk_error_clear(error, LK_OK);
    } else if (error->outcome != LK_INVALID) {
        sql_add("%s, JSON_OBJECT('or_fail', JSON_EXTRACT('[false]', '$[0]')%s))", call, options);
        rows = sql_run(&same);
        if (rows == NULL || outcome_at(rows, 0) != error->outcome) {
            test_die("%s: %s by an error, and then another outcome", call,
                     lk_outcome_name(error->outcome));
        }
    }
    free(call);
    return rows;
}

/* The owner; or none, if the token tells it: the request is held. */
void sql_add_owner(struct lk_slice owner, const struct lk_path *path, uint64_t token) {
    bool is_told = false;

    if (token != 0 && sql_chance(40)) {
        char *call = lk_text_copy((struct lk_slice){sql, used});
        MYSQL_RES *rows;
        lk_error error;
        used = 0;
        sql_add("SELECT COUNT(*) = 1 AND SUM(r.owner = ");
        sql_add_text(owner);
        sql_add(" AND r.held AND r.deadline_us > " NOW ") = 1 AS is_told FROM lk_requests AS r"
                " WHERE r.token = %llu AND r.path = ",
                (unsigned long long)token);
        sql_add_text((struct lk_slice){path->bytes, path->size});
        rows = sql_run(&error);
        is_told = number_at(rows, 0, "is_told") != 0;
        mysql_free_result(rows);
        sql_add("%s", call);
        free(call);
    }
    sql_add_text(is_told ? (struct lk_slice){"", 0} : owner);
}
