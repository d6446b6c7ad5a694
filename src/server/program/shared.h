/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that is one of several on a store (listener.h: struct lk_leadership). The one that
 * leads names in the store where clients find it: "HOST:PORT", of RESP, and behind a space that of
 * HTTP, if it has one.
 */
#ifndef LK_SERVER_PROGRAM_SHARED_H
#define LK_SERVER_PROGRAM_SHARED_H

#include "server/options.h"
#include "server/store/store.h"

/* Opens the store of the URL. The outcomes are those of its header in server/store. */
lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error);

/*
 * Where clients find this service, whose listeners have these addresses ("": none). LK_INVALID:
 * they cannot, because --advertise is missing.
 */
lk_outcome lk_shared_write(const struct lk_server_options *options, const char *resp_address,
                           const char *http_address, char *ret_text, size_t bytes, lk_error *error);

#endif
