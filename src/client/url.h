/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs that name stores: SCHEME:REST. What REST means is each engine's own. */
#ifndef LK_CLIENT_URL_H
#define LK_CLIENT_URL_H

#include "base/slice.h"
#include "lockkeeper/lockkeeper.h"

enum { LK_URL_BYTES_MAX = 4096 };

struct lk_url {
    struct lk_slice scheme; /* borrowed from the text */
    struct lk_slice rest;   /* behind the colon */
};

/* LK_OK; LK_INVALID: no scheme, or too long. Nothing of the text but the scheme gets into *error:
 * it may carry a password. */
lk_outcome lk_url_split(const char *text, struct lk_url *ret_url, lk_error *error);

/* A copy without the password of `//user:password@`, options `password=` and `sslpassword=`, and
 * what of these is in the URL that `listen=` names; for free(). It is no longer than the text. */
char *lk_url_without_password(const char *text);

/*
 * The URL of the same store in every directory: relative paths in it begin with the working
 * directory; for free(). NULL: no memory. It stays as it is where that cannot be said: the result
 * is too long, or the directory has a `?` and the engine's URLs take paths as they are (sqlite:,
 * shm:).
 */
char *lk_url_absolute(const char *url);

/* ---- did you mean ---------------------------------------------------------------------------- */

/* What may have been meant by a text that names no store: "did you mean". */

/* The end of a sentence, such as "; did you mean sqlite:/srv/locks.db?"; "" if nothing is near. */
struct lk_url_hint {
    char text[200];
};

/* Of a text without a scheme: a path of a file, HOST:PORT, or the name of a scheme. */
struct lk_url_hint lk_url_hint_of_text(const char *text);

/* Of a URL whose scheme is that of no engine: a mistyped one, or another program's. */
struct lk_url_hint lk_url_hint_of_scheme(const struct lk_url *url);

#endif
