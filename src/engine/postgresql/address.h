/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PostgreSQL store by its URL: where libpq finds the database, and which schema the store uses.
 *
 * Lockkeeper's own options (`schema`, `listen`, `owner`) are removed; all others are passed to
 * libpq.
 */
#ifndef LK_ENGINE_POSTGRESQL_ADDRESS_H
#define LK_ENGINE_POSTGRESQL_ADDRESS_H

#include "base/slice.h"
#include "lockkeeper/terms.h"
#include "sql/store_name.h"

#define LK_POSTGRESQL_SCHEMA_DEFAULT "lockkeeper"

enum { LK_POSTGRESQL_SCHEMA_MAX = LK_SQL_SCHEMA_MAX, LK_POSTGRESQL_ROLE_MAX = 63 };

struct lk_postgresql_address {
    char *url;        /* for libpq */
    char *listen_url; /* for the listener's connection; NULL: no listener */
    char schema[LK_POSTGRESQL_SCHEMA_MAX + 1]; /* an identifier that needs no quotes */
    char owner[LK_POSTGRESQL_ROLE_MAX + 1]; /* without quotes and backslashes; empty: not named */
};

/* `rest` is the URL after "postgresql:". LK_OK, LK_INVALID or LK_INTERNAL with a sentence. */
lk_outcome lk_postgresql_address_parse(struct lk_slice rest,
                                       struct lk_postgresql_address *ret_address, lk_error *error);
void lk_postgresql_address_done(struct lk_postgresql_address *address);

#endif
