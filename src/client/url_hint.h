/* SPDX-License-Identifier: Apache-2.0 */
/* What may have been meant by a text that names no store: "did you mean". */
#ifndef LK_CLIENT_URL_HINT_H
#define LK_CLIENT_URL_HINT_H

#include "client/url.h"

/* The end of a sentence, such as "; did you mean sqlite:/srv/locks.db?"; "" if nothing is near. */
struct lk_url_hint {
    char text[200];
};

/* Of a text without a scheme: a path of a file, HOST:PORT, or the name of a scheme. */
struct lk_url_hint lk_url_hint_of_text(const char *text);

/* Of a URL whose scheme is that of no engine: a mistyped one, or another program's. */
struct lk_url_hint lk_url_hint_of_scheme(const struct lk_url *url);

#endif
