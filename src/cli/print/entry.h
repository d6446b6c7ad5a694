/* SPDX-License-Identifier: Apache-2.0 */
/* One part of a live request in words, the same wherever it is shown; and as objects. */
#ifndef LK_CLI_PRINT_ENTRY_H
#define LK_CLI_PRINT_ENTRY_H

#include "cli/print/say.h"

enum { LK_ENTRY_MODE_SIZE = 48 };

/* "exclusive", "shared", "shared 2/5" (units of the limit). */
void lk_entry_mode_text(const lk_entry *entry, char ret_text[LK_ENTRY_MODE_SIZE]);

/* "held", "revoked" (held until its deadline, R12) or "waiting". */
const char *lk_entry_state_text(const lk_entry *entry);

/* The escape sequence of the state's colour. */
const char *lk_entry_colour(const lk_entry *entry);

/* --json: one object a part. Returns the exit code. */
int lk_entries_say(const struct lk_cli *cli, const lk_listing *listing, bool with_blockers);

#endif
