/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of work: the items of a queue, by age, and queues with their counts, by path. */
#include <stdio.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

static void item_done(lk_item_info *item) {
    for (size_t i = 0; i < item->need_count; i++) {
        free(item->needs[i]);
    }
    free(item->needs);
    free(item->id);
    free(item->owner);
    free(item->user);
    free(item->value);
    free(item->last_error);
    free(item->progress);
}

void lk_item_list_free(lk_item_list *list) {
    if (list == NULL) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        item_done(&list->items[i]);
    }
    free(list->items);
    free(list);
}

lk_item_list *lk_item_list_new(void) {
    return calloc(1, sizeof(lk_item_list));
}

static bool reserve_one(lk_item_list *list) {
    void *items = lk_reserve_one(list->items, list->count, sizeof *list->items);

    list->items = items != NULL ? items : list->items;
    return items != NULL;
}

/* A part as it is written (R2). NULL when memory is exhausted. */
static char *part_text(const struct lk_part *part) {
    char text[LK_PART_TEXT_MAX];

    return lk_text_copy((struct lk_slice){text, lk_parts_write(part, 1, text)});
}

static bool fill_needs(const struct lk_item_record *record, lk_item_info *item) {
    if (record->need_count == 0) {
        return true;
    }
    item->needs = calloc(record->need_count, sizeof *item->needs);
    if (item->needs == NULL) {
        return false;
    }
    for (size_t i = 0; i < record->need_count; i++) {
        item->needs[i] = part_text(&record->needs[i]);
        if (item->needs[i] == NULL) {
            return false;
        }
        item->need_count++;
    }
    return true;
}

static const char *const state_names[] = {
    [LK_ITEM_READY] = "ready",         [LK_ITEM_DELAYED] = "delayed", [LK_ITEM_CLAIMED] = "claimed",
    [LK_ITEM_PARKED] = "parked",       [LK_ITEM_AGAIN] = "again",     [LK_ITEM_DONE] = "done",
    [LK_ITEM_CANCELLED] = "cancelled", [LK_ITEM_GONE] = "gone",
};

const char *lk_item_state_name(enum lk_item_state state) {
    return state_names[state];
}

enum lk_item_state lk_item_state_of(struct lk_slice name) {
    enum lk_item_state state = LK_ITEM_READY;

    while (state < LK_ITEM_GONE && !lk_slice_equal(name, lk_slice_of(state_names[state]))) {
        state++;
    }
    return state < LK_ITEM_GONE ? state : LK_ITEM_READY;
}

lk_push_result lk_pushed_of(const struct lk_answer *answer) {
    return (lk_push_result){
        .added = answer->outcome == LK_OK && answer->created,
        .changed = answer->is_replaced,
        .was =
            answer->outcome == LK_OK && !answer->created ? lk_item_state_name(answer->was) : NULL,
    };
}

static bool fill_failure(const struct lk_item_failure *failure, lk_item_info *item) {
    item->has_last_exit = failure->has_exit;
    item->last_exit = failure->exit_code;
    if (failure->text.size > 0) {
        item->last_error = lk_text_copy(failure->text);
        item->last_error_size = failure->text.size;
    }
    return failure->text.size == 0 || item->last_error != NULL;
}

static bool fill_progress(struct lk_slice progress, lk_item_info *item) {
    if (progress.size > 0) {
        item->progress = lk_text_copy(progress);
        item->progress_size = progress.size;
    }
    return progress.size == 0 || item->progress != NULL;
}

static bool fill_item(const struct lk_item_record *record, const struct lk_record *claim,
                      const struct lk_times *times, lk_item_info *item) {
    item->id = lk_text_copy(record->id);
    item->state = lk_item_state_name(record->state);
    item->attempts = record->attempts;
    item->priority = record->priority;
    item->due_in_ms = -1;
    item->expires_in_ms = -1;
    if (record->state == LK_ITEM_DELAYED || record->state == LK_ITEM_DONE) {
        item->due_in_ms = (record->due_us - times->now_us + 999) / 1000;
    }
    if (claim != NULL) {
        item->owner = lk_text_copy(claim->owner);
        item->expires_in_ms = lk_time_left_ms(claim, times);
    }
    if (record->value.size > 0) {
        item->value = lk_text_copy(record->value);
        item->value_size = record->value.size;
    }
    return item->id != NULL && (claim == NULL || item->owner != NULL)
           && (record->value.size == 0 || item->value != NULL) && fill_needs(record, item)
           && fill_failure(&record->last_failure, item) && fill_progress(record->progress, item);
}

bool lk_item_list_add(lk_item_list *list, const struct lk_item_record *record,
                      const struct lk_record *claim, const struct lk_times *times) {
    lk_item_info item = {.id = NULL};

    if (!reserve_one(list) || !fill_item(record, claim, times, &item)) {
        item_done(&item);
        return false;
    }
    list->items[list->count++] = item;
    return true;
}

/* ---- out of the model ---- */

