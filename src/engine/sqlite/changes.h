/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows. */
#ifndef LK_ENGINE_SQLITE_CHANGES_H
#define LK_ENGINE_SQLITE_CHANGES_H

#include "engine/sqlite/closure.h"

/*
 * Writes the rows that the step changed, as they are in the model now, and the draws that it made
 * (R4). Returns SQLite's code. Writing the same changes again changes nothing.
 */
int lk_changes_write(const struct lk_closure *closure, const struct lk_effects *effects,
                     const struct lk_times *times);

/* R12: records what this break ended or revoked. */
int lk_changes_record(const struct lk_closure *closure, const struct lk_effects *effects,
                      const struct lk_command *command);

/* Removes rows that are not needed any more, if the random `draw` says that it is time. */
int lk_changes_upkeep(struct lk_sqlite_transaction *transaction, uint64_t draw);

#endif
