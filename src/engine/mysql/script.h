/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQL that makes a store, statement by statement. A statement ends in front of a line that is
 * nothing but `//`; lines that begin with DELIMITER are for the client `mysql` alone.
 */
#ifndef LK_ENGINE_MYSQL_SCRIPT_H
#define LK_ENGINE_MYSQL_SCRIPT_H

#include <stdbool.h>

#include "base/slice.h"

enum { LK_MYSQL_FORMAT = 2 };

/* Takes the next statement off the script, without the comments before it. false: that was all. */
bool lk_mysql_script_next(struct lk_slice *script, struct lk_slice *ret_statement);

/* "TABLE lk_roots", of a statement that creates it. false: it creates nothing. */
bool lk_mysql_script_creates(struct lk_slice statement, struct lk_slice *ret_kind,
                             struct lk_slice *ret_name);

#endif
