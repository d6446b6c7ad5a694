/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of configuration files: no quotes, no continuation, no substitution. */
#include "base/setting.h"

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct lk_slice trim(struct lk_slice text) {
    while (text.size > 0 && is_blank(text.bytes[0])) {
        text.bytes++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.bytes[text.size - 1])) {
        text.size--;
    }
    return text;
}

enum lk_setting_line lk_setting_parse(struct lk_slice line, struct lk_slice *ret_name,
                                      struct lk_slice *ret_value) {
    const char *equals;

    line = trim(line);
    if (line.size == 0 || line.bytes[0] == '#') {
        return LK_SETTING_NONE;
    }
    if (memchr(line.bytes, '\0', line.size) != NULL) {
        return LK_SETTING_NO_TEXT;
    }
    equals = memchr(line.bytes, '=', line.size);
    if (equals == NULL) {
        return LK_SETTING_NO_EQUALS;
    }
    *ret_name = trim((struct lk_slice){line.bytes, (size_t)(equals - line.bytes)});
    *ret_value = trim((struct lk_slice){equals + 1, line.size - (size_t)(equals + 1 - line.bytes)});
    return LK_SETTING_FOUND;
}
