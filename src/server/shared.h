/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that is one of several on a store. The one that leads names in the store where clients
 * find it: "HOST:PORT", of RESP, and behind a space that of HTTP, if it has one.
 */
#ifndef LK_SERVER_SHARED_H
#define LK_SERVER_SHARED_H

#include "server/server.h"
#include "server/store/store.h"

/* Whether the URL is that of a store that services can share, whatever is behind its scheme. */
bool lk_shared_is_url(const char *url);

/* Opens the store of the URL. The outcomes are those of its header in server/store. */
lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error);

/* What the program keeps of it for monitoring. */
struct lk_leadership {
    char address[LK_LEADER_BYTES_MAX + 1]; /* where clients find this service */
    uint64_t epoch;     /* of the service that leads, as the last load found it; 0: none has led */
    uint64_t takeovers; /* how often this service has begun to lead */
    bool is_behind;     /* it follows, and has not read the state that a takeover needs yet */
    bool may_lose;      /* this service leads, and the store may lose what was acknowledged last
                         * (lk_store_risk) */
};

/* NULL: the store is not shared. */
const struct lk_leadership *lk_server_leadership(const struct lk_server *server);

/* Whether this service leads, or has read the state and what was written up to its last look. */
bool lk_leadership_is_caught_up(const struct lk_leadership *leadership);

/* The service that leads, this one or another: HOST:PORT for RESP, in *ret_address. false: none is
 * known. */
bool lk_server_leader(const struct lk_server *server, char ret_address[LK_LEADER_BYTES_MAX + 1]);

/* Whether the address is that of every interface, such as 0.0.0.0:7420: clients cannot use it. */
bool lk_shared_is_any_address(const char *address);

/*
 * Where clients find this service, whose listeners have these addresses ("": none). LK_INVALID:
 * they cannot, because --advertise is missing.
 */
lk_outcome lk_shared_write(const struct lk_server_options *options, const char *resp_address,
                           const char *http_address, char *ret_text, size_t bytes, lk_error *error);

#endif
