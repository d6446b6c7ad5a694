/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of `lk push QUEUE -`: an item as a JSON object. `id` is a text or a whole number, `value`
 * a text (`value_base64`: any bytes), `needs` a list of parts, `delay` a duration or a number of
 * seconds, `priority` a whole number. There are no other names.
 */
#ifndef LK_CLI_PARSE_ITEM_LINE_H
#define LK_CLI_PARSE_ITEM_LINE_H

#include "lockkeeper/lockkeeper.h"

enum { LK_ITEM_LINE_NEEDS_MAX = 15 };

struct lk_item_line {
    lk_push_request request; /* borrows what follows: the struct must not move */
    char id[24];             /* of a number */
    const char *needs[LK_ITEM_LINE_NEEDS_MAX];
    char *value; /* decoded; NULL: there was nothing to decode */
    void *object;
};

/*
 * `usual` has the queue, and what the line does not say. LK_OK, to be ended with
 * lk_item_line_done(); LK_INVALID, with a sentence that does not name the line.
 */
lk_outcome lk_item_line_parse(const char *text, size_t size, const lk_push_request *usual,
                              struct lk_item_line *ret_line, lk_error *error);
void lk_item_line_done(struct lk_item_line *line);

#endif
