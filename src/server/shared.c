/* SPDX-License-Identifier: Apache-2.0 */
/* One of several services: its store, and its name in it. */
#include "server/shared.h"

#include <stdio.h>

#include "base/error.h"

#ifdef LK_HAS_POSTGRESQL
#include "server/store/postgresql/store_postgresql.h"

lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error) {
    const struct lk_store_postgresql_options store = {
        .url = options->store_url,
        .address = "",
        .lease_us = options->failover_us,
        .has_users = options->users != NULL,
    };

    return lk_store_postgresql_open(&store, ret_storage, error);
}
#else
lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error) {
    (void)options;
    (void)ret_storage;
    return lk_error_set(error, LK_UNSUPPORTED, "this program was built without PostgreSQL");
}
#endif

bool lk_server_leader(const struct lk_server *server, char ret_address[LK_LEADER_BYTES_MAX + 1]) {
    const struct lk_core *core = lk_server_core(server);
    const char *address =
        lk_core_leads(core) ? lk_server_leadership(server)->address : lk_core_leader(core);

    if (address == NULL) {
        return false;
    }
    (void)snprintf(ret_address, LK_LEADER_BYTES_MAX + 1, "%.*s", (int)strcspn(address, " "),
                   address);
    return true;
}

/* The host of an address, with what stands before the port. */
static int host_size(const char *address) {
    const char *colon = strrchr(address, ':');

    return (int)(colon != NULL ? (size_t)(colon - address) : strlen(address));
}

void lk_shared_write(const struct lk_server_options *options, const char *resp_address,
                     const char *http_address, char *ret_text, size_t bytes) {
    const char *resp = options->advertised != NULL ? options->advertised : resp_address;
    const char *port = strrchr(http_address, ':');

    if (port == NULL) {
        (void)snprintf(ret_text, bytes, "%s", resp);
    } else if (options->advertised != NULL) {
        (void)snprintf(ret_text, bytes, "%s %.*s%s", resp, host_size(resp), resp, port);
    } else {
        (void)snprintf(ret_text, bytes, "%s %s", resp, http_address);
    }
}
