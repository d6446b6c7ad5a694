/* SPDX-License-Identifier: Apache-2.0 */
/* Heads are found by their strict needs: an item is in the index once for each. */
#include "model/heads.h"

#include "base/hash.h"
#include "model/groups.h"

static uint32_t hash_of(const struct lk_model *model, lk_id work, const struct lk_path *path) {
    uint64_t hash = lk_hash_number(model->hash_seed, work);

    return (uint32_t)lk_hash_bytes(hash, (struct lk_slice){path->bytes, path->size});
}

static bool needs_strictly(const struct lk_item *item, const struct lk_path *path) {
    for (size_t i = 0; i < item->need_count; i++) {
        if (item->needs[i].strict && lk_path_equal(&item->needs[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* The head of the strict needs of the queue at this path; 0: none. */
static lk_id find(const struct lk_model *model, lk_id work, const struct lk_path *path) {
    uint32_t hash = hash_of(model, work, path);
    uint32_t at = lk_index_start(&model->head_index, hash);
    lk_id id;

    while (
        (id = lk_index_next(&model->head_index, hash, &at)) != 0
        && (lk_item_at(model, id)->work != work || !needs_strictly(lk_item_at(model, id), path))) {
    }
    return id;
}

static bool is_strict(const struct lk_item *item) {
    return lk_needs_are_strict(item->needs, item->need_count);
}

bool lk_heads_reserve(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    return !is_strict(item) || lk_index_reserve(&model->head_index, item->need_count);
}

void lk_heads_begin(struct lk_model *model, lk_id id) {
    struct lk_item *item = lk_item_at(model, id);

    if (item->is_head || !is_strict(item)) {
        return;
    }
    item->is_head = true;
    for (size_t i = 0; i < item->need_count; i++) {
        if (item->needs[i].strict) {
            lk_index_add(&model->head_index, id, hash_of(model, item->work, &item->needs[i].path));
        }
    }
    lk_group_set_head(model, item->group, id);
}

void lk_heads_end(struct lk_model *model, lk_id id) {
    struct lk_item *item = lk_item_at(model, id);

    if (!item->is_head) {
        return;
    }
    item->is_head = false;
    for (size_t i = 0; i < item->need_count; i++) {
        if (item->needs[i].strict) {
            lk_index_remove(&model->head_index, id,
                            hash_of(model, item->work, &item->needs[i].path));
        }
    }
    lk_group_set_head(model, item->group, 0);
}

bool lk_heads_are_others(const struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    if (item->is_head) {
        return false;
    }
    for (size_t i = 0; i < item->need_count; i++) {
        if (item->needs[i].strict && find(model, item->work, &item->needs[i].path) != 0) {
            return true;
        }
    }
    return false;
}

bool lk_heads_check(const struct lk_model *model) {
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->item_index.slot_count; i++) {
        lk_id id = model->item_index.slots[i].id;
        const struct lk_item *item = id != 0 ? lk_item_at(model, id) : NULL;

        for (size_t j = 0; item != NULL && item->is_head && j < item->need_count; j++) {
            if (item->needs[j].strict) {
                count++;
                if (find(model, item->work, &item->needs[j].path) != id) {
                    return false;
                }
            }
        }
    }
    return count == model->head_index.count;
}
