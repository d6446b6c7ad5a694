/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the services of a URL are tried. */
#include "engine/service/hosts.h"

void lk_service_hosts_begin(struct lk_service_hosts *hosts,
                            const struct lk_service_addresses *all) {
    hosts->all = *all;
    hosts->address = all->each[0];
    hosts->next = 1 % all->count;
}

void lk_service_hosts_advance(struct lk_service_hosts *hosts,
                              const struct lk_service_address *failed) {
    size_t count = hosts->all.count;

    if (!lk_service_address_equal(&hosts->address, failed)) {
        return;
    }
    hosts->is_named = false;
    for (size_t i = 0; i < count && (i == 0 || lk_service_address_equal(&hosts->address, failed));
         i++) {
        hosts->address = hosts->all.each[hosts->next];
        hosts->next = (hosts->next + 1) % count;
    }
}

/*
 * `next` stays as it is, behind the service that has named the leader. So when that leader is away,
 * and a service still names it, the others have their turn nevertheless.
 */
void lk_service_hosts_redirect(struct lk_service_hosts *hosts,
                               const struct lk_service_address *leader,
                               const struct lk_service_address *named_by) {
    hosts->address = *leader;
    hosts->named_by = *named_by;
    hosts->is_named = true;
    hosts->generation++;
}
