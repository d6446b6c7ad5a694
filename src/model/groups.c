/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of items that need the same parts (R16). A group owns the needs that its items refer to.
 * It is in its queue's tree of groups, by the first ready item that may be claimed, while there is
 * one.
 */
#include "model/groups.h"

#include "base/hash.h"
#include "model/order.h"

/* ---- groups ---- */

static uint32_t hash_of(const struct lk_model *model, lk_id work, const struct lk_part *needs,
                        size_t count) {
    uint64_t hash = lk_hash_number(model->hash_seed, work);

    for (size_t i = 0; i < count; i++) {
        const struct lk_part *need = &needs[i];
        hash = lk_hash_bytes(hash, (struct lk_slice){need->path.bytes, need->path.size});
        hash = lk_hash_number(hash, (uint64_t)need->limit << 32 | need->units);
        hash = lk_hash_number(hash, need->strict);
    }
    return (uint32_t)hash;
}

static bool has_needs(const struct lk_group *group, const struct lk_part *needs, size_t count) {
    if (group->need_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct lk_part *own = &group->needs[i];
        if (own->mode != needs[i].mode || own->limit != needs[i].limit
            || own->units != needs[i].units || own->strict != needs[i].strict
            || own->path.size != needs[i].path.size
            || memcmp(own->path.bytes, needs[i].path.bytes, needs[i].path.size) != 0) {
            return false;
        }
    }
    return true;
}

/* Copies parts and the bytes of their paths into one block. NULL: memory is exhausted. */
static struct lk_part *copy_needs(struct lk_model *model, const struct lk_part *needs,
                                  size_t count) {
    size_t size = count * sizeof *needs;
    struct lk_part *copy;
    char *bytes;

    for (size_t i = 0; i < count; i++) {
        size += needs[i].path.size;
    }
    copy = model->allocator->resize(model->allocator->context, NULL, size);
    if (copy == NULL) {
        return NULL;
    }
    bytes = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        copy[i] = needs[i];
        memcpy(bytes, needs[i].path.bytes, needs[i].path.size);
        copy[i].path.bytes = bytes;
        bytes += needs[i].path.size;
    }
    return copy;
}

static lk_id make(struct lk_model *model, lk_id work, const struct lk_part *needs, size_t count,
                  uint32_t hash) {
    struct lk_part *copy;
    lk_id id;

    if (!lk_pool_reserve(&model->groups, 1) || !lk_index_reserve(&model->group_index, 1)) {
        return 0;
    }
    copy = copy_needs(model, needs, count);
    if (copy == NULL) {
        return 0;
    }
    id = lk_pool_take(&model->groups);
    *lk_group_at(model, id) =
        (struct lk_group){.work = work, .needs = copy, .need_count = (uint32_t)count, .hash = hash};
    lk_index_add(&model->group_index, id, hash);
    return id;
}

lk_id lk_group_join(struct lk_model *model, lk_id work, const struct lk_part *needs, size_t count) {
    uint32_t hash = hash_of(model, work, needs, count);
    uint32_t at = lk_index_start(&model->group_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->group_index, hash, &at)) != 0
           && (lk_group_at(model, id)->work != work
               || !has_needs(lk_group_at(model, id), needs, count))) {
    }
    if (id == 0) {
        id = make(model, work, needs, count, hash);
    }
    if (id != 0) {
        lk_group_at(model, id)->items++;
    }
    return id;
}

void lk_group_leave(struct lk_model *model, lk_id id) {
    struct lk_group *group = lk_group_at(model, id);

    assert(group->items > 0);
    if (--group->items == 0) {
        assert(group->ready.root == 0);
        model->allocator->resize(model->allocator->context, group->needs, 0);
        lk_index_remove(&model->group_index, id, group->hash);
        lk_pool_give(&model->groups, id);
    }
}

void lk_groups_done(struct lk_model *model) {
    for (uint32_t i = 0; i < model->group_index.slot_count; i++) {
        lk_id id = model->group_index.slots[i].id;
        if (id != 0) {
            model->allocator->resize(model->allocator->context, lk_group_at(model, id)->needs, 0);
        }
    }
}

/* ---- their ready items ---- */

/* The first ready item; but where there is a head only that one. */
static lk_id first_free(const struct lk_model *model, const struct lk_group *group) {
    if (group->head != 0) {
        return group->head_is_ready ? group->head : 0;
    }
    return lk_order_first(model, LK_ORDER_RANK, &group->ready);
}

/* Its first item may be another one. */
static void place(struct lk_model *model, lk_id id) {
    struct lk_group *group = lk_group_at(model, id);
    struct lk_order_tree *groups = &lk_work_at(model, group->work)->groups;
    lk_id first = first_free(model, group);

    if (first == group->first) {
        return;
    }
    if (group->first != 0) {
        (void)lk_order_remove(model, LK_ORDER_GROUPS, groups, id);
    }
    group->first = first;
    if (first != 0) {
        (void)lk_order_add(model, LK_ORDER_GROUPS, groups, id);
    }
}

