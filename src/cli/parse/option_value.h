/* SPDX-License-Identifier: Apache-2.0 */
/* What an option is given, from text to what its kind takes (option.h). */
#ifndef LK_CLI_PARSE_OPTION_VALUE_H
#define LK_CLI_PARSE_OPTION_VALUE_H

#include "cli/parse/option.h"
#include "lockkeeper/terms.h"

/*
 * LK_OK, with *ret_number where the option is a choice (its index), a number, a duration (ms) or a
 * time (Unix ms, reckoned from `now_unix_ms`); LK_INVALID: *error says what the option takes.
 */
lk_outcome lk_option_value_parse(enum lk_option_id id, const char *text, int64_t now_unix_ms,
                                 int64_t *ret_number, lk_error *error);

#endif
