/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as users write them: lines of configuration files, and options of URLs. */
#ifndef LK_BASE_SETTING_H
#define LK_BASE_SETTING_H

#include <stdbool.h>

#include "base/slice.h"

/* ---- lines of configuration files: `name = value` -------------------------------------------- */

enum lk_setting_line {
    LK_SETTING_NONE,      /* blank, or a comment: its first character is # */
    LK_SETTING_FOUND,     /* *ret_name and *ret_value, without the blanks around them */
    LK_SETTING_NO_EQUALS, /* other text */
    LK_SETTING_NO_TEXT,   /* a byte 0 is in it */
};

/*
 * Reads a line, with or without its end. Name and value are parts of `line`, and either may be
 * empty. A # further on belongs to the value, as do quotes. They are set for LK_SETTING_FOUND only.
 */
enum lk_setting_line lk_setting_parse(struct lk_slice line, struct lk_slice *ret_name,
                                      struct lk_slice *ret_value);

/* ---- options of a URL ------------------------------------------------------------------------ */

/* They stand after the `?` of a store's URL: `name=value&...`. */

/* One `name=value`, still encoded. */
struct lk_url_option {
    struct lk_slice name;
    struct lk_slice value;
};

/* Removes the first option from `options`, which must not be empty, and returns it. */
struct lk_url_option lk_url_option_next(struct lk_slice *options);

bool lk_url_option_is(const struct lk_url_option *option, const char *name);

/* Decodes %XX; for free(). NULL: not a text, or no memory. */
char *lk_url_decode(struct lk_slice value);

#endif
