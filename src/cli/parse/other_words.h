/* SPDX-License-Identifier: Apache-2.0 */
/* What other programs call a command or an option of lk, for "did you mean". */
#ifndef LK_CLI_PARSE_OTHER_WORDS_H
#define LK_CLI_PARSE_OTHER_WORDS_H

#include <stddef.h>

/* The command of lk that does what another program calls `word`, of `size` bytes; NULL: none. */
const char *lk_other_command(const char *word, size_t size);

/* The same of an option, without its dashes. */
const char *lk_other_option(const char *word, size_t size);

#endif
