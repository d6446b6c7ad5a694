/* SPDX-License-Identifier: Apache-2.0 */
/* Values, items and queues as nodes keep them. */
#include "model/storage.h"

#include "base/hash.h"
#include "model/groups.h"
#include "model/order.h"
#include "model/tree.h"

static uint32_t node_hash(const struct lk_model *model, lk_id node) {
    return (uint32_t)lk_hash_number(model->hash_seed, node);
}

lk_id lk_value_find(const struct lk_model *model, lk_id node) {
    uint32_t hash = node_hash(model, node);
    uint32_t at = lk_index_start(&model->value_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->value_index, hash, &at)) != 0
           && lk_kept_value_at(model, id)->node != node) {
    }
    return id;
}

lk_id lk_item_find(const struct lk_model *model, lk_id node) {
    uint32_t hash = node_hash(model, node);
    uint32_t at = lk_index_start(&model->item_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->item_index, hash, &at)) != 0
           && lk_item_at(model, id)->node != node) {
    }
    return id;
}

lk_id lk_work_find(const struct lk_model *model, lk_id node) {
    uint32_t hash = node_hash(model, node);
    uint32_t at = lk_index_start(&model->work_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->work_index, hash, &at)) != 0
           && lk_work_at(model, id)->node != node) {
    }
    return id;
}

/* ---- bytes and nodes ---- */

bool lk_bytes_copy(struct lk_model *model, struct lk_slice bytes, char **ret_copy) {
    char *copy = NULL;

    if (bytes.size > 0) {
        copy = model->allocator->resize(model->allocator->context, NULL, bytes.size);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, bytes.bytes, bytes.size);
    }
    *ret_copy = copy;
    return true;
}

void lk_bytes_free(struct lk_model *model, char *bytes) {
    model->allocator->resize(model->allocator->context, bytes, 0);
}

static lk_id make_node(struct lk_model *model, const struct lk_path *path) {
    unsigned depth;
    lk_id from = lk_node_descend(model, path, &depth);
    lk_id node = lk_node_make(model, path, from, depth);

    if (node != 0) {
        lk_node_at(model, node)->entries++;
    }
    return node;
}

static void let_go_of_node(struct lk_model *model, lk_id node) {
    assert(lk_node_at(model, node)->entries > 0);
    lk_node_at(model, node)->entries--;
    lk_node_prune(model, node);
}

/* ---- values ---- */

lk_id lk_value_make(struct lk_model *model, const struct lk_path *path) {
    lk_id id = lk_value_find(model, lk_node_find(model, path));
    lk_id node;

    if (id != 0) {
        return id;
    }
    if (!lk_pool_reserve(&model->values, 1) || !lk_index_reserve(&model->value_index, 1)) {
        return 0;
    }
    node = make_node(model, path);
    if (node == 0) {
        return 0;
    }
    id = lk_pool_take(&model->values);
    lk_kept_value_at(model, id)->node = node;
    model->kept_bytes += LK_KEPT_COST_BYTES;
    lk_index_add(&model->value_index, id, node_hash(model, node));
    (void)lk_order_add(model, LK_ORDER_VALUES, &model->values_by_path, id);
    return id;
}

void lk_value_set_doubt(struct lk_model *model, lk_id id, bool in_doubt) {
    struct lk_kept_value *value = lk_kept_value_at(model, id);

    if (value->in_doubt == in_doubt) {
        return;
    }
    value->in_doubt = in_doubt;
    if (in_doubt) {
        (void)lk_order_add(model, LK_ORDER_DOUBTS, &model->doubts_by_path, id);
    } else {
        (void)lk_order_remove(model, LK_ORDER_DOUBTS, &model->doubts_by_path, id);
    }
}

void lk_value_remove(struct lk_model *model, lk_id id) {
    struct lk_kept_value *value = lk_kept_value_at(model, id);

    lk_value_set_doubt(model, id, false);
    assert(model->kept_bytes >= value->size + (uint64_t)LK_KEPT_COST_BYTES);
    model->kept_bytes -= value->size + (uint64_t)LK_KEPT_COST_BYTES;
    lk_index_remove(&model->value_index, id, node_hash(model, value->node));
    (void)lk_order_remove(model, LK_ORDER_VALUES, &model->values_by_path, id);
    value->next_gone = model->value_gone_first;
    model->value_gone_first = id;
}

static void free_value(struct lk_model *model, lk_id id) {
    struct lk_kept_value *value = lk_kept_value_at(model, id);

    lk_bytes_free(model, value->bytes);
    let_go_of_node(model, value->node);
    lk_pool_give(&model->values, id);
}

