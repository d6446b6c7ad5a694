/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on a connection to a service. Within src/engine/service. */
#ifndef LK_ENGINE_SERVICE_TLS_LINK_H
#define LK_ENGINE_SERVICE_TLS_LINK_H

#include <sys/types.h>

#include "base/text.h"
#include "engine/service/link.h"

/* link.c: blocks until the descriptor (-1: none) is ready. LK_OK, LK_CANCELLED, LK_UNAVAILABLE:
 * timeout. */
lk_outcome lk_service_link_await(int descriptor, short events, const struct lk_patience *patience);

/* The handshake. LK_OK, or an outcome of lk_service_link_open() with its message. */
lk_outcome lk_service_tls_begin(struct lk_service_link *link,
                                const struct lk_service_address *address,
                                struct lk_tls_context *context, const struct lk_patience *patience,
                                lk_error *error);

/* As recv() and send(); after EAGAIN, *events is what poll() is to wait for. */
ssize_t lk_service_tls_receive(struct lk_service_link *link, void *bytes, size_t size,
                               short *events);
ssize_t lk_service_tls_send(struct lk_service_link *link, struct lk_slice bytes, short *events);

/*
 * The session has failed, at the handshake or behind it: says why, and what to do, and returns that
 * outcome. LK_OK: it has not, or there is none.
 */
lk_outcome lk_service_tls_explain(const struct lk_service_link *link,
                                  const struct lk_service_address *address, lk_error *error);

/* Lines for an operator: `name: value`, and warnings. None without TLS. */
void lk_service_tls_report(const struct lk_service_link *link, struct lk_text *report,
                           struct lk_text *warnings);

#endif
