/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQL that makes a store, statement by statement. A statement ends before a line that consists
 * of `//`; lines that begin with DELIMITER are only for the client `mysql`.
 */
#ifndef LK_ENGINE_MYSQL_SCRIPT_H
#define LK_ENGINE_MYSQL_SCRIPT_H

#include <stdbool.h>

#include "base/slice.h"

enum { LK_MYSQL_FORMAT = 1 };

/* What a program makes, and knows: a number, as in lk_meta, and that SQL with the prefix lk_. */
struct lk_mysql_format {
    int number;
    const char *text;
};

/*
 * Removes the next statement from the script, without the comments before it. Returns false at the
 * end of the script.
 */
bool lk_mysql_script_next(struct lk_slice *script, struct lk_slice *ret_statement);

/*
 * "TABLE lk_roots", for a statement that creates it. Returns false if the statement creates
 * nothing.
 */
bool lk_mysql_script_creates(struct lk_slice statement, struct lk_slice *ret_kind,
                             struct lk_slice *ret_name);

#endif
