/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of a store (R16), read page by page. */
#include <stdlib.h>

#include "base/error.h"
#include "client/checked.h"
#include "client/wait.h"
#include "engine/reply/reply.h"

enum { PAGE_MAX = 1000 };

/* Moves the queues of `page` behind those of `list`. false: memory is exhausted. */
static bool append(lk_queue_list *list, lk_queue_list *page) {
    size_t count = list->count + page->count;
    lk_queue_info *queues = count > 0 ? realloc(list->queues, count * sizeof *queues) : NULL;

    if (queues == NULL) {
        return count == 0;
    }
    if (page->count > 0) {
        memcpy(queues + list->count, page->queues, page->count * sizeof *queues);
    }
    list->queues = queues;
    list->count = count;
    page->count = 0;
    return true;
}

/* Reads one page more. *ret_has_more: there is another one. */
static lk_outcome read_page(lk_store *store, const struct lk_path *prefix, lk_queue_list *list,
                            bool *ret_has_more, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    const struct lk_queue_query query = {
        .prefix = prefix,
        .behind = lk_slice_of(list->count > 0 ? list->queues[list->count - 1].queue : NULL),
        .max = PAGE_MAX,
    };
    lk_queue_list *page;
    lk_outcome outcome = store->engine->ops->batches->queues(store->engine, &query, &patience,
                                                             &page, ret_has_more, error);

    if (outcome == LK_OK) {
        *ret_has_more = *ret_has_more && page->count > 0;
        outcome = append(list, page) ? LK_OK
                                     : lk_error_set(error, LK_INTERNAL, "no memory for the queues");
        lk_queue_list_free(page);
    }
    return outcome;
}

lk_outcome lk_queues(lk_store *store, const char *prefix, lk_queue_list **ret_list,
                     lk_error *error) {
    struct lk_path path;
    const struct lk_path *used = NULL;
    bool has_more = true;
    lk_queue_list *list = NULL;
    lk_outcome outcome = lk_checked_prefix(store, LK_CAN_BATCHES, prefix, &path, &used, error);

    if (outcome == LK_OK) {
        list = lk_queue_list_new();
        outcome =
            list != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for the queues");
    }
    while (outcome == LK_OK && has_more) {
        outcome = read_page(store, used, list, &has_more, error);
    }
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_queue_list_free(list);
    }
    return outcome;
}
