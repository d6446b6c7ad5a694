/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where etcd is, and one connection to a node of it: bytes in and out, over TLS or plain. Each
 * function blocks until an instant of lk_clock_now_us() at most. Used by one thread at a time.
 */
#ifndef LK_SERVER_STORE_ETCD_STREAM_H
#define LK_SERVER_STORE_ETCD_STREAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/slice.h"
#include "lockkeeper/lockkeeper.h"
#include "tls/tls.h"

/* ---- where etcd is --------------------------------------------------------------------------- */

/*
 * The URL of a store in etcd:
 *
 *   etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/PREFIX]
 *   etcds://...[?ca=FILE&cert=FILE&key=FILE]      over TLS
 */

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

/* ---- one connection to a node ---------------------------------------------------------------- */

enum { LK_ETCD_WHY_BYTES = 200 };

struct lk_etcd_stream {
    int descriptor;             /* -1: it is not connected */
    struct lk_tls_session *tls; /* NULL: plain */
};

/*
 * Connects, over TLS with `tls` (NULL: none), and agrees on HTTP/2 there. false: it is not
 * connected, for the reason in `why`. Looking up the name may take longer than until `until_us`.
 */
bool lk_etcd_stream_open(struct lk_etcd_stream *stream, const struct lk_etcd_endpoint *endpoint,
                         struct lk_tls_context *tls, int64_t until_us, char why[LK_ETCD_WHY_BYTES]);
void lk_etcd_stream_close(struct lk_etcd_stream *stream); /* accepts one that is not connected */

/* true: all of it was passed to the kernel. false: see `why`; then it can only be closed. */
bool lk_etcd_stream_send(struct lk_etcd_stream *stream, struct lk_slice bytes, int64_t until_us,
                         char why[LK_ETCD_WHY_BYTES]);

/*
 * Blocks until a byte is there, and returns how many were received. 0: none before `until_us`,
 * which may have passed already. -1: the connection is over, for the reason in `why`.
 */
ssize_t lk_etcd_stream_receive(struct lk_etcd_stream *stream, void *room, size_t size,
                               int64_t until_us, char why[LK_ETCD_WHY_BYTES]);

#endif
