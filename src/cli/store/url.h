/* SPDX-License-Identifier: Apache-2.0 */
/* What the URL of a store tells before it is opened, and how its password is passed on. */
#ifndef LK_CLI_STORE_URL_H
#define LK_CLI_STORE_URL_H

#include <stdbool.h>
#include <stdio.h>

#include "lockkeeper/lockkeeper.h"

/* ---- stores that exist already --------------------------------------------------------------- */

/* Without creating them as lk_open() would. */

/*
 * `url` NULL: the default one. True also where this cannot be determined without opening it, and
 * where the URL is wrong: lk_open() then has the better message.
 */
bool lk_store_is_there(const char *url);

/*
 * Whether leases there end with the process that takes them, so that a command that ends at once
 * cannot use the store. false also where the URL is wrong.
 */
bool lk_store_binds_to_process(const char *url);

/* As lk_open(), or LK_NONE: there is no such store, and none has been made. A URL that can name
 * none is LK_INVALID as ever. LK_CANCELLED: it was cancelled; `cancel` may be NULL. */
lk_outcome lk_open_if_there(const char *url, lk_cancel *cancel, lk_store **ret_store,
                            lk_error *error);

/* ---- a store of one user alone --------------------------------------------------------------- */

/*
 * The store that `lk` uses where none is named is its user's alone: it does not exclude another
 * user, sudo, or a container. Messages say so where this could go unnoticed.
 */

struct lk_own_store {
    char *url;   /* NULL: an option, a variable or a file names another one */
    bool is_new; /* it does not exist yet */
};

/* `url` is that of -S; NULL: none was given. End with lk_own_store_done(). */
struct lk_own_store lk_own_store_find(const char *url);

/* After it was opened: if it was new, says whose it is. */
void lk_own_store_say_new(const struct lk_own_store *own, FILE *err);

void lk_own_store_done(struct lk_own_store *own);

/* ---- a password in a URL --------------------------------------------------------------------- */

/*
 * A password of the store's URL, for `lk` inside a command that `lk` runs. The environment and the
 * command line of that command do not show it: it is in memory of this process, which the variable
 * LK_STORE_URL_FILE names as a file below /proc. Programs of the same user can read it, as they can
 * read the process's other memory, whichever descriptors they were given; no other user can. It
 * ends with this process.
 */

/* The store's URL, with its password: `url`, or where that is NULL the default one (lk_open()).
 * For free(); NULL: memory is exhausted, or there is none. */
char *lk_secret_url_of(const char *url);

/*
 * The path of a file that has `url`, for free(); NULL: the URL has no password, or the system no
 * such file. There is one for each process: a second call returns the first file.
 */
char *lk_secret_url_offer(const char *url);

#endif
