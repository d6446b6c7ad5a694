/* SPDX-License-Identifier: Apache-2.0 */
/* SQL for a store that has another name than the text was written for. */
#ifndef LK_ENGINE_PROCEDURES_RENAME_H
#define LK_ENGINE_PROCEDURES_RENAME_H

/* `name` wherever `beginning` begins a word. For free(); NULL: memory is exhausted. */
char *lk_sql_rename(const char *text, const char *beginning, const char *name);

#endif
