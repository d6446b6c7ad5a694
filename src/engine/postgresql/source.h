/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table or view of the owner's as the source of a queue (R17): what the database says of it, and
 * statements made of that and of the owner's SQL. They run with the connection's own rights and
 * search path, beside the store's functions and never inside them.
 */
#ifndef LK_ENGINE_POSTGRESQL_SOURCE_H
#define LK_ENGINE_POSTGRESQL_SOURCE_H

#include "engine/postgresql/store.h"

enum { LK_POSTGRESQL_QUOTED_MAX = 2 * LK_POSTGRESQL_NAME_MAX + 2 };

struct lk_postgresql_shape {
    char table[2 * LK_POSTGRESQL_QUOTED_MAX + 2];  /* "schema"."table", quoted as needed */
    char column[2 * LK_POSTGRESQL_QUOTED_MAX + 2]; /* "table"."id" */
    const char *function;                          /* of the store's: of a segment to an id */
    char cast[2 * LK_POSTGRESQL_QUOTED_MAX + 4];   /* and what stands behind it: ::type */
    Oid id_type;
    bool is_lockable; /* rows can be locked, by this user */
};

/* What the database says of the source; asked for once, and remembered. */
lk_outcome lk_postgresql_shape_get(struct lk_postgresql *store, const struct lk_source *source,
                                   const struct lk_patience *patience,
                                   struct lk_postgresql_shape *ret_shape, lk_error *error);

/*
 * Statements, for free(); NULL: memory is exhausted. Arguments: $1 is the queue's path.
 *
 *   find:  rows to announce, as segments. $2: how many; $3: so many ready items are enough
 *   marks: marks behind the id $2, and whether their rows fit
 *   take:  of $1 queue, $2 root, $3 above, $4 owner, $5 ttl, $6 max_attempts, $7 ask_number,
 *          $8 note: claims one of the items behind $9, $10 of them, of which $11 are locked
 *   drop:  of the items behind $3, $4 of them, those whose rows do not fit. $2: the root
 *   done:  the owner's own; $1 id, $2 token, $3 owner
 *   end:   ends the claim. $2 item, $3 root, $4 owner, $5 token; $6 the row's id
 */
char *lk_postgresql_text_find(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source);
char *lk_postgresql_text_marks(const struct lk_postgresql *store,
                               const struct lk_postgresql_shape *shape,
                               const struct lk_source *source);
char *lk_postgresql_text_take(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source);
char *lk_postgresql_text_drop(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source);
char *lk_postgresql_text_end(const struct lk_postgresql *store,
                             const struct lk_postgresql_shape *shape,
                             const struct lk_source *source);
lk_outcome lk_postgresql_text_done(const struct lk_postgresql *store,
                                   const struct lk_source *source, char **ret_text,
                                   lk_error *error);

/*
 * What a failure of the owner's SQL means: LK_INVALID with `what` and the server's words, unless
 * the trouble is the server's own; `outcome` then, as it was explained.
 */
lk_outcome lk_postgresql_blame(const PGresult *failure, const char *what, lk_outcome outcome,
                               lk_error *error);

/* Whether the failure has one of the codes of sql/75_table.sql. */
bool lk_postgresql_has_failed_with(const PGresult *failure, const char *code);

#endif
