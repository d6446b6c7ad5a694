/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a URL's options apart. */
#include "engine/procedures/options.h"

#include <ctype.h>
#include <stdlib.h>

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

static int hex_of(char digit) {
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, tolower((unsigned char)digit), sizeof digits - 1);

    return at != NULL ? (int)(at - digits) : -1;
}

char *lk_url_decode(struct lk_slice value) {
    char *text = malloc(value.size + 1);
    size_t size = 0;

    if (text == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < value.size; i++) {
        char byte = value.bytes[i];
        if (byte == '%') {
            int high = i + 2 < value.size ? hex_of(value.bytes[i + 1]) : -1;
            int low = high >= 0 ? hex_of(value.bytes[i + 2]) : -1;
            if (low < 0 || (high == 0 && low == 0)) {
                free(text);
                return NULL;
            }
            byte = (char)(high * 16 + low);
            i += 2;
        }
        text[size++] = byte;
    }
    text[size] = '\0';
    return text;
}
