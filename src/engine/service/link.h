/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a service: bytes there and whole replies back, within the caller's patience.
 *
 * Used by one thread at a time. What is said and what it means is left to others. After any outcome
 * but LK_OK the connection is good for nothing but to be closed: it is unknown where in the stream
 * it stands.
 */
#ifndef LK_ENGINE_SERVICE_LINK_H
#define LK_ENGINE_SERVICE_LINK_H

#include "base/buffer.h"
#include "engine/engine.h"
#include "engine/service/address.h"
#include "wire/resp.h"

#define LK_SERVICE_REPLY_BYTES_MAX ((size_t)256 << 20)

struct lk_service_link {
    int descriptor;
    struct lk_buffer received; /* what has come and is not consumed */
    size_t reply_size;         /* of these: the reply that was handed out */
    uint64_t generation;       /* the caller's: to which place it belongs */
    struct lk_service_link *next;
};

/*
 * Connects and logs in. LK_OK with *ret_link; LK_UNAVAILABLE: no server is there, or it does not
 * answer in time; LK_CANCELLED; LK_DENIED: the login; LK_UNSUPPORTED: another server is there.
 */
lk_outcome lk_service_link_open(const struct lk_service_address *address,
                                const struct lk_service_login *login,
                                const struct lk_patience *patience,
                                struct lk_service_link **ret_link, lk_error *error);
void lk_service_link_close(struct lk_service_link *link); /* accepts NULL */

/* Whether nothing has come unasked: else it was closed, or is out of step. */
bool lk_service_link_is_quiet(const struct lk_service_link *link);

/* LK_OK: handed to the system; LK_UNAVAILABLE, LK_CANCELLED. */
lk_outcome lk_service_link_send(struct lk_service_link *link, struct lk_slice bytes,
                                const struct lk_patience *patience);

/*
 * The next reply, borrowed until the next call; pushes are passed over. LK_OK; LK_UNAVAILABLE: cut
 * off, or out of time; LK_CANCELLED; LK_INTERNAL: no RESP, too long, or no memory for it.
 */
lk_outcome lk_service_link_receive(struct lk_service_link *link, const struct lk_patience *patience,
                                   struct lk_slice *ret_reply);

#endif
