/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changed, as rows: requests, items, values; and events, while they are kept. */
#ifndef LK_ENGINE_SQLITE_CHANGES_H
#define LK_ENGINE_SQLITE_CHANGES_H

#include "engine/event.h"
#include "engine/sqlite/closure.h"
#include "engine/sqlite/store.h"
#include "sql/events.h"

/* ---- requests, items and values -------------------------------------------------------------- */

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

/* ---- events (R21) ---------------------------------------------------------------------------- */

/* Kept in the transaction that decides, as rows, while the store is watched. */

/* A mark further ahead than any program sets it is not valid: rows are hostile. */
static inline bool lk_sqlite_events_are_watched(const struct lk_sqlite_transaction *transaction) {
    int64_t until_us = transaction->meta.watched_until_us;

    return until_us > transaction->times.now_us
           && until_us - transaction->times.now_us <= LK_WATCHED_US;
}

/* Whether events are kept: because of the bound, or because the store is watched. */
static inline bool lk_sqlite_events_are_kept(const struct lk_sqlite_transaction *transaction) {
    return transaction->meta.events_max > 0 || lk_sqlite_events_are_watched(transaction);
}

/* Reads a row, of any origin, which the event borrows. false: no rule could have made it. */
bool lk_sqlite_event_read(const struct lk_sql_event *row, struct lk_part parts[LK_PARTS_MAX],
                          struct lk_event *ret_event);

/* Writes the events of the step, if events are kept. Returns SQLite's code. */
int lk_sqlite_events_keep(struct lk_sqlite_transaction *transaction, const struct lk_model *model,
                          const struct lk_effects *effects, const struct lk_command *command);

/*
 * Called before events begin to be kept. If they were not kept until now, leaves out a number: a
 * follower that has seen the last event then detects the gap.
 */
int lk_sqlite_events_begin(struct lk_sqlite_transaction *transaction);

/* Deletes a bounded number of events if the store has not been watched for long. */
int lk_sqlite_events_upkeep(struct lk_sqlite_transaction *transaction);

#endif