/* ---- queues and items ---- */

lk_id lk_work_make(struct lk_model *model, const struct lk_path *path) {
    lk_id id = lk_work_find(model, lk_node_find(model, path));
    char *text;
    lk_id node;

    if (id != 0) {
        return id;
    }
    if (!lk_pool_reserve(&model->works, 1) || !lk_index_reserve(&model->work_index, 1)
        || !lk_bytes_copy(model, (struct lk_slice){path->bytes, path->size}, &text)) {
        return 0;
    }
    node = make_node(model, path);
    if (node == 0) {
        lk_bytes_free(model, text);
        return 0;
    }
    id = lk_pool_take(&model->works);
    lk_work_at(model, id)->node = node;
    lk_work_at(model, id)->path = text;
    lk_work_at(model, id)->path_size = path->size;
    lk_work_at(model, id)->ready_us = LK_NEVER;
    lk_index_add(&model->work_index, id, node_hash(model, node));
    return id;
}

void lk_work_unlist(struct lk_model *model, lk_id id) {
    struct lk_work *work = lk_work_at(model, id);

    lk_index_remove(&model->work_index, id, node_hash(model, work->node));
    work->next_idle = model->work_gone_first;
    model->work_gone_first = id;
}

static void free_far(struct lk_model *model, struct lk_item *item) {
    lk_bytes_free(model, item->value);
    lk_bytes_free(model, item->last_text);
    lk_bytes_free(model, item->progress);
}

static bool join_group(struct lk_model *model, struct lk_item *made, const struct lk_part *needs) {
    if (made->need_count == 0) {
        return true;
    }
    made->group = lk_group_join(model, made->work, needs, made->need_count);
    made->needs = made->group != 0 ? lk_group_at(model, made->group)->needs : NULL;
    return made->group != 0;
}

static void leave_group(struct lk_model *model, const struct lk_item *item) {
    if (item->group != 0) {
        lk_group_leave(model, item->group);
    }
}

lk_id lk_item_make(struct lk_model *model, lk_id work, const struct lk_path *path,
                   struct lk_slice value, const struct lk_part *needs, size_t need_count) {
    struct lk_item made = {
        .work = work, .value_size = (uint32_t)value.size, .need_count = (uint32_t)need_count};
    lk_id id;

    if (!lk_pool_reserve(&model->items, 1) || !lk_index_reserve(&model->item_index, 1)) {
        return 0;
    }
    if (!lk_bytes_copy(model, value, &made.value) || !join_group(model, &made, needs)
        || (made.node = make_node(model, path)) == 0) {
        free_far(model, &made);
        leave_group(model, &made);
        return 0;
    }
    id = lk_pool_take(&model->items);
    *lk_item_at(model, id) = made;
    model->kept_bytes += lk_item_kept_bytes(&made);
    lk_index_add(&model->item_index, id, node_hash(model, made.node));
    return id;
}

uint64_t lk_item_kept_bytes(const struct lk_item *item) {
    return (uint64_t)item->value_size + item->last_text_size + item->progress_size
           + LK_KEPT_COST_BYTES;
}

bool lk_item_refill(struct lk_model *model, lk_id id, struct lk_slice value,
                    const struct lk_part *needs, size_t need_count) {
    struct lk_item *item = lk_item_at(model, id);
    struct lk_item made = *item;

    made.value_size = (uint32_t)value.size;
    made.need_count = (uint32_t)need_count;
    made.group = 0;
    made.needs = NULL;
    if (!lk_bytes_copy(model, value, &made.value)) {
        return false;
    }
    if (!join_group(model, &made, needs)) {
        lk_bytes_free(model, made.value);
        return false;
    }
    model->kept_bytes += lk_item_kept_bytes(&made);
    model->kept_bytes -= lk_item_kept_bytes(item);
    lk_bytes_free(model, item->value);
    leave_group(model, item);
    *item = made;
    return true;
}

bool lk_item_keep_progress(struct lk_model *model, lk_id id, struct lk_slice text) {
    struct lk_item *item = lk_item_at(model, id);
    char *copy;

    if (!lk_bytes_copy(model, text, &copy)) {
        return false;
    }
    model->kept_bytes -= lk_item_kept_bytes(item);
    lk_bytes_free(model, item->progress);
    item->progress = copy;
    item->progress_size = (uint32_t)text.size;
    model->kept_bytes += lk_item_kept_bytes(item);
    return true;
}

