/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of lists, and those of them that are in the order of paths: queues and values in doubt. */
#ifndef LK_COMMAND_ANSWER_PAGE_H
#define LK_COMMAND_ANSWER_PAGE_H

#include "command/answer.h"

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
