/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of paths. A node exists exactly while something is at it or below it. */
#include "model/tree.h"

#include "base/hash.h"

static uint32_t node_hash(const struct lk_model *model, lk_id parent, struct lk_slice name) {
    return (uint32_t)lk_hash_bytes(model->hash_seed + parent, name);
}

static lk_id find_child(const struct lk_model *model, lk_id parent, struct lk_slice name,
                        uint32_t hash) {
    uint32_t at = lk_index_start(&model->node_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->node_index, hash, &at)) != 0) {
        const struct lk_node *node = lk_node_at(model, id);
        if (lk_node_parent(node) == parent && lk_slice_equal(lk_name_text(&node->name), name)) {
            break;
        }
    }
    return id;
}

lk_id lk_node_child(const struct lk_model *model, lk_id parent, struct lk_slice name) {
    return find_child(model, parent, name, node_hash(model, parent, name));
}

static lk_id descend_from(const struct lk_model *model, const struct lk_path *path, lk_id node,
                          unsigned *depth) {
    while (*depth < path->depth) {
        struct lk_slice name = lk_path_segment(path, *depth);
        lk_id child = find_child(model, node, name, node_hash(model, node, name));
        if (child == 0) {
            break;
        }
        node = child;
        (*depth)++;
    }
    return node;
}

lk_id lk_node_descend(const struct lk_model *model, const struct lk_path *path,
                      unsigned *ret_depth) {
    *ret_depth = 0;
    return descend_from(model, path, 0, ret_depth);
}

lk_id lk_node_find(const struct lk_model *model, const struct lk_path *path) {
    unsigned depth;
    lk_id node = lk_node_descend(model, path, &depth);

    return depth == path->depth ? node : 0;
}

static lk_id *children_of(struct lk_model *model, lk_id parent) {
    return parent == 0 ? &model->first_root : &lk_node_at(model, parent)->first_child;
}

static lk_id make_child(struct lk_model *model, lk_id parent, struct lk_slice name) {
    lk_id id;
    lk_id *siblings;
    struct lk_node *node;

    if (!lk_pool_reserve(&model->nodes, 1) || !lk_index_reserve(&model->node_index, 1)
        || (parent == 0 && !lk_pool_reserve(&model->roots, 1))) {
        return 0;
    }
    id = lk_pool_take(&model->nodes);
    assert((id & LK_ROOT_BIT) == 0);
    node = lk_node_at(model, id);
    if (!lk_name_set(&node->name, model->allocator, name)) {
        lk_pool_give(&model->nodes, id);
        return 0;
    }
    node->above = parent;
    if (parent == 0) {
        lk_id root = lk_pool_take(&model->roots);
        *(struct lk_root *)lk_pool_at(&model->roots, root) =
            (struct lk_root){.last_draw = model->floor, .ready_us = LK_NEVER};
        node->above = root | LK_ROOT_BIT;
    }
    siblings = children_of(model, parent);
    node->next_sibling = *siblings;
    if (*siblings != 0) {
        lk_node_at(model, *siblings)->previous_sibling = id;
    }
    *siblings = id;
    lk_index_add(&model->node_index, id, node_hash(model, parent, name));
    return id;
}

static void forget_root(struct lk_model *model, const struct lk_node *node) {
    lk_id id = node->above & ~LK_ROOT_BIT;
    const struct lk_root *root = lk_pool_at(&model->roots, id);

    assert(root->live == 0 && root->live_elsewhere == 0);
    assert(root->ready_us == LK_NEVER && root->unclaimed.root == 0);
    lk_model_restore_floor(model, root->last_draw); /* R4: also draws of forgotten roots count */
    lk_pool_give(&model->roots, id);
}

static void drop_node(struct lk_model *model, lk_id id) {
    struct lk_node *node = lk_node_at(model, id);
    lk_id parent = lk_node_parent(node);

    assert(node->held_below == 0 && node->exclusive_below == 0 && lk_node_units_held(node) == 0);
    assert(node->holders == 0 && node->queue == 0);
    if (node->previous_sibling != 0) {
        lk_node_at(model, node->previous_sibling)->next_sibling = node->next_sibling;
    } else {
        *children_of(model, parent) = node->next_sibling;
    }
    if (node->next_sibling != 0) {
        lk_node_at(model, node->next_sibling)->previous_sibling = node->previous_sibling;
    }
    if (parent == 0) {
        forget_root(model, node);
    }
    lk_index_remove(&model->node_index, id, node_hash(model, parent, lk_name_text(&node->name)));
    lk_name_done(&node->name, model->allocator);
    lk_pool_give(&model->nodes, id);
}

lk_id lk_node_make(struct lk_model *model, const struct lk_path *path, lk_id from, unsigned depth) {
    /* Further than `from` only if another part of the same request has made more of the way. */
    lk_id node = descend_from(model, path, from, &depth);

    for (; depth < path->depth; depth++) {
        lk_id child = make_child(model, node, lk_path_segment(path, depth));
        if (child == 0) {
            lk_node_prune(model, node);
            return 0;
        }
        node = child;
    }
    return node;
}

