/* SPDX-License-Identifier: Apache-2.0 */
/* One decision inside a transaction: load the closure, step, write what changed. */
#ifndef LK_ENGINE_SQLITE_DECIDE_H
#define LK_ENGINE_SQLITE_DECIDE_H

#include "engine/sqlite/closure.h"

/*
 * Loads, decides and writes. *ret_effects is the closure's model's. Returns SQLite's code;
 * lk_closure_done() in any case.
 */
int lk_sqlite_step(struct lk_sqlite_transaction *transaction, struct lk_command *command,
                   struct lk_closure *closure, const struct lk_effects **ret_effects);

/* The last of these three alone: writes everything that the step changed. */
int lk_sqlite_write(struct lk_sqlite_transaction *transaction, const struct lk_command *command,
                    const struct lk_closure *closure, const struct lk_effects *effects);

/*
 * Ends what is overdue: all claims of the queue (NULL: none), and a bounded number of other
 * requests. Returns SQLite's code.
 */
int lk_sqlite_sweep(struct lk_sqlite_transaction *transaction, const struct lk_path *queue);

struct lk_sqlite_source;

/*
 * Decides any command but a take, in a transaction of the caller's, and fills the decision, which
 * is empty. `source` may be NULL. Returns SQLite's code.
 */
int lk_sqlite_decide_in(struct lk_sqlite_transaction *transaction, struct lk_sqlite_source *source,
                        const struct lk_command *command, struct lk_decision *decision);

/*
 * Ends the transaction and returns the decision's outcome. If it was not committed, the decision
 * becomes the failure. `source` may be NULL.
 */
lk_outcome lk_sqlite_conclude(struct lk_sqlite_transaction *transaction,
                              struct lk_sqlite_source *source, int code,
                              struct lk_decision *decision);

/* take.c: a take. Fills the decision, which is empty. */
lk_outcome lk_sqlite_take(struct lk_sqlite *store, const struct lk_source *text,
                          const struct lk_command *command, const struct lk_patience *patience,
                          struct lk_decision *decision);

/* The same in a transaction of the caller's, and for no table. Returns SQLite's code. */
int lk_sqlite_take_in(struct lk_sqlite_transaction *transaction, const struct lk_command *command,
                      struct lk_decision *decision);

#endif
