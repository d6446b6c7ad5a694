/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that `lk` uses where none is named is its user's alone: it does not exclude another
 * user, sudo, or a container. Messages say so where this could go unnoticed.
 */
#ifndef LK_CLI_STORE_OWN_STORE_H
#define LK_CLI_STORE_OWN_STORE_H

#include <stdbool.h>
#include <stdio.h>

struct lk_own_store {
    char *url;   /* NULL: an option, a variable or a file names another one */
    bool is_new; /* it does not exist yet */
};

/* `url` is that of -S; NULL: none was given. End with lk_own_store_done(). */
struct lk_own_store lk_own_store_find(const char *url);

/* After it was opened: if it was new, says whose it is. */
void lk_own_store_say_new(const struct lk_own_store *own, FILE *err);

void lk_own_store_done(struct lk_own_store *own);

#endif
