/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: lines `name = value`, of which `store` is the only one. A line that is empty
 * or begins with `#` says nothing. Of a name given twice the last counts.
 */
#ifndef LK_CLIENT_CONFIGURATION_H
#define LK_CLIENT_CONFIGURATION_H

#include <stddef.h>

#include "lockkeeper/lockkeeper.h"

/* In the place of a URL: there is no default, neither in a file read later nor the user's own. */
#define LK_NO_STORE "none"

/* A store that a file names; both texts are for free(). */
struct lk_configured_store {
    char *url; /* or LK_NO_STORE; NULL: the file names none */
    char *at;  /* FILE:LINE */
};

/*
 * Reads the file. LK_OK, also if it does not exist, or is empty; LK_INVALID with the file, the line
 * and what to do: its syntax, an unknown name, a URL that no engine of this build opens, or one
 * that is relative to the working directory; LK_DENIED: it may not be read; LK_UNAVAILABLE;
 * LK_INTERNAL. After any other than LK_OK nothing needs to be freed.
 */
lk_outcome lk_configuration_read(const char *path, struct lk_configured_store *ret_store,
                                 lk_error *error);

/* The same of a file that is this user's: also LK_DENIED if another user but root owns it, or
 * others may write it. */
lk_outcome lk_configuration_read_own(const char *path, struct lk_configured_store *ret_store,
                                     lk_error *error);

#endif
