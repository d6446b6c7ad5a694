/* SPDX-License-Identifier: Apache-2.0 */
/* Values that come from the command line, from a file or from stdin. */
#ifndef LK_CLI_PARSE_INPUT_H
#define LK_CLI_PARSE_INPUT_H

#include <stddef.h>

#include "lockkeeper/lockkeeper.h"

/* Bytes of a value. */
struct lk_input {
    char *bytes; /* to be freed; not NULL after LK_OK, also when size is 0 */
    size_t size;
};

/* The text itself; `-` is stdin. LK_OK, LK_INVALID (too long, unreadable) or LK_INTERNAL. */
lk_outcome lk_input_text(const char *text, struct lk_input *ret_input, lk_error *error);

/* The text itself, also if it is `-`. */
lk_outcome lk_input_word(const char *text, struct lk_input *ret_input, lk_error *error);

/* The contents of the file; `-` is stdin. */
lk_outcome lk_input_file(const char *path, struct lk_input *ret_input, lk_error *error);

#endif
