/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that decides by the public functions (92_public_locks.sql and the next ones), in
 * transactions of one connection. Several decisions may share one, with others between them that
 * are rolled back, wholly or to a savepoint. What these functions do not have, and what lists the
 * store, is left to the library's engine, after a commit.
 */
#ifndef LK_TESTS_POSTGRESQL_PEOPLE_H
#define LK_TESTS_POSTGRESQL_PEOPLE_H

#include <libpq-fe.h>

#include "../support.h"

/* The connection, which all engines of a store share. */
struct people {
    PGconn *connection;
    const char *schema;
    struct lk_random random;
    bool is_open;       /* a transaction */
    unsigned counts[4]; /* decisions alone; in a shared transaction; decoys that were rolled back;
                           and what was left to the library's engine */
};

void people_commit(struct people *people);

/* Takes `real`, which it closes; borrows `people`. */
struct lk_engine *people_engine_open(struct people *people, struct lk_engine *real);

/* ---- people_sql.c: statements, their arguments, and the fields of their rows ----------------- */

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

/* ---- people_calls.c: commands as calls, in the transaction that is open ---------------------- */

/* All but takes. The decision is as decide()'s. */
lk_outcome people_decide(struct people *people, const struct lk_command *command,
                         struct lk_decision *decision);
lk_outcome people_take(struct people *people, const struct lk_take *take,
                       struct lk_decision *decision);

/* Pushes of one queue, with the first one's delay, priority and needs. Rows, or NULL: *error. */
PGresult *people_push_all(struct people *people, const struct lk_command *commands, size_t count,
                          lk_error *error);
lk_push_result people_pushed(const PGresult *rows, int row, enum lk_push_kind kind);

/*
 * Claims up to `count`, a row for each; NULL: FULL, and nothing has been done. *ret_refusal is what
 * ended them: it is asked beforehand, in a savepoint, for rows have none.
 */
PGresult *people_claim_all(struct people *people, const struct lk_take *take, size_t count,
                           lk_error *ret_refusal);
lk_claim_info *people_claim_of(const PGresult *rows, int row, const struct lk_take *take);

#endif
