/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows. */
#ifndef LK_ENGINE_SQLITE_CHANGES_H
#define LK_ENGINE_SQLITE_CHANGES_H

#include "engine/sqlite/closure.h"

/*
 * Writes everything that the step changed as it stands now, and the draws that it made (R4).
 * Returns SQLite's code. Writing the same changes again changes nothing.
 */
int lk_changes_write(const struct lk_closure *closure, const struct lk_effects *effects,
                     const struct lk_times *times);

/*
 * Says in the file that programs of formats without values and work must not write to it any more,
 * when this event changed something and is the first to bring what they would leave behind.
 */
int lk_changes_mark_format(const struct lk_sqlite_transaction *transaction,
                           const struct lk_command *command);

/* R12: puts on record what this break ended or revoked. */
int lk_changes_record(const struct lk_closure *closure, const struct lk_effects *effects,
                      const struct lk_command *command);

/* Now and then, removes rows that are not needed any more. `draw` says whether it is time. */
int lk_changes_upkeep(struct lk_sqlite_transaction *transaction, uint64_t draw);

#endif
