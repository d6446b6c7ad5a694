/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an engine: within a time, or until it is cancelled, whatever blocks below.
 *
 * Engines heed their patience and its waker, but not everything below them does: getaddrinfo()
 * blocks for as long as name servers are silent, also inside client libraries. So a thread opens
 * what is remote. If it does not end soon after its time, it is abandoned, and closes what it has
 * opened by then.
 */
#ifndef LK_CLIENT_OPENING_H
#define LK_CLIENT_OPENING_H

#include "engine/engine.h"

struct lk_opening_order {
    const struct lk_engine_ops *ops;
    struct lk_slice rest; /* of the URL, after its scheme */
    const char *name;     /* the URL without a password, for messages */
    bool must_exist;
    int64_t contact_ms; /* within which the server must answer; at most LK_PATIENCE_DEFAULT_MS */
    lk_cancel *cancel;  /* NULL: none can come */
};

/*
 * As open() or open_existing() of the engine. A server that has answered has more time, for making
 * the store. LK_CANCELLED: it was cancelled. A silence is LK_UNAVAILABLE, with its length.
 */
lk_outcome lk_opening_carry_out(const struct lk_opening_order *order, struct lk_engine **ret_engine,
                                lk_error *error);

#endif
