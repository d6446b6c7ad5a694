/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A MySQL or MariaDB store by its URL: the address of the database, the user, the encryption of the
 * connection, and the prefix of the store's tables and procedures.
 */
#ifndef LK_ENGINE_MYSQL_ADDRESS_H
#define LK_ENGINE_MYSQL_ADDRESS_H

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "sql/store_name.h"

enum { LK_MYSQL_PREFIX_MAX = LK_SQL_PREFIX_MAX, LK_MYSQL_URL_TEXTS = 10 };

/* Texts of the URL, with %XX decoded; NULL: not given. */
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
    LK_MYSQL_OWNER, /* USER@HOST, without quotes and backslashes */
};

enum lk_mysql_ssl_mode {
    LK_MYSQL_SSL_DEFAULT, /* that of the client library */
    LK_MYSQL_SSL_DISABLED,
    LK_MYSQL_SSL_REQUIRED,        /* encrypted; the certificate is not verified */
    LK_MYSQL_SSL_VERIFY_IDENTITY, /* certificate and host name are verified */
};

struct lk_mysql_address {
    char *texts[LK_MYSQL_URL_TEXTS];
    unsigned port; /* 0: the default port */
    enum lk_mysql_ssl_mode ssl_mode;
    char prefix[LK_MYSQL_PREFIX_MAX + 1];
};

/* `rest` is the URL after "mysql:". LK_OK, LK_INVALID or LK_INTERNAL with a sentence. */
lk_outcome lk_mysql_address_parse(struct lk_slice rest, struct lk_mysql_address *ret_address,
                                  lk_error *error);
void lk_mysql_address_done(struct lk_mysql_address *address);

#endif
