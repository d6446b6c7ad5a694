/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the owner's in MySQL (R17): the pieces of their statements. */
#ifndef LK_ENGINE_MYSQL_TABLE_H
#define LK_ENGINE_MYSQL_TABLE_H

#include "engine/mysql/store.h"
#include "engine/procedures/table.h"

enum {
    LK_MYSQL_ARGUMENT = '\1', /* followed by a letter: the first argument is A */
    LK_MYSQL_NEXT = '\2',     /* separates statements */
};

enum {
    LK_MYSQL_NAME_MAX = 64, /* letters */
    LK_MYSQL_COLUMN_MAX = 4 * LK_MYSQL_NAME_MAX,
    LK_MYSQL_TABLE_MAX = 2 * LK_MYSQL_COLUMN_MAX + 1,
    LK_MYSQL_QUOTED_MAX = 2 * LK_MYSQL_TABLE_MAX + 2,
};

/* What the database reports about a source. */
struct lk_mysql_table_info {
    char table[2 * LK_MYSQL_QUOTED_MAX + 2];  /* `database`.`table`, or `table` */
    char column[2 * LK_MYSQL_QUOTED_MAX + 2]; /* `table`.`id` */
    bool is_integer;
    bool is_unsigned;
    char charset[LK_MYSQL_NAME_MAX + 1]; /* of a text */
    char collation[LK_MYSQL_NAME_MAX + 1];
};

/* R17: the table of the owner's that was used last. */
struct lk_mysql_known {
    char table[LK_MYSQL_TABLE_MAX + 1];
    char id_column[LK_MYSQL_COLUMN_MAX + 1];
    struct lk_mysql_table_info info;
};

/*
 * SQL expressions, for free(): the id of a row as a segment, and the id for a segment, which is an
 * expression, too.
 */
char *lk_mysql_encoded(const struct lk_mysql_table_info *info);
char *lk_mysql_decoded(const struct lk_mysql_table_info *info, const char *segment);

lk_outcome lk_mysql_table_info_get(struct lk_mysql *store, const struct lk_source *source,
                                   const struct lk_patience *patience,
                                   struct lk_mysql_table_info *ret_info, lk_error *error);

/*
 * The owner's statement for finished work. Its parameters are the arguments of the steps around it.
 */
lk_outcome lk_mysql_done_make(const struct lk_mysql *store, const struct lk_source *source,
                              struct lk_statement *ret_done, lk_error *error);

#endif
