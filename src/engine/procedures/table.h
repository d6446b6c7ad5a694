/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that lives in a table of the owner's (R17): what the kinds of databases make of it, for
 * table.c and announce.c, which know what is to be run and when.
 *
 * The owner's SQL is run in plain statements, with the connection's own rights, beside the store's
 * procedures and never inside them.
 */
#ifndef LK_ENGINE_PROCEDURES_TABLE_H
#define LK_ENGINE_PROCEDURES_TABLE_H

#include "engine/procedures/procedures.h"
#include "engine/statement.h"

/*
 * The statements of a source, and what they are given. Segments are ids of rows as paths have them
 * (engine/row_id.h). A take answers, behind the columns of lk_take(), how many rows it has locked,
 * and the place of the last item that it looked at.
 */
enum lk_table_text {
    LK_TABLE_FIND,  /* rows to announce, as segments: queue, how many */
    LK_TABLE_MARKS, /* marks, and whether their rows fit: queue, behind which one, how many */
    LK_TABLE_RIPEN, /* makes ready what is due: queue, root */
    LK_TABLE_TAKE,  /* claims: queue, root, above, owner, ttl_ms, max_attempts, ask number, note,
                       behind which place, items looked at, rows locked */
    LK_TABLE_DROP,  /* items whose rows do not fit: queue, root, behind which place, items */
    LK_TABLE_BEGIN, /* before the owner's statement: queue, id, root, owner, token */
    LK_TABLE_END,   /* behind it: the same, and the row's id */

    /* Short ways, for what is simple. */
    LK_TABLE_TAKE_SHORT, /* the arguments of a take up to the note; answers as it, with NULL as the
                            outcome of what is not simple */
    LK_TABLE_BEGIN_SHORT,
    LK_TABLE_END_SHORT,
    LK_TABLE_END_AND_TAKE_SHORT, /* an end's arguments; above, ttl_ms, max_attempts, ask number,
                                    note of a take in the same transaction; answers as one */
    LK_TABLE_TEXTS
};

/* A source as its database has it. */
struct lk_table {
    char *texts[LK_TABLE_TEXTS];
    struct lk_statement done; /* its text NULL: there is none */
};

void lk_table_done(struct lk_table *table);

/* Whether all texts have been made; else memory is exhausted. */
bool lk_table_is_whole(const struct lk_table *table);

/* ---- transactions ---------------------------------------------------------------------------- */

enum { LK_STEPS_MAX = 4 };

struct lk_step {
    const char *sql;
    int first; /* its arguments, of the transaction's */
    int count;
};

/* Why a transaction was undone. */
enum lk_failure {
    LK_FAILURE_NONE,   /* it was not; or for reasons that are explained already */
    LK_FAILURE_ENDED,  /* R3: this very call has ended the claim before */
    LK_FAILURE_LOST,   /* the claim is lost */
    LK_FAILURE_DENIED, /* the owner's SQL: no right to do it */
    LK_FAILURE_WRONG,  /* the owner's SQL: anything else */
    LK_FAILURE_LONG,   /* it was not as simple as a short way has it */
};

/*
 * Several statements with one BEGIN and COMMIT, at READ COMMITTED; sent together where the database
 * can: one round trip, and no lock is held for a client that is slow or has stopped.
 */
struct lk_transaction {
    struct lk_step steps[LK_STEPS_MAX];
    size_t step_count;
    enum lk_repeat repeat; /* LK_READING: it can do nothing else */
    bool is_short;         /* it goes a short way */
    struct lk_arguments arguments;

    /* What it came to. */
    struct lk_rows *rows[LK_STEPS_MAX];
    enum lk_failure failure;
    char words[LK_ERROR_TEXT_MAX]; /* the database's, about the failure */
};

void lk_transaction_done(struct lk_transaction *transaction);

/*
 * What a failure means to the owner: LK_INVALID or LK_DENIED, with `what` failed and the words;
 * else the outcome, which is explained already.
 */
lk_outcome lk_transaction_blame(const struct lk_transaction *transaction, const char *what,
                                lk_outcome outcome, lk_error *error);

/*
 * Runs one of a single step, for the rows that it answers: *ret_rows for lk_rows_free(). Ends the
 * transaction and, when it fails, blames `what`.
 */
lk_outcome lk_transaction_read(struct lk_procedures *store, struct lk_transaction *transaction,
                               const char *what, const struct lk_patience *patience,
                               struct lk_rows **ret_rows, lk_error *error);

#endif
