/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A MySQL or MariaDB store by its URL: where the database is, who we are there, how the way there
 * is guarded, and the prefix of the store's tables and procedures.
 */
#ifndef LK_ENGINE_MYSQL_PLACE_H
#define LK_ENGINE_MYSQL_PLACE_H

#include "base/slice.h"
#include "lockkeeper/terms.h"

enum { LK_MYSQL_PREFIX_MAX = 32, LK_MYSQL_URL_TEXTS = 9 };

/* Texts of the URL, without %XX; NULL: not given. */
enum lk_mysql_text {
    LK_MYSQL_USER,
    LK_MYSQL_PASSWORD,
    LK_MYSQL_HOST,
    LK_MYSQL_DATABASE,
    LK_MYSQL_SOCKET,
    LK_MYSQL_SSL_CA,
    LK_MYSQL_SSL_CAPATH,
    LK_MYSQL_SSL_CERT,
    LK_MYSQL_SSL_KEY,
};

enum lk_mysql_ssl_mode {
    LK_MYSQL_SSL_DISABLED,
    LK_MYSQL_SSL_REQUIRED,        /* encrypted; whoever is there is believed */
    LK_MYSQL_SSL_VERIFY_IDENTITY, /* and is who its certificate says, of an authority known */
};

struct lk_mysql_place {
    char *texts[LK_MYSQL_URL_TEXTS];
    unsigned port; /* 0: the usual one */
    enum lk_mysql_ssl_mode ssl_mode;
    char prefix[LK_MYSQL_PREFIX_MAX + 1];
};

/* `rest` is the URL behind "mysql:". LK_OK, LK_INVALID or LK_INTERNAL with a sentence. */
lk_outcome lk_mysql_place_parse(struct lk_slice rest, struct lk_mysql_place *ret_place,
                                lk_error *error);
void lk_mysql_place_done(struct lk_mysql_place *place);

#endif