struct telling {
    const struct lk_model *model;
    const struct lk_times *times;
    lk_item_list *list;
    size_t max;
    uint64_t last;    /* the sequence of the last one of a page... */
    uint64_t reached; /* ...where there is another behind it; else 0 */
    bool is_complete;
};

static bool tell(void *context, lk_item_ref ref) {
    struct telling *telling = context;
    struct lk_item_record item;
    struct lk_record claim;

    lk_model_item_record(telling->model, ref, &item);
    if (item.claim != 0) {
        lk_model_record(telling->model, item.claim, &claim);
    }
    telling->is_complete =
        lk_item_list_add(telling->list, &item, item.claim != 0 ? &claim : NULL, telling->times);
    return telling->is_complete;
}

lk_outcome lk_items_from_model(const struct lk_model *model, const struct lk_times *times,
                               const struct lk_item_query *query, lk_item_list **ret_list) {
    struct telling telling = {.model = model, .times = times, .is_complete = true};
    lk_item_ref item = query->id.size > 0 ? lk_model_item(model, query->queue, query->id) : 0;

    telling.list = lk_item_list_new();
    if (telling.list == NULL) {
        return LK_INTERNAL;
    }
    if (item != 0) {
        (void)tell(&telling, item);
    } else if (query->id.size == 0) {
        lk_model_each_item(model, query->queue, tell, &telling);
    }
    if (!telling.is_complete) {
        lk_item_list_free(telling.list);
        return LK_INTERNAL;
    }
    *ret_list = telling.list;
    return LK_OK;
}

static bool tell_parked(void *context, lk_item_ref ref) {
    struct telling *telling = context;

    if (telling->list->count == telling->max) {
        telling->reached = telling->last;
        return false;
    }
    telling->last = lk_model_item_sequence(telling->model, ref);
    return tell(telling, ref);
}

lk_outcome lk_parked_from_model(const struct lk_model *model, const struct lk_times *times,
                                const struct lk_path *queue, uint64_t behind, size_t max,
                                lk_item_list **ret_list, uint64_t *ret_reached) {
    struct telling telling = {.model = model, .times = times, .max = max, .is_complete = true};

    telling.list = lk_item_list_new();
    if (telling.list == NULL) {
        return LK_INTERNAL;
    }
    lk_model_each_parked(model, queue, behind, tell_parked, &telling);
    if (!telling.is_complete) {
        lk_item_list_free(telling.list);
        return LK_INTERNAL;
    }
    *ret_list = telling.list;
    *ret_reached = telling.reached;
    return LK_OK;
}

void lk_stats_from_counts(const struct lk_queue_counts *counts, int64_t now_us,
                          lk_queue_stats *ret_stats) {
    bool has_ready = counts->oldest_ready_us != LK_NEVER;

    *ret_stats = (lk_queue_stats){
        .pushed = counts->pushed,
        .duplicates = counts->duplicates,
        .claims = counts->claims,
        .steals = counts->steals,
        .done = counts->done,
        .retried = counts->retried,
        .parked = counts->parked,
        .ready_now = counts->ready,
        .delayed_now = counts->delayed,
        .claimed_now = counts->claimed,
        .parked_now = counts->parked_now,
        .done_now = counts->done_now,
        .oldest_ready_ms = has_ready ? lk_max(now_us - counts->oldest_ready_us, 0) / 1000 : -1,
    };
}

/* ---- queues ---------------------------------------------------------------------------------- */

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

struct telling_queues {
    const struct lk_model *model;
    int64_t now_us;
    lk_queue_list *list;
    size_t max;
    bool has_more;
    bool is_complete;
};

static bool tell_queue(void *context, lk_queue_ref queue) {
    struct telling_queues *telling = context;
    char path[LK_PATH_BYTES_MAX + 1];
    struct lk_queue_counts counts;
    lk_queue_stats stats;

    telling->has_more = telling->list->count == telling->max;
    if (telling->has_more) {
        return false;
    }
    lk_model_queue_record(telling->model, queue, path, &counts);
    lk_stats_from_counts(&counts, telling->now_us, &stats);
    telling->is_complete = lk_queue_list_add(telling->list, lk_slice_of(path), &stats);
    return telling->is_complete;
}

lk_outcome lk_queues_from_model(const struct lk_model *model, const struct lk_path *prefix,
                                int64_t now_us, struct lk_slice behind, size_t max,
                                lk_queue_list **ret_list, bool *ret_has_more) {
    struct telling_queues telling = {
        .model = model, .now_us = now_us, .max = max, .is_complete = true};

    telling.list = lk_queue_list_new();
    if (telling.list == NULL) {
        return LK_INTERNAL;
    }
    lk_model_each_queue(model, prefix, behind, tell_queue, &telling);
    if (!telling.is_complete) {
        lk_queue_list_free(telling.list);
        return LK_INTERNAL;
    }
    *ret_list = telling.list;
    *ret_has_more = telling.has_more;
    return LK_OK;
}
