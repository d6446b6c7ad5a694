/* SPDX-License-Identifier: Apache-2.0 */
/* What the database says of a table or view of the owner's (R17). */
#ifndef LK_ENGINE_POSTGRESQL_SOURCE_H
#define LK_ENGINE_POSTGRESQL_SOURCE_H

#include "engine/postgresql/store.h"

enum { LK_POSTGRESQL_QUOTED_MAX = 2 * LK_POSTGRESQL_NAME_MAX + 2 };

struct lk_postgresql_shape {
    char table[2 * LK_POSTGRESQL_QUOTED_MAX + 2];  /* "schema"."table", quoted as needed */
    char column[2 * LK_POSTGRESQL_QUOTED_MAX + 2]; /* "table"."id" */
    char type[2 * LK_POSTGRESQL_QUOTED_MAX + 2];   /* of the id */
    const char *function; /* of the store's: makes an id of a segment, or NULL */
    bool is_lockable;     /* rows can be locked, by this user */
};

/* Asked for once, and remembered. LK_INVALID, LK_DENIED: such a source will not do. */
lk_outcome lk_postgresql_shape_get(struct lk_postgresql *store, const struct lk_source *source,
                                   const struct lk_patience *patience,
                                   struct lk_postgresql_shape *ret_shape, lk_error *error);

/* The owner's statement for what is done, if there is one, with $1 id, $2 token, $3 owner. */
lk_outcome lk_postgresql_done_make(const struct lk_postgresql *store,
                                   const struct lk_postgresql_shape *shape,
                                   const struct lk_source *source, struct lk_statement *ret_done,
                                   lk_error *error);

#endif