/* The head may have become ready, or be ready no more. */
static void note_head(struct lk_model *model, lk_id id, lk_id item, bool is_ready) {
    struct lk_group *group = lk_group_at(model, id);

    if (group->head == item) {
        group->head_is_ready = is_ready;
    }
}

void lk_group_add(struct lk_model *model, lk_id item) {
    lk_id id = lk_item_at(model, item)->group;

    (void)lk_order_add(model, LK_ORDER_RANK, &lk_group_at(model, id)->ready, item);
    note_head(model, id, item, true);
    place(model, id);
}

void lk_group_remove(struct lk_model *model, lk_id item) {
    lk_id id = lk_item_at(model, item)->group;

    (void)lk_order_remove(model, LK_ORDER_RANK, &lk_group_at(model, id)->ready, item);
    note_head(model, id, item, false);
    place(model, id);
}

void lk_group_set_head(struct lk_model *model, lk_id id, lk_id item) {
    struct lk_group *group = lk_group_at(model, id);

    group->head = item;
    group->head_is_ready = item != 0 && lk_item_at(model, item)->state == LK_ITEM_READY;
    place(model, id);
}

/* ---- the walk ---- */

void lk_ready_walk_begin(const struct lk_model *model, lk_id work, struct lk_ready_walk *ret_walk) {
    const struct lk_work *at = lk_work_at(model, work);

    *ret_walk = (struct lk_ready_walk){
        .work = work,
        .alone = lk_order_first(model, LK_ORDER_RANK, &at->ready),
        .group = lk_order_first(model, LK_ORDER_GROUPS, &at->groups),
    };
}

static bool is_earlier(const struct lk_model *model, lk_id item, lk_id other) {
    const struct lk_item *mine = lk_item_at(model, item);
    const struct lk_item *others = lk_item_at(model, other);

    if (mine->rank != others->rank) {
        return mine->rank < others->rank;
    }
    return mine->sequence != others->sequence ? mine->sequence < others->sequence : item < other;
}

/* Takes the group out of the list of open ones. */
static void close_group(struct lk_model *model, struct lk_ready_walk *walk, lk_id id) {
    lk_id *at = &walk->open;

    while (*at != id) {
        at = &lk_group_at(model, *at)->next_open;
    }
    *at = lk_group_at(model, id)->next_open;
}

/* Moves past the item that was visited last, if it has needs. */
static void move_on(struct lk_model *model, struct lk_ready_walk *walk, bool skips) {
    struct lk_group *group;

    if (walk->last == 0) {
        return;
    }
    group = lk_group_at(model, walk->last);
    group->cursor = skips ? 0 : lk_order_after(model, LK_ORDER_RANK, &group->ready, group->cursor);
    if (group->cursor == 0) {
        close_group(model, walk, walk->last);
    }
}

lk_id lk_ready_walk_next(struct lk_model *model, struct lk_ready_walk *walk, bool skips) {
    struct lk_work *work = lk_work_at(model, walk->work);
    lk_id first = walk->alone;

    move_on(model, walk, skips);
    walk->last = 0;
    for (lk_id id = walk->open; id != 0; id = lk_group_at(model, id)->next_open) {
        lk_id cursor = lk_group_at(model, id)->cursor;
        if (first == 0 || is_earlier(model, cursor, first)) {
            first = cursor;
            walk->last = id;
        }
    }
    if (walk->group != 0
        && (first == 0 || is_earlier(model, lk_group_at(model, walk->group)->first, first))) {
        struct lk_group *group = lk_group_at(model, walk->group);
        walk->last = walk->group;
        walk->group = lk_order_after(model, LK_ORDER_GROUPS, &work->groups, walk->group);
        group->cursor = first = group->first;
        group->next_open = walk->open;
        walk->open = walk->last;
    } else if (first != 0 && walk->last == 0) {
        walk->alone = lk_order_after(model, LK_ORDER_RANK, &work->ready, first);
    }
    return first;
}

/* ---- for lk_model_check() ---- */

uint32_t lk_groups_check(const struct lk_model *model, const struct lk_work *work) {
    uint32_t items = 0;
    uint32_t groups = 0;

    for (uint32_t i = 0; i < model->group_index.slot_count; i++) {
        lk_id id = model->group_index.slots[i].id;
        const struct lk_group *group = id != 0 ? lk_group_at(model, id) : NULL;
        uint32_t count;

        if (group == NULL || lk_work_at(model, group->work) != work) {
            continue;
        }
        count = lk_order_check(model, LK_ORDER_RANK, &group->ready);
        if (count == UINT32_MAX || count > group->items
            || group->first != first_free(model, group)) {
            return UINT32_MAX;
        }
        items += count;
        groups += group->first != 0;
    }
    return lk_order_check(model, LK_ORDER_GROUPS, &work->groups) == groups ? items : UINT32_MAX;
}
