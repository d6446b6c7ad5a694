/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a service: sends bytes and receives whole replies, within the caller's
 * patience. Their content is up to the caller.
 *
 * Used by one thread at a time. After any outcome but LK_OK the connection can only be closed: its
 * position in the stream is unknown. But what could not be received in time can be received later.
 */
#ifndef LK_ENGINE_SERVICE_LINK_H
#define LK_ENGINE_SERVICE_LINK_H

#include "base/buffer.h"
#include "engine/engine.h"
#include "engine/service/address.h"
#include "tls/client.h"
#include "wire/resp.h"

#define LK_SERVICE_REPLY_BYTES_MAX ((size_t)256 << 20)

struct lk_service_link {
    struct lk_service_address address; /* which it was opened to */
    int descriptor;
    struct lk_tls_session *tls;   /* NULL: plain */
    bool is_open;                 /* it has begun: at its other end is, or was, a service */
    struct lk_buffer received;    /* received and not consumed */
    size_t reply_size;            /* ... of these, the reply that was returned last */
    uint64_t generation;          /* these two are set by the caller: of its address, */
    bool is_bound;                /* and whether requests end with it (R18), */
    struct lk_service_link **own; /* ... one alone, which has its place here; NULL: any */
    struct lk_service_link *next;
};

/*
 * Connects and logs in, over TLS with `tls` (NULL: none). LK_OK with *ret_link; LK_UNAVAILABLE: no
 * server, or no answer in time; LK_CANCELLED; LK_DENIED: the login, or a certificate;
 * LK_UNSUPPORTED: not a Lockkeeper service, or TLS on one side only.
 */
lk_outcome lk_service_link_open(const struct lk_service_address *address,
                                const struct lk_service_login *login, struct lk_tls_context *tls,
                                const struct lk_patience *patience,
                                struct lk_service_link **ret_link, lk_error *error);
void lk_service_link_close(struct lk_service_link *link); /* accepts NULL */

/*
 * Closes it, but lets the peer do so first, until `until_us` at most: it has then carried out what
 * was sent to it, or never will. A command on another connection would overtake that otherwise.
 */
void lk_service_link_hang_up(struct lk_service_link *link, int64_t until_us);

/* Whether nothing is readable. Otherwise the peer has closed it, or replies are out of step. */
bool lk_service_link_is_quiet(const struct lk_service_link *link);

/* Whether the peer has closed it, or the network has. */
bool lk_service_link_is_over(const struct lk_service_link *link);

/* LK_OK: passed to the kernel; LK_UNAVAILABLE, LK_CANCELLED. */
lk_outcome lk_service_link_send(struct lk_service_link *link, struct lk_slice bytes,
                                const struct lk_patience *patience);

/*
 * Receives the next reply, borrowed until the next call; pushes are skipped. LK_OK; LK_UNAVAILABLE:
 * disconnected, timeout, or another program answers; LK_CANCELLED; LK_INTERNAL: not RESP, too long,
 * or no memory.
 */
lk_outcome lk_service_link_receive(struct lk_service_link *link, const struct lk_patience *patience,
                                   struct lk_slice *ret_reply);

#endif
