/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of HTTP after the other, by libcurl. Connections stay open in between. */
#ifndef LK_SERVER_STORE_ETCD_HTTP_H
#define LK_SERVER_STORE_ETCD_HTTP_H

#include "base/slice.h"
#include "server/store/etcd/url.h"

struct lk_etcd_http;

/* The files of `url` are borrowed. NULL: memory is exhausted. */
struct lk_etcd_http *lk_etcd_http_new(const struct lk_etcd_url *url);
void lk_etcd_http_free(struct lk_etcd_http *http); /* accepts NULL */

enum { LK_ETCD_WHY_BYTES = 160 };

struct lk_etcd_exchange {
    const char *endpoint;
    const char *path;
    struct lk_slice body;             /* empty: it is a GET, else a POST */
    const char *token;                /* of authentication; NULL: none */
    int64_t until_us;                 /* when it is given up, by lk_clock_now_us() */
    void (*meanwhile)(void *context); /* called once the request is sent; NULL: nothing */
    void *context;
};

/*
 * Blocks until the answer is there, with its status in *ret_status and its body in *ret_body, which
 * stays valid until the next call. false: there is none, for the reason in `why`; it is unknown
 * whether the request has arrived.
 */
bool lk_etcd_http_do(struct lk_etcd_http *http, const struct lk_etcd_exchange *exchange,
                     long *ret_status, struct lk_slice *ret_body, char why[LK_ETCD_WHY_BYTES]);

#endif