bool lk_item_keep_failure(struct lk_model *model, lk_id id, const struct lk_item_failure *failure) {
    struct lk_item *item = lk_item_at(model, id);
    char *text;

    if (!lk_bytes_copy(model, failure->text, &text)) {
        return false;
    }
    model->kept_bytes -= lk_item_kept_bytes(item);
    lk_bytes_free(model, item->last_text);
    item->last_text = text;
    item->last_text_size = (uint32_t)failure->text.size;
    item->has_last_exit = failure->has_exit;
    item->last_exit = failure->exit_code;
    item->failed_by_loss = false;
    model->kept_bytes += lk_item_kept_bytes(item);
    return true;
}

void lk_item_remove(struct lk_model *model, lk_id id) {
    struct lk_item *item = lk_item_at(model, id);

    assert(item->state != LK_ITEM_GONE && model->kept_bytes >= lk_item_kept_bytes(item));
    model->kept_bytes -= lk_item_kept_bytes(item);
    lk_index_remove(&model->item_index, id, node_hash(model, item->node));
    item->state = LK_ITEM_GONE;
    item->next_gone = model->item_gone_first;
    model->item_gone_first = id;
}

void lk_keep_bury(struct lk_model *model) {
    while (model->value_gone_first != 0) {
        lk_id id = model->value_gone_first;
        model->value_gone_first = lk_kept_value_at(model, id)->next_gone;
        free_value(model, id);
    }
    while (model->item_gone_first != 0) {
        lk_id id = model->item_gone_first;
        struct lk_item *item = lk_item_at(model, id);
        model->item_gone_first = item->next_gone;
        free_far(model, item);
        leave_group(model, item);
        let_go_of_node(model, item->node);
        lk_pool_give(&model->items, id);
    }
    while (model->work_gone_first != 0) {
        lk_id id = model->work_gone_first;
        lk_id node = lk_work_at(model, id)->node;
        model->work_gone_first = lk_work_at(model, id)->next_idle;
        lk_bytes_free(model, lk_work_at(model, id)->path);
        lk_pool_give(&model->works, id);
        let_go_of_node(model, node);
    }
}

void lk_keep_done(struct lk_model *model) {
    for (uint32_t i = 0; i < model->value_index.slot_count; i++) {
        if (model->value_index.slots[i].id != 0) {
            lk_bytes_free(model, lk_kept_value_at(model, model->value_index.slots[i].id)->bytes);
        }
    }
    for (uint32_t i = 0; i < model->item_index.slot_count; i++) {
        if (model->item_index.slots[i].id != 0) {
            free_far(model, lk_item_at(model, model->item_index.slots[i].id));
        }
    }
    lk_groups_done(model);
    for (uint32_t i = 0; i < model->work_index.slot_count; i++) {
        if (model->work_index.slots[i].id != 0) {
            lk_bytes_free(model, lk_work_at(model, model->work_index.slots[i].id)->path);
        }
    }
}

/* ---- claims ---- */

static uint32_t claim_hash(const struct lk_model *model, lk_id owner, uint64_t ask_number) {
    return (uint32_t)lk_hash_number(lk_hash_number(model->hash_seed, owner), ask_number);
}

static lk_id claimant_of(const struct lk_model *model, const struct lk_item *item) {
    return lk_request_at(model, item->claim)->owner;
}

lk_id lk_claims_find(const struct lk_model *model, lk_id work, lk_id owner, uint64_t ask_number) {
    uint32_t hash = claim_hash(model, owner, ask_number);
    uint32_t at = lk_index_start(&model->claim_index, hash);
    lk_id id;

    if (ask_number == 0 || owner == 0) {
        return 0;
    }
    while ((id = lk_index_next(&model->claim_index, hash, &at)) != 0) {
        const struct lk_item *item = lk_item_at(model, id);

        if (item->work == work && item->ask_number == ask_number
            && claimant_of(model, item) == owner) {
            break;
        }
    }
    return id;
}

bool lk_claims_reserve(struct lk_model *model) {
    return lk_index_reserve(&model->claim_index, 1);
}

void lk_claims_add(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    assert(lk_item_is_claimed(item->state) && item->claim != 0);
    if (item->ask_number != 0) {
        lk_index_add(&model->claim_index, id,
                     claim_hash(model, claimant_of(model, item), item->ask_number));
    }
}

void lk_claims_remove(struct lk_model *model, lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);

    assert(lk_item_is_claimed(item->state) && item->claim != 0);
    if (item->ask_number != 0) {
        lk_index_remove(&model->claim_index, id,
                        claim_hash(model, claimant_of(model, item), item->ask_number));
    }
}
