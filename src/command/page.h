/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of long lists: the next so many behind a place. A page is found in one walk over what there
 * is, and only what stands on it is looked at closely. Within src/command.
 */
#ifndef LK_COMMAND_PAGE_H
#define LK_COMMAND_PAGE_H

#include "command/answer.h"

/* The next cursor as text; "0": that was the last page. */
enum { LK_CURSOR_BYTES_MAX = 2 * LK_NUMBER_BYTES_MAX + 2 };

/* Requests at or below the echo's path. LK_OK with *ret_listing for lk_listing_free(). */
lk_outcome lk_page_of_requests(const struct lk_echo *echo, const struct lk_reply *reply,
                               lk_listing **ret_listing, char ret_cursor[LK_CURSOR_BYTES_MAX]);

/* Items of the queue that is the echo's path. LK_OK with *ret_list for lk_item_list_free(). */
lk_outcome lk_page_of_items(const struct lk_echo *echo, const struct lk_reply *reply,
                            lk_item_list **ret_list, char ret_cursor[LK_CURSOR_BYTES_MAX]);

#endif
