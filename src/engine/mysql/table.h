/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the owner's in MySQL (R17): what its statements are made of. */
#ifndef LK_ENGINE_MYSQL_TABLE_H
#define LK_ENGINE_MYSQL_TABLE_H

#include "engine/mysql/store.h"
#include "engine/procedures/table.h"

enum {
    LK_MYSQL_ARGUMENT = '\1', /* and a letter: the first argument is A */
    LK_MYSQL_NEXT = '\2',     /* between statements */
};

enum {
    LK_MYSQL_NAME_MAX = 64, /* letters */
    LK_MYSQL_COLUMN_MAX = 4 * LK_MYSQL_NAME_MAX,
    LK_MYSQL_TABLE_MAX = 2 * LK_MYSQL_COLUMN_MAX + 1,
    LK_MYSQL_QUOTED_MAX = 2 * LK_MYSQL_TABLE_MAX + 2,
};

/* What the database says of a source. */
struct lk_mysql_shape {
    char table[2 * LK_MYSQL_QUOTED_MAX + 2];  /* `database`.`table`, or `table` */
    char column[2 * LK_MYSQL_QUOTED_MAX + 2]; /* `table`.`id` */
    bool is_integer;
    bool is_unsigned;
    char charset[LK_MYSQL_NAME_MAX + 1]; /* of a text */
    char collation[LK_MYSQL_NAME_MAX + 1];
};

/* R17: the table of the owner's that was looked at last. */
struct lk_mysql_known {
    char table[LK_MYSQL_TABLE_MAX + 1];
    char id_column[LK_MYSQL_COLUMN_MAX + 1];
    struct lk_mysql_shape shape;
};

/* The id of a row as a segment; and of a segment, which an expression is, the id. For free(). */
char *lk_mysql_encoded(const struct lk_mysql_shape *shape);
char *lk_mysql_decoded(const struct lk_mysql_shape *shape, const char *segment);

lk_outcome lk_mysql_shape_get(struct lk_mysql *store, const struct lk_source *source,
                              const struct lk_patience *patience, struct lk_mysql_shape *ret_shape,
                              lk_error *error);

/* The owner's statement for what is done, told by the arguments of the steps around it. */
lk_outcome lk_mysql_done_make(const struct lk_mysql *store, const struct lk_source *source,
                              struct lk_statement *ret_done, lk_error *error);

#endif
