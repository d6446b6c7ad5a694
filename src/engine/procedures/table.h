/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that lives in a table of the owner's (R17). The kinds of databases provide the statements;
 * table.c and announce.c decide which of them run, and when.
 *
 * The owner's SQL runs in plain statements, with the connection's own rights, beside the store's
 * procedures and never inside them.
 */
#ifndef LK_ENGINE_PROCEDURES_TABLE_H
#define LK_ENGINE_PROCEDURES_TABLE_H

#include "engine/procedures/procedures.h"
#include "engine/procedures/statement.h"

/*
 * The statements of a source, with their arguments. Segments are ids of rows as they appear in
 * paths (engine/row_id.h). A take answers, after the columns of lk_take(), the number of rows it
 * has locked and the position of the last item that it checked: a text of the database's own, which
 * "after which item" is, too.
 */
enum lk_source_text {
    LK_TABLE_FIND,    /* rows to announce, as segments: queue, how many */
    LK_TABLE_SKIPPED, /* rows that match but cannot be items: the beginnings and the sizes of ids */
    LK_TABLE_MARKS,   /* marks: id, whether its row matches, position; arguments: queue, behind
                         which position (a text, empty at first), how many */
    LK_TABLE_PARKED,  /* the same of parked items */
    LK_TABLE_RIPEN,   /* makes due items ready: queue, root */
    LK_TABLE_TAKE,    /* claims: queue, root, above, owner, ttl_ms, max_attempts, ask number, note,
                         after which item, items to check, rows to lock */
    LK_TABLE_DROP,    /* items whose rows do not match: queue, root, after which item, items */
    LK_TABLE_BEGIN,   /* before the owner's statement: queue, id, root, owner, token */
    LK_TABLE_END,     /* after it: the same, and the row's id */

    /* Short ways, for simple cases. */
    LK_TABLE_TAKE_SHORT, /* the arguments of a take up to the note; the same answer, with NULL as
                            the outcome of what is not simple */
    LK_TABLE_BEGIN_SHORT,
    LK_TABLE_END_SHORT,
    LK_TABLE_END_AND_TAKE_SHORT, /* an end's arguments; above, ttl_ms, max_attempts, ask number,
                                    note of a take in the same transaction; answers like a take */
    LK_TABLE_TEXTS
};

/* The statements of a source, in its database's SQL. */
struct lk_source_sql {
    char *texts[LK_TABLE_TEXTS];
    struct lk_statement done; /* its text NULL: there is none */
};

void lk_source_sql_done(struct lk_source_sql *table);

/* Whether all texts have been made; if not, memory is exhausted. */
bool lk_source_sql_is_whole(const struct lk_source_sql *table);

/* A portion of lk_procedures_table_purge(), behind the one that this store purged last. */
lk_outcome lk_procedures_purge_some(struct lk_procedures *store, const struct lk_source *source,
                                    const struct lk_source_sql *table,
                                    const struct lk_patience *patience, lk_error *error);

/* ---- transactions ---------------------------------------------------------------------------- */

enum { LK_STEPS_MAX = 4 };

struct lk_step {
    const char *sql;
    int first; /* index of its first argument among the transaction's */
    int count;
};

/* Why a transaction was rolled back. */
enum lk_failure {
    LK_FAILURE_NONE,   /* it was not; or the reason is explained already */
    LK_FAILURE_ENDED,  /* R3: the same call, sent before, has ended the claim */
    LK_FAILURE_LOST,   /* the claim is lost */
    LK_FAILURE_DENIED, /* the owner's SQL: permission denied */
    LK_FAILURE_WRONG,  /* the owner's SQL: anything else */
    LK_FAILURE_LONG,   /* it was not simple enough for a short way */
};

/*
 * Several statements between one BEGIN and COMMIT, at READ COMMITTED. They are sent together where
 * the database supports it: this takes one round trip, and no lock is held while a client is slow
 * or stopped.
 */
struct lk_transaction {
    struct lk_step steps[LK_STEPS_MAX];
    size_t step_count;
    enum lk_repeat repeat; /* LK_READING: the transaction is read-only */
    bool is_short;         /* it uses a short way */
    struct lk_arguments arguments;

    /* The results. */
    struct lk_rows *rows[LK_STEPS_MAX];
    enum lk_failure failure;
    char words[LK_ERROR_TEXT_MAX]; /* the database's message about the failure */
};

void lk_transaction_done(struct lk_transaction *transaction);

/*
 * The meaning of a failure for the owner: LK_INVALID or LK_DENIED, with a sentence that names
 * `what` and quotes the database's message. Otherwise the outcome, which is explained already.
 */
lk_outcome lk_transaction_blame(const struct lk_transaction *transaction, const char *what,
                                lk_outcome outcome, lk_error *error);

/*
 * Runs a transaction of a single step for its rows: *ret_rows for lk_rows_free(). Ends the
 * transaction. If it fails, the sentence blames `what`.
 */
lk_outcome lk_transaction_read(struct lk_procedures *store, struct lk_transaction *transaction,
                               const char *what, const struct lk_patience *patience,
                               struct lk_rows **ret_rows, lk_error *error);

#endif
