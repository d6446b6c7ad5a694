/* SPDX-License-Identifier: Apache-2.0 */
/* A password from a terminal, which does not show it, or from a pipe. */
#ifndef LK_CLI_PASSWD_PROMPT_H
#define LK_CLI_PASSWD_PROMPT_H

#include <stddef.h>

#include "lockkeeper/terms.h"

/*
 * The first line of stdin; of a terminal twice the same, asked for on stderr. LK_OK; LK_INVALID:
 * empty, too long, or not the same twice; LK_CANCELLED: Ctrl-C.
 */
lk_outcome lk_prompt_password(char *ret_password, size_t capacity, lk_error *error);

#endif
