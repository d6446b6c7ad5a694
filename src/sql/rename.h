/* SPDX-License-Identifier: Apache-2.0 */
/* Adapts SQL to a store whose name differs from the one in the text. */
#ifndef LK_SQL_RENAME_H
#define LK_SQL_RENAME_H

/*
 * Replaces `beginning` by `name` wherever it begins a word. For free(); NULL: memory is exhausted.
 */
char *lk_sql_rename(const char *text, const char *beginning, const char *name);

#endif
