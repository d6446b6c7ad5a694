/* SPDX-License-Identifier: Apache-2.0 */
/* The store that is meant when none is named. */
#ifndef LK_CLIENT_DEFAULT_STORE_H
#define LK_CLIENT_DEFAULT_STORE_H

#include "lockkeeper/lockkeeper.h"

/* The configuration file of the machine; the package has it. */
#define LK_CONFIGURATION_FILE "/etc/lockkeeper.conf"

/* ---- one configuration file ------------------------------------------------------------------ */

/*
 * Lines `name = value`, of which `store` is the only one. A line that is empty or begins with `#`
 * says nothing. Of a name given twice the last counts.
 */

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

/* ---- the default ----------------------------------------------------------------------------- */

/* Both texts are for lk_default_store_done(). */
struct lk_default_store {
    char *url;
    char *named_by; /* "LK_STORE", or a line of a configuration file, FILE:LINE; NULL: neither */
};

/*
 * $LK_STORE, with a password if $LK_STORE_URL_FILE names a file that has the same URL with one
 * (`lk run` makes it for its command); else what the configuration file of the user names,
 * lockkeeper.conf in ${XDG_CONFIG_HOME:-~/.config}, else that of the machine; else the user's own,
 * a SQLite file in the state directory. LK_OK, or as lk_configuration_read(), or LK_INVALID: a
 * variable is set and empty (a secret that a CI system does not have, say, which must not become a
 * store of the user's own), a file says that there is no default, or no variable says where the
 * user's directories are. A program with rights that its user does not
 * have reads the machine's file alone.
 */
lk_outcome lk_default_store_find(struct lk_default_store *ret_store, lk_error *error);

/* Makes the directories of the user's own store (0700). LK_OK; LK_DENIED or LK_UNAVAILABLE. */
lk_outcome lk_default_store_prepare(const struct lk_default_store *store, lk_error *error);

void lk_default_store_done(struct lk_default_store *store);

#endif
