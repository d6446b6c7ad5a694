/* SPDX-License-Identifier: Apache-2.0 */
/* The strict needs of the parked items are sorted, and those of ready items are looked up. */
#include "client/work/stuck.h"

#include <stdlib.h>
#include <string.h>

/* Texts of parts, which the list of items owns. */
struct needs {
    const char **texts;
    size_t count;
};

static bool is_strict(const char *need) {
    const char *words = strchr(need, '?');

    return words != NULL && strcmp(words, "?strict") == 0;
}

static int compare(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* false: memory is exhausted. */
static bool collect(const lk_item_list *items, struct needs *ret_needs) {
    size_t room = 1;

    for (size_t i = 0; i < items->count; i++) {
        room += strcmp(items->items[i].state, "parked") == 0 ? items->items[i].need_count : 0;
    }
    *ret_needs = (struct needs){.texts = malloc(room * sizeof *ret_needs->texts)};
    if (ret_needs->texts == NULL) {
        return false;
    }
    for (size_t i = 0; i < items->count; i++) {
        const lk_item_info *item = &items->items[i];
        for (size_t n = 0; strcmp(item->state, "parked") == 0 && n < item->need_count; n++) {
            if (is_strict(item->needs[n])) {
                ret_needs->texts[ret_needs->count++] = item->needs[n];
            }
        }
    }
    qsort(ret_needs->texts, ret_needs->count, sizeof *ret_needs->texts, compare);
    return true;
}

static bool waits_for(const struct needs *parked, const lk_item_info *item) {
    for (size_t n = 0; n < item->need_count; n++) {
        if (is_strict(item->needs[n])
            && bsearch(&item->needs[n], parked->texts, parked->count, sizeof *parked->texts,
                       compare)
                   != NULL) {
            return true;
        }
    }
    return false;
}

static bool are_all_stuck(const lk_item_list *items, const struct needs *parked) {
    size_t stuck = 0;

    for (size_t i = 0; i < items->count; i++) {
        const lk_item_info *item = &items->items[i];
        bool is_parked = strcmp(item->state, "parked") == 0;
        bool waits = strcmp(item->state, "ready") == 0 && waits_for(parked, item);

        if (!is_parked && !waits) {
            return false;
        }
        stuck += waits;
    }
    return stuck > 0;
}

bool lk_queue_is_stuck(lk_store *store, const char *queue) {
    struct needs parked;
    lk_item_list *items;
    bool is_stuck = false;

    if (lk_items(store, queue, &items, NULL) != LK_OK) {
        return false;
    }
    if (collect(items, &parked)) {
        is_stuck = parked.count > 0 && are_all_stuck(items, &parked);
        free(parked.texts);
    }
    lk_item_list_free(items);
    return is_stuck;
}
