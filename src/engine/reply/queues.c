/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of queues with their counts, by path. */
#include <stdlib.h>

#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

void lk_queue_list_free(lk_queue_list *list) {
    if (list == NULL) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        free(list->queues[i].queue);
    }
    free(list->queues);
    free(list);
}

lk_queue_list *lk_queue_list_new(void) {
    return calloc(1, sizeof(lk_queue_list));
}

bool lk_queue_list_add(lk_queue_list *list, struct lk_slice path, const lk_queue_stats *counts) {
    lk_queue_info *queues = lk_reserve_one(list->queues, list->count, sizeof *list->queues);
    char *copy = queues != NULL ? lk_text_copy(path) : NULL;

    list->queues = queues != NULL ? queues : list->queues;
    if (copy == NULL) {
        return false;
    }
    list->queues[list->count++] = (lk_queue_info){.queue = copy, .counts = *counts};
    return true;
}

/* ---- out of the model ---- */

struct telling {
    const struct lk_model *model;
    lk_queue_list *list;
    size_t max;
    bool has_more;
    bool is_complete;
};

static bool tell(void *context, lk_queue_ref queue) {
    struct telling *telling = context;
    char path[LK_PATH_BYTES_MAX + 1];
    struct lk_queue_counts counts;
    lk_queue_stats stats;

    telling->has_more = telling->list->count == telling->max;
    if (telling->has_more) {
        return false;
    }
    lk_model_queue_record(telling->model, queue, path, &counts);
    lk_stats_from_counts(&counts, &stats);
    telling->is_complete = lk_queue_list_add(telling->list, lk_slice_of(path), &stats);
    return telling->is_complete;
}

lk_outcome lk_queues_from_model(const struct lk_model *model, const struct lk_path *prefix,
                                struct lk_slice behind, size_t max, lk_queue_list **ret_list,
                                bool *ret_has_more) {
    struct telling telling = {.model = model, .max = max, .is_complete = true};

    telling.list = lk_queue_list_new();
    if (telling.list == NULL) {
        return LK_INTERNAL;
    }
    lk_model_each_queue(model, prefix, behind, tell, &telling);
    if (!telling.is_complete) {
        lk_queue_list_free(telling.list);
        return LK_INTERNAL;
    }
    *ret_list = telling.list;
    *ret_has_more = telling.has_more;
    return LK_OK;
}
