/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options of a URL. */
#include "base/url_option.h"

#include <stdlib.h>

#include "base/percent.h"

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
