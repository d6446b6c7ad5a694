/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of configuration files: `name = value`. */
#ifndef LK_BASE_SETTING_H
#define LK_BASE_SETTING_H

#include "base/slice.h"

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

#endif
