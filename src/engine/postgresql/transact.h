/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several statements as one transaction, sent together with its BEGIN and COMMIT and answered
 * together: one round trip, and no lock is held for a client that is slow or has stopped.
 *
 * At READ COMMITTED. Where one of them fails, none has taken effect.
 */
#ifndef LK_ENGINE_POSTGRESQL_TRANSACT_H
#define LK_ENGINE_POSTGRESQL_TRANSACT_H

#include "engine/postgresql/store.h"

enum { LK_STEPS_MAX = 4 };

struct lk_postgresql_step {
    const char *sql;
    int first; /* its arguments, of the transaction's */
    int count;
    const Oid *types; /* of these; NULL: as the server finds */
};

struct lk_postgresql_transaction {
    struct lk_postgresql_step steps[LK_STEPS_MAX];
    size_t step_count;
    bool is_read_only;
    enum lk_repeat repeat;
    struct lk_arguments arguments;

    /* What it came to. */
    PGresult *results[LK_STEPS_MAX]; /* of the steps, when it was committed */
    PGresult *failure;               /* the server's error, when it was not */
    size_t failed;                   /* the step that failed; step_count: the COMMIT */
};

/*
 * LK_OK with results; else an outcome as lk_postgresql_call() has it, and with an error of the
 * server's also the failure. Ends the arguments; what it came to is for transaction_done().
 */
lk_outcome lk_postgresql_transact(struct lk_postgresql *store,
                                  struct lk_postgresql_transaction *transaction,
                                  const struct lk_patience *patience, lk_error *error);
void lk_postgresql_transaction_done(struct lk_postgresql_transaction *transaction);

#endif
