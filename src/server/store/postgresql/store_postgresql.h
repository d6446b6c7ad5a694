/* SPDX-License-Identifier: Apache-2.0 */
/* The tables `lockkeeper_service` of a PostgreSQL database, as a store that services share. */
#ifndef LK_SERVER_STORE_POSTGRESQL_STORE_POSTGRESQL_H
#define LK_SERVER_STORE_POSTGRESQL_STORE_POSTGRESQL_H

#include "server/store/store.h"

struct lk_store_postgresql_options {
    const char *url;     /* postgresql://...; to the server itself, not to a pooler */
    const char *address; /* where clients find this service when it leads; copied */
    int64_t lease_us;    /* after its last commit no other service leads for so long */
    bool has_users;      /* keeps which request belongs to which user */
};

/*
 * Connects, and makes the tables if they are missing. Leads nothing before the first load. LK_OK
 * with *ret_storage; LK_INVALID (the URL), LK_DENIED (rights), LK_UNSUPPORTED (libpq is missing,
 * the server is too old, tables of another version), LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_store_postgresql_open(const struct lk_store_postgresql_options *options,
                                    struct lk_storage **ret_storage, lk_error *error);

#endif
