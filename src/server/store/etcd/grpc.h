/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of gRPC to one node at a time: over HTTP/2, by nghttp2. Connections stay open in between. A
 * call sends one message and receives one ("gRPC over HTTP2", github.com/grpc/grpc).
 *
 * Used by one thread at a time.
 */
#ifndef LK_SERVER_STORE_ETCD_GRPC_H
#define LK_SERVER_STORE_ETCD_GRPC_H

#include "base/buffer.h"
#include "server/store/etcd/stream.h"

struct lk_grpc;

/* Loads the library of HTTP/2 (base/library.h), before anything else. LK_OK or LK_UNSUPPORTED. */
lk_outcome lk_nghttp2_load(lk_error *error);

/* Connects to nothing yet, and borrows `tls` (NULL: none). NULL: memory is exhausted. */
struct lk_grpc *lk_grpc_new(struct lk_tls_context *tls);
void lk_grpc_free(struct lk_grpc *grpc); /* accepts NULL */

/* Codes of the status of a call. */
enum lk_grpc_code {
    LK_GRPC_OK = 0,
    LK_GRPC_CANCELLED = 1,
    LK_GRPC_UNKNOWN = 2,
    LK_GRPC_DEADLINE = 4,
    LK_GRPC_DENIED = 7,
    LK_GRPC_EXHAUSTED = 8,
    LK_GRPC_ABORTED = 10,
    LK_GRPC_UNIMPLEMENTED = 12,
    LK_GRPC_UNAVAILABLE = 14,
    LK_GRPC_STRANGER = 16, /* not logged in */
};

struct lk_grpc_call {
    const struct lk_etcd_endpoint *endpoint; /* stays valid as long as the connection */
    const char *path;                        /* /SERVICE/METHOD */
    struct lk_slice message;
    const char *token;                /* of authentication; NULL: none */
    int64_t until_us;                 /* when it is given up, by lk_clock_now_us() */
    void (*meanwhile)(void *context); /* called once, when the first bytes are sent (of a
                                       * large message not all are); NULL: nothing */
    void *context;
};

enum lk_grpc_result {
    LK_GRPC_ANSWERED,
    LK_GRPC_NO_ANSWER, /* it is unknown whether the call has arrived */
    LK_GRPC_NO_GRPC,   /* what is there does not speak it */
};

enum { LK_GRPC_TEXT_BYTES = 512 };

struct lk_grpc_answer {
    unsigned code;
    char text[LK_GRPC_TEXT_BYTES]; /* of a code that is not LK_GRPC_OK; or why there is no answer */
    struct lk_slice message;       /* of LK_GRPC_OK; valid until the next call */
};

/*
 * Blocks until there is an answer. Nothing is sent if no time is left. After any other result the
 * connection is closed, if the call was sent.
 */
enum lk_grpc_result lk_grpc_do(struct lk_grpc *grpc, const struct lk_grpc_call *call,
                               struct lk_grpc_answer *ret_answer);

#endif