/* R22: a root of which the model has only a part keeps its counts, so its node stays. */
static bool is_counted_elsewhere(const struct lk_model *model, const struct lk_node *node) {
    const struct lk_root *root;

    if ((node->above & LK_ROOT_BIT) == 0) {
        return false;
    }
    root = lk_pool_at(&model->roots, node->above & ~LK_ROOT_BIT);
    return root->live_elsewhere != 0;
}

void lk_node_prune(struct lk_model *model, lk_id node) {
    while (node != 0) {
        const struct lk_node *at = lk_node_at(model, node);
        lk_id parent = lk_node_parent(at);
        if (at->first_child != 0 || at->entries != 0 || is_counted_elsewhere(model, at)) {
            break;
        }
        drop_node(model, node);
        node = parent;
    }
}

bool lk_node_contains(const struct lk_model *model, lk_id outer, lk_id inner) {
    while (inner != 0 && inner != outer) {
        inner = lk_node_parent(lk_node_at(model, inner));
    }
    return inner != 0;
}

lk_id lk_node_next_in_subtree(const struct lk_model *model, lk_id top, lk_id at, bool skip_below) {
    const struct lk_node *node = lk_node_at(model, at);

    if (!skip_below && node->first_child != 0) {
        return node->first_child;
    }
    while (at != top) {
        if (lk_node_at(model, at)->next_sibling != 0) {
            return lk_node_at(model, at)->next_sibling;
        }
        at = lk_node_parent(lk_node_at(model, at));
    }
    return 0;
}

size_t lk_node_path(const struct lk_model *model, lk_id node, char *bytes) {
    size_t size = 0;
    size_t end;

    for (lk_id at = node; at != 0; at = lk_node_parent(lk_node_at(model, at))) {
        size += (size_t)lk_node_at(model, at)->name.size + (at != node);
    }
    assert(size <= LK_PATH_BYTES_MAX);
    end = size;
    bytes[end] = '\0';
    for (lk_id at = node; at != 0; at = lk_node_parent(lk_node_at(model, at))) {
        struct lk_slice name = lk_name_text(&lk_node_at(model, at)->name);
        end -= name.size;
        memcpy(bytes + end, name.bytes, name.size);
        if (end > 0) {
            bytes[--end] = '/';
        }
    }
    return size;
}

lk_id lk_node_root(const struct lk_model *model, lk_id node) {
    for (;;) {
        lk_id parent = lk_node_parent(lk_node_at(model, node));
        if (parent == 0) {
            return node;
        }
        node = parent;
    }
}

struct lk_root *lk_root_of(const struct lk_model *model, lk_id node) {
    return lk_root_at(model, lk_node_root(model, node));
}

struct lk_root *lk_root_make(struct lk_model *model, struct lk_slice name) {
    lk_id node = find_child(model, 0, name, node_hash(model, 0, name));

    if (node == 0) {
        node = make_child(model, 0, name);
    }
    return node != 0 ? lk_root_of(model, node) : NULL;
}

static void count_up(struct lk_model *model, lk_id node, uint32_t held, uint32_t exclusive) {
    uint32_t below = 0;

    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        struct lk_node *at = lk_node_at(model, node);
        at->held_below += held;
        at->exclusive_below += exclusive;
        assert(at->held_below >= below && at->held_below >= at->exclusive_below);
        below = at->held_below;
    }
}

void lk_part_entry_hold(struct lk_model *model, lk_id id) {
    struct lk_part_entry *entry = lk_part_entry_at(model, id);
    struct lk_node *node = lk_node_at(model, entry->node);

    assert(entry->previous == 0 && entry->next == 0); /* in no ring and no wait queue */
    assert(node->held_below != UINT32_MAX);
    if (node->holders == 0) {
        entry->previous = entry->next = id;
        node->holders = id;
    } else {
        struct lk_part_entry *first = lk_part_entry_at(model, node->holders);
        entry->next = node->holders;
        entry->previous = first->previous;
        lk_part_entry_at(model, first->previous)->next = id;
        first->previous = id;
        if (lk_part_entry_is_exclusive(entry)) {
            node->holders = id; /* exclusive ones come first in the ring */
        }
    }
    lk_node_set_units_held(node, lk_node_units_held(node) + entry->units);
    count_up(model, entry->node, 1, lk_part_entry_is_exclusive(entry));
}

void lk_part_entry_unhold(struct lk_model *model, lk_id id) {
    struct lk_part_entry *entry = lk_part_entry_at(model, id);
    struct lk_node *node = lk_node_at(model, entry->node);

    assert(node->holders != 0 && node->held_below > 0);
    assert(lk_node_units_held(node) >= entry->units);
    if (entry->next == id) {
        assert(node->holders == id);
        node->holders = 0;
    } else {
        struct lk_part_entry *previous = lk_part_entry_at(model, entry->previous);
        struct lk_part_entry *next = lk_part_entry_at(model, entry->next);

        assert(previous->next == id && next->previous == id);
        previous->next = entry->next;
        next->previous = entry->previous;
        if (node->holders == id) {
            node->holders = entry->next;
        }
    }
    entry->previous = entry->next = 0;
    lk_node_set_units_held(node, lk_node_units_held(node) - entry->units);
    count_up(model, entry->node, UINT32_MAX, 0u - (uint32_t)lk_part_entry_is_exclusive(entry));
}
