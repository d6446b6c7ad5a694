/* SPDX-License-Identifier: Apache-2.0 */
/* A store that does not answer within a second has no names: a shell waits for them. */
#include "client/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/checked.h"

/* A queue with more items is not read: that takes long, and the list is too long to be of use. */
enum { ITEMS_MAX = 10000, PATIENCE_MS = 1000 };

static struct lk_patience patience_of_names(void) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + PATIENCE_MS * INT64_C(1000)};
}

/* Without memory there are none. */
static struct lk_names names_new(void) {
    return (struct lk_names){.texts = calloc(LK_NAMES_MAX, sizeof(char *))};
}

static void add(struct lk_names *names, const char *text) {
    char *copy = names->texts != NULL && names->count < LK_NAMES_MAX ? strdup(text) : NULL;

    if (copy != NULL) {
        names->texts[names->count++] = copy;
    }
}

void lk_names_done(struct lk_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->texts[i]);
    }
    free(names->texts);
    *names = (struct lk_names){.texts = NULL};
}

/* ---- queues ---------------------------------------------------------------------------------- */

struct lk_names lk_names_queues(lk_store *store, const char *behind) {
    const struct lk_patience patience = patience_of_names();
    const struct lk_queue_query query = {.behind = lk_slice_of(behind), .max = LK_NAMES_MAX};
    struct lk_names names = names_new();
    lk_queue_list *list = NULL;
    bool has_more;

    if (lk_store_check_can(store, LK_CAN_BATCHES, NULL) != LK_OK
        || store->engine->ops->batches->queues(store->engine, &query, &patience, &list, &has_more,
                                               NULL)
               != LK_OK) {
        return names;
    }
    for (size_t i = 0; i < list->count; i++) {
        add(&names, list->queues[i].queue);
    }
    lk_queue_list_free(list);
    return names;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct lk_names lk_names_values(lk_store *store, const char *prefix, const char *behind) {
    const struct lk_patience patience = patience_of_names();
    struct lk_value_query query = {.behind = lk_slice_of(behind), .max = LK_NAMES_MAX};
    struct lk_names names = names_new();
    lk_value_list *list = NULL;
    struct lk_path path;

    if (lk_checked_prefix(store, LK_CAN_LIST_VALUES, prefix, &path, &query.prefix, NULL) != LK_OK
        || store->engine->ops->values(store->engine, &query, &patience, &list, NULL) != LK_OK) {
        return names;
    }
    for (size_t i = 0; i < list->count; i++) {
        add(&names, list->values[i].path);
    }
    lk_value_list_free(list);
    return names;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Of items in any state. */
static bool is_one_of(const lk_item_info *item, enum lk_names_of_items which) {
    return which == LK_NAMES_ANY || (item->owner != NULL) == (which == LK_NAMES_CLAIMED);
}

/* The parked items, which a store finds without reading the others. */
static lk_outcome read_parked(lk_store *store, const struct lk_path *queue,
                              lk_item_list **ret_list) {
    const struct lk_patience patience = patience_of_names();
    const struct lk_parked_query query = {.queue = queue, .max = LK_NAMES_MAX};
    uint64_t reached;

    return lk_store_check_can(store, LK_CAN_BATCHES, NULL) == LK_OK
               ? store->engine->ops->batches->parked(store->engine, &query, &patience, ret_list,
                                                     &reached, NULL)
               : LK_UNSUPPORTED;
}

static lk_outcome read_items(lk_store *store, const struct lk_path *queue,
                             lk_item_list **ret_list) {
    const struct lk_patience patience = patience_of_names();
    const struct lk_item_query query = {.queue = queue};

    return store->engine->ops->items(store->engine, &query, &patience, ret_list, NULL);
}

struct lk_names lk_names_items(lk_store *store, const char *queue, enum lk_names_of_items which) {
    const struct lk_patience patience = patience_of_names();
    struct lk_names names = names_new();
    lk_queue_stats stats;
    lk_item_list *list = NULL;
    struct lk_path path;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &path, NULL);

    if (outcome == LK_OK) {
        outcome = store->engine->ops->stats(store->engine, &path, LK_STATS_WHOLE, &patience, &stats,
                                            NULL);
    }
    if (outcome != LK_OK) {
        return names;
    }
    bool is_large =
        stats.ready_now + stats.delayed_now + stats.claimed_now + stats.parked_now > ITEMS_MAX;
    bool is_parked = which == LK_NAMES_PARKED || (which == LK_NAMES_NOT_CLAIMED && is_large);
    if (is_parked) {
        outcome = read_parked(store, &path, &list);
    } else {
        outcome = is_large ? LK_NONE : read_items(store, &path, &list);
    }
    for (size_t i = 0; outcome == LK_OK && i < list->count; i++) {
        if (is_parked || is_one_of(&list->items[i], which)) {
            add(&names, list->items[i].id);
        }
    }
    lk_item_list_free(list);
    return names;
}
