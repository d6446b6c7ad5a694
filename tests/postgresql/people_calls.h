/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as calls of the functions for people, in the transaction that is open. */
#ifndef LK_TESTS_POSTGRESQL_PEOPLE_CALLS_H
#define LK_TESTS_POSTGRESQL_PEOPLE_CALLS_H

#include "people_engine.h"

/* All but takes. The decision is as decide()'s. */
lk_outcome people_decide(struct people *people, const struct lk_command *command,
                         struct lk_decision *decision);
lk_outcome people_take(struct people *people, const struct lk_take *take,
                       struct lk_decision *decision);

/* Pushes of one queue, with the first one's delay, priority and needs. Rows, or NULL: *error. */
PGresult *people_push_all(struct people *people, const struct lk_command *commands, size_t count,
                          lk_error *error);

/*
 * Claims up to `count`, a row for each; NULL: FULL, and nothing has been done. *ret_refusal is what
 * ended them: it is asked beforehand, in a savepoint, for rows have none.
 */
PGresult *people_claim_all(struct people *people, const struct lk_take *take, size_t count,
                           lk_error *ret_refusal);
lk_claim_info *people_claim_of(const PGresult *rows, int row, const struct lk_take *take);

#endif
