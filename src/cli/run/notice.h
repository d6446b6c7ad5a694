/* SPDX-License-Identifier: Apache-2.0 */
/* What `lk run` says on stderr beside the outcome it ends in: one line, one write. */
#ifndef LK_CLI_RUN_NOTICE_H
#define LK_CLI_RUN_NOTICE_H

#include <stdbool.h>

/* Bytes of a line; what is longer is cut. */
enum { LK_RUN_NOTICE_MAX = 1024 };

/*
 * Says `lk: WORD: text`, with the text made visible (lk_human_visible()). Where nobody reads (a
 * full pipe, a terminal held by ^S) it is not said after a second: a reader must not keep a lease
 * alive.
 */
void lk_run_notice(const char *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a notice would be said without waiting for a reader. */
bool lk_run_notice_has_room(void);

#endif
