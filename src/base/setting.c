/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of configuration files without quotes, continuation and substitution; URL options. */
#include "base/setting.h"

#include <stdlib.h>

#include "base/text.h"

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

/* ---- options of a URL ------------------------------------------------------------------------ */

struct lk_url_option lk_url_option_next(struct lk_slice *options) {
    const char *end = memchr(options->bytes, '&', options->size);
    size_t size = end != NULL ? (size_t)(end - options->bytes) : options->size;
    const char *equals = memchr(options->bytes, '=', size);
    size_t name_size = equals != NULL ? (size_t)(equals - options->bytes) : size;
    size_t value_at = equals != NULL ? name_size + 1 : size;
    struct lk_url_option option = {{options->bytes, name_size},
                                   {options->bytes + value_at, size - value_at}};
    size_t taken = end != NULL ? size + 1 : size;

    options->bytes += taken;
    options->size -= taken;
    return option;
}

bool lk_url_option_is(const struct lk_url_option *option, const char *name) {
    return lk_slice_equal(option->name, lk_slice_of(name));
}

char *lk_url_decode(struct lk_slice value) {
    char *text = malloc(value.size + 1);

    if (text != NULL && !lk_percent_decode(value, text, value.size + 1)) {
        free(text);
        return NULL;
    }
    return text;
}
