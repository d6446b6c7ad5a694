/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a node of etcd: bytes in and out, over TLS or plain. Each function blocks until
 * an instant of lk_clock_now_us() at most. Used by one thread at a time.
 */
#ifndef LK_SERVER_STORE_ETCD_STREAM_H
#define LK_SERVER_STORE_ETCD_STREAM_H

#include <sys/types.h>

#include "base/slice.h"
#include "server/store/etcd/url.h"
#include "tls/tls.h"

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
