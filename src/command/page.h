/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of long lists: which entries they have, and how they are written. Within src/command. */
#ifndef LK_COMMAND_PAGE_H
#define LK_COMMAND_PAGE_H

#include "command/answer.h"
#include "model/page.h"

/* ---- finding them ---------------------------------------------------------------------------- */

/*
 * Pages of long lists: the next entries after a cursor. Only the entries of the page are examined
 * in full. Within src/command.
 */

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

/* ---- writing them ---------------------------------------------------------------------------- */

/* Pages of lists, and those of them that are in the order of paths: queues and values in doubt. */

/*
 * Opens what is around a page: a map with a status and the cursor in JSON; `[cursor, [...]]` in
 * RESP, or the array alone without a cursor. The cursor is known only at the end; returns its
 * mark.
 */
struct lk_form_mark lk_answer_open_page(struct lk_form_writer *writer, enum lk_shape shape,
                                        bool has_cursor);

/* `cursor` is NULL if there is none. */
void lk_answer_close_page(struct lk_form_writer *writer, struct lk_form_mark mark,
                          const char *cursor);

/* Whether the page that began at `mark` is larger than the maximum. */
bool lk_answer_is_over(const struct lk_form_writer *writer, struct lk_form_mark mark);

/*
 * A page of queues, of values, or of values in doubt. Its cursor is the last path with a slash in
 * front of it, which no other cursor has; "0": this was the last page.
 */
lk_outcome lk_answer_write_by_path(const struct lk_reply_context *context,
                                   const struct lk_reply *reply, struct lk_form_writer *writer);

#endif
