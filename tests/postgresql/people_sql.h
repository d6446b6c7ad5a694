/* SPDX-License-Identifier: Apache-2.0 */
/* Statements, their arguments and the fields of their rows. */
#ifndef LK_TESTS_POSTGRESQL_PEOPLE_SQL_H
#define LK_TESTS_POSTGRESQL_PEOPLE_SQL_H

#include "people_engine.h"

enum { VALUES_MAX = 24, SQL_MAX = 2048 };

/* The arguments of a call: texts, which live as long as this. */
struct call {
    char texts[VALUES_MAX][LK_PARTS_MAX * LK_PART_TEXT_MAX];
    const char *values[VALUES_MAX];
    int count;
};

bool people_chance(struct people *people, int percent);

/* In SQL, `lockkeeper` is the schema of the store. A statement that must succeed. */
void sql_must(struct people *people, const char *sql);

/* Rows, for PQclear(); or NULL: an error of these functions, of which outcome and sentence are in
 * *error. In an open transaction it undoes nothing else. */
PGresult *sql_ask(struct people *people, const char *sql, const struct call *call, lk_error *error);

char *call_add(struct call *call); /* where to write it */
void call_add_null(struct call *call);
void call_add_text(struct call *call, struct lk_slice text); /* empty: NULL */
void call_add_path(struct call *call, const struct lk_path *path);
void call_add_number(struct call *call, int64_t number, const char *unit); /* 0: NULL */
void call_add_boolean(struct call *call, bool is_true);
void call_add_bytes(struct call *call, struct lk_slice bytes);
void call_add_parts(struct call *call, const struct lk_part *parts, size_t count);
void call_add_paths(struct call *call, const struct lk_part *parts, size_t count);

const char *text_at(const PGresult *rows, int row, const char *column); /* NULL: it is NULL */
int64_t number_at(const PGresult *rows, int row, const char *column);
bool boolean_at(const PGresult *rows, int row, const char *column);
unsigned char *bytes_at(const PGresult *rows, int row, const char *column,
                        size_t *ret_size); /* for PQfreemem(); NULL: it is NULL */
lk_outcome outcome_of(const char *name);

#endif
