/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service the next connection is made to: of those that the URL names, or the one that
 * another service has named as the leader (`-MOVED`). No lock, no I/O.
 *
 * `address` stays as it is while connections to it can be made: it is the last known leader.
 */
#ifndef LK_ENGINE_SERVICE_HOSTS_H
#define LK_ENGINE_SERVICE_HOSTS_H

#include <stdint.h>

#include "engine/service/address.h"

struct lk_service_hosts {
    struct lk_service_addresses all; /* from the URL; never changed */
    struct lk_service_address address;
    struct lk_service_address named_by; /* if is_named: the service that says `address` leads */
    bool is_named;
    size_t next;         /* of `all`: where to go on when `address` cannot be used */
    uint64_t generation; /* of the leader: links of earlier ones are not used again */
    uint32_t failures;   /* since a connection was made */
};

void lk_service_hosts_begin(struct lk_service_hosts *hosts, const struct lk_service_addresses *all);

/* `failed` cannot be used: the next of the list has its turn, if another call has not done it. */
void lk_service_hosts_advance(struct lk_service_hosts *hosts,
                              const struct lk_service_address *failed);

/* The leader is there, in the list or not, by what the service at `named_by` says. */
void lk_service_hosts_redirect(struct lk_service_hosts *hosts,
                               const struct lk_service_address *leader,
                               const struct lk_service_address *named_by);

#endif
