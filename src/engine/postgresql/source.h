/* SPDX-License-Identifier: Apache-2.0 */
/* What the database reports about a table or view of the owner's (R17). */
#ifndef LK_ENGINE_POSTGRESQL_SOURCE_H
#define LK_ENGINE_POSTGRESQL_SOURCE_H

#include "engine/postgresql/store.h"

enum { LK_POSTGRESQL_QUOTED_MAX = 2 * LK_POSTGRESQL_NAME_MAX + 2 };

struct lk_postgresql_table_info {
    char table[2 * LK_POSTGRESQL_QUOTED_MAX + 2];  /* "schema"."table", quoted as needed */
    char column[2 * LK_POSTGRESQL_QUOTED_MAX + 2]; /* "table"."id" */
    char type[2 * LK_POSTGRESQL_QUOTED_MAX + 2];   /* of the id */
    const char *function; /* the store's function that makes an id of a segment, or NULL */
    bool is_lockable;     /* this user can lock its rows */
};

/* Queried once and remembered. LK_INVALID, LK_DENIED: the source cannot be used. */
lk_outcome lk_postgresql_table_info_get(struct lk_postgresql *store, const struct lk_source *source,
                                        const struct lk_patience *patience,
                                        struct lk_postgresql_table_info *ret_info, lk_error *error);

/* The owner's statement for finished work, if there is one, with $1 id, $2 token, $3 owner. */
lk_outcome lk_postgresql_done_make(const struct lk_postgresql *store,
                                   const struct lk_postgresql_table_info *info,
                                   const struct lk_source *source, struct lk_statement *ret_done,
                                   lk_error *error);

#endif
