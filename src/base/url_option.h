/* SPDX-License-Identifier: Apache-2.0 */
/* The options after the `?` of a store's URL: `name=value&...`. */
#ifndef LK_BASE_URL_OPTION_H
#define LK_BASE_URL_OPTION_H

#include <stdbool.h>

#include "base/slice.h"

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
