/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of options: from text to numbers, durations and instants, strictly. Nothing is
 * skipped, rounded or guessed; *error names a refused value and the byte at which it is wrong.
 * Independent of the locale. Outputs are untouched unless LK_OK is returned.
 */
#ifndef LK_CLI_PARSE_VALUE_H
#define LK_CLI_PARSE_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/parse/option.h"
#include "form/duration.h"
#include "lockkeeper/lockkeeper.h"
#include "lockkeeper/terms.h"

/* A whole decimal number from `min` to `max`; `max` is not negative, `min` not INT64_MIN. */
lk_outcome lk_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number,
                           lk_error *error);

/*
 * An instant in Unix milliseconds: RFC 3339 (`2030-01-31T17:00:00Z`, `...+01:00`), or a local time
 * of day (`17:00`, `17:00:30`), which is the next such moment after `now_unix_ms`.
 */
lk_outcome lk_instant_parse(const char *text, int64_t now_unix_ms, int64_t *ret_unix_ms,
                            lk_error *error);

/* The same; LK_INVALID if it is not in the future. */
lk_outcome lk_time_parse(const char *text, int64_t now_unix_ms, int64_t *ret_unix_ms,
                         lk_error *error);

/* How long it is until an instant; 0: it is over. */
int64_t lk_delay_until_ms(int64_t at_unix_ms, int64_t now_unix_ms);

/* ---- by the kind of an option ---------------------------------------------------------------- */

/* What an option is given, from text to what its kind takes (option.h). */

/*
 * LK_OK, with *ret_number where the option is a choice (its index), a number, a duration (ms) or a
 * time (Unix ms, reckoned from `now_unix_ms`); LK_INVALID: *error says what the option takes.
 */
lk_outcome lk_option_value_parse(enum lk_option_id id, const char *text, int64_t now_unix_ms,
                                 int64_t *ret_number, lk_error *error);

/* ---- values that are kept -------------------------------------------------------------------- */

/* Values that come from the command line, from a file or from stdin. */

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
