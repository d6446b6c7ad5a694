/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of work as calls of the public procedures (94_public_work.sql). */
#ifndef LK_TESTS_MYSQL_PEOPLE_WORK_H
#define LK_TESTS_MYSQL_PEOPLE_WORK_H

#include "people_engine.h"

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
