/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URL of a store in etcd:
 *
 *   etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/PREFIX]
 *   etcds://...[?ca=FILE&cert=FILE&key=FILE]      over TLS
 */
#ifndef LK_SERVER_STORE_ETCD_URL_H
#define LK_SERVER_STORE_ETCD_URL_H

#include <stdbool.h>

#include "lockkeeper/lockkeeper.h"

enum { LK_ETCD_ENDPOINTS_MAX = 16, LK_ETCD_PREFIX_BYTES_MAX = 200 };

struct lk_etcd_endpoint {
    char *host; /* without brackets */
    char *port;
    char *text; /* HOST:PORT */
};

struct lk_etcd_url {
    struct lk_etcd_endpoint endpoints[LK_ETCD_ENDPOINTS_MAX];
    size_t endpoint_count;
    bool has_tls;
    char *prefix; /* ends with a slash */
    char *user;   /* NULL: without authentication */
    char *password;
    char *ca; /* of TLS: files; NULL: the system's, none, none */
    char *certificate;
    char *key;
};

/* LK_OK with *ret_url, LK_INVALID (no message has the password), LK_INTERNAL. */
lk_outcome lk_etcd_url_parse(const char *text, struct lk_etcd_url *ret_url, lk_error *error);
void lk_etcd_url_done(struct lk_etcd_url *url);

#endif
