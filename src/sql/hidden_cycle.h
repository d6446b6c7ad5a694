/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a cycle of owners (R13) may exist that no ask has found.
 *
 * An ask that closes a cycle is refused, so a cycle can only form unseen by the events that
 * model/ask.c names. Triggers note them, whatever program writes. They are made with the indexes of
 * lines (lines.h): only there does it cost much to search for a cycle that does not exist.
 */
#ifndef LK_SQL_HIDDEN_CYCLE_H
#define LK_SQL_HIDDEN_CYCLE_H

#include "sql/requests.h"

extern const char lk_sql_hidden_cycle_script[]; /* makes the note; format.c knows it by this */

/* Makes the note and its triggers, where they are missing. In a write transaction. */
int lk_sql_note_hidden_cycles(struct lk_sql *sql);

/*
 * *ret_may true: a cycle may exist. In a write transaction. If one of these events has happened,
 * the waiting requests are read: without an owner that waits and has another request there is no
 * cycle.
 */
int lk_sql_may_hide_cycle(struct lk_sql *sql, bool *ret_may);

#endif
