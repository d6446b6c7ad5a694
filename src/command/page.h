/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of long lists: the next entries after a cursor. Only the entries of the page are examined
 * in full. Within src/command.
 */
#ifndef LK_COMMAND_PAGE_H
#define LK_COMMAND_PAGE_H

#include "command/answer.h"
#include "model/page.h"

/* The next cursor as text; "0": this was the last page. */
enum { LK_CURSOR_BYTES_MAX = 2 * LK_NUMBER_BYTES_MAX + 2 };

/*
 * Finds the page that the reply context selects; its rows are freed by free(). Requests at or below
 * a path (LIST) or related to it (SHOW), items of a queue (ITEMS), entries of the audit (AUDIT: a
 * row's `ref` is the index of an entry). `is_whole`: all entries are one page, of at most
 * LK_PAGE_MAX rows. false: memory is exhausted.
 */
bool lk_page_find(const struct lk_reply_context *context, const struct lk_reply *reply,
                  bool is_whole, struct lk_page *ret_page);

/* The cursor after the first `written` rows: all of them, or at least one. */
void lk_page_cursor(const struct lk_page *page, size_t written,
                    char ret_cursor[LK_CURSOR_BYTES_MAX]);

#endif
