/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PostgreSQL store by its URL: where libpq finds the database, and which schema it is.
 *
 * Lockkeeper's own options (`schema`, `listen`) are taken out; all the others are libpq's.
 */
#ifndef LK_ENGINE_POSTGRESQL_PLACE_H
#define LK_ENGINE_POSTGRESQL_PLACE_H

#include <stdbool.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"

enum { LK_POSTGRESQL_SCHEMA_MAX = 48 };

struct lk_postgresql_place {
    char *url;        /* for libpq */
    char *listen_url; /* for the connection that listens; NULL: none listens */
    char schema[LK_POSTGRESQL_SCHEMA_MAX + 1]; /* an identifier that needs no quotes */
};

/* `rest` is the URL behind "postgresql:". LK_OK, LK_INVALID or LK_INTERNAL with a sentence. */
lk_outcome lk_postgresql_place_parse(struct lk_slice rest, struct lk_postgresql_place *ret_place,
                                     lk_error *error);
void lk_postgresql_place_done(struct lk_postgresql_place *place);

#endif
