/* SPDX-License-Identifier: Apache-2.0 */
/* Statements on the connection that is played on, and the fields of their rows. */
#ifndef LK_TESTS_MYSQL_PEOPLE_SQL_H
#define LK_TESTS_MYSQL_PEOPLE_SQL_H

#include "people_engine.h"

#define NOW "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

void sql_open(struct people *people);
bool sql_chance(int percent);

/* The next statement, piece by piece. */
void sql_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sql_add_text(struct lk_slice text); /* as a string; empty: NULL */
void sql_add_bytes(struct lk_slice bytes);
void sql_add_parts(const struct lk_part *parts, size_t count, bool has_words);
void sql_add_token(uint64_t token);
/* The owner; or none, if the token tells it: the request is held. */
void sql_add_owner(struct lk_slice owner, const struct lk_path *path, uint64_t token);

/* The first rows of its answer; or NULL: an error of these procedures, in *error. */
MYSQL_RES *sql_run(lk_error *error);
void sql_must(const char *statement);
/* The call, with its options: whether it may fail, and these. NULL: INVALID. */
MYSQL_RES *sql_run_end(const char *options, lk_error *error);

struct lk_slice bytes_at(MYSQL_RES *rows, unsigned number, const char *column);
const char *text_at(MYSQL_RES *rows, unsigned number, const char *column); /* NULL: it is NULL */
int64_t number_at(MYSQL_RES *rows, unsigned number, const char *column);
lk_outcome outcome_at(MYSQL_RES *rows, unsigned number);

#endif
