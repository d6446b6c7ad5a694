/* SPDX-License-Identifier: Apache-2.0 */
/* The tables `lockkeeper_service` of a PostgreSQL database, as a store that services share. */
#ifndef LK_SERVER_STORE_POSTGRESQL_STORE_POSTGRESQL_H
#define LK_SERVER_STORE_POSTGRESQL_STORE_POSTGRESQL_H

#include "server/store/tables/tables.h"

/*
 * Connects to a server, not to a pooler, and makes the tables if they are missing. Leads nothing
 * before the first load. LK_OK with *ret_storage; LK_INVALID (the URL), LK_DENIED (rights),
 * LK_UNSUPPORTED (libpq is missing, the server is too old, tables of another version),
 * LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_store_postgresql_open(const struct lk_tables_options *options,
                                    struct lk_storage **ret_storage, lk_error *error);

#endif
