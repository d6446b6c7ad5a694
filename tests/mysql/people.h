/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that decides by the public procedures (92_public_locks.sql and those behind it), on one
 * connection: in a transaction of the caller's, with others before and in it that are rolled back,
 * or by autocommit. The rest is left to the library's engine.
 */
#ifndef LK_TESTS_MYSQL_PEOPLE_H
#define LK_TESTS_MYSQL_PEOPLE_H

#include <mysql.h>

#include "../support.h"

/* The connection, which all engines of a store share. */
struct people {
    MYSQL *connection;
    struct lk_random random;
    MYSQL *stale;             /* that of people_stale.c */
    unsigned stale_way;       /* into its open transaction; 0: none is open */
    unsigned stale_counts[2]; /* it answered as a new transaction did; it was refused */
    unsigned counts[4]; /* decisions by autocommit; in a transaction; decoys that were rolled back;
                           and what was left to the library's engine */
};

/* Makes an engine of the library's decide so. Borrows `people`; one store is played at a time. */
void people_engine_turn(struct people *people, struct lk_engine *engine);

/* ---- people_sql.c: statements on that connection, and the fields of their rows --------------- */

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

/* ---- people_stale.c -------------------------------------------------------------------------- */

/* Before a decision: begins one, now and then. */
void people_stale_begin(struct people *people);
/* After it: lets it decide something, compares, and rolls back, now and then. */
void people_stale_play(struct people *people, const struct lk_path *path);

/* ---- people_work.c: commands of work as calls (94_public_work.sql) --------------------------- */

/* Whether the command is left to the library: a failure that is no text. */
bool people_leaves(const struct lk_command *command);

/* All commands of work; takes only in a transaction. The decision is as decide()'s. */
lk_outcome people_work(const struct lk_command *command, bool is_in_transaction,
                       struct lk_decision *decision);

/* Those series, or else the library's: ends of claims of one owner and token, takes, pushes of
 * texts. Fills the answers in. */
bool people_has_series(const struct lk_command *commands, size_t count);
void people_series(const struct lk_command *commands, size_t count, struct lk_series *series);

#endif
