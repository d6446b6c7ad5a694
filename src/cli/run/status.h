/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that `lk run` writes to stderr beside its outcome, each in one write. */
#ifndef LK_CLI_RUN_STATUS_H
#define LK_CLI_RUN_STATUS_H

#include <stdbool.h>

/* Bytes of a line; a longer one is cut. */
enum { LK_RUN_STATUS_MAX = 1024 };

/*
 * Prints `lk: WORD: text`, with the text made visible (lk_human_sentence()). If stderr stays
 * unwritable for a second (a full pipe, a terminal held by ^S), the line is dropped: a slow reader
 * must not delay lk.
 */
void lk_run_status(const char *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * `prefix` is written in front of each later line, in the same write: what clears a line that the
 * terminal shows and that is drawn again. Static storage. To be called while no other thread is
 * running; children that are forked later have it too.
 */
void lk_run_status_begin_with(const char *prefix);

/* Whether a notice would be said without waiting for a reader. */
bool lk_run_status_has_room(void);

#endif
